// Finds a word among those known at compile time, such as opcodes and element types: one or two comparisons.
#ifndef HLO_BASE_WORD_TABLE_H_
#define HLO_BASE_WORD_TABLE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>

namespace hlo {

template <size_t kWords>
class WordTable {
  static_assert(kWords < 255);

 public:
  // `word(i)` for i in [0, kWords); empty ones are never found.
  template <class Word>
  constexpr explicit WordTable(Word word) {
    for (size_t i = 0; i < kWords; ++i) {
      words_[i] = word(i);
      if (words_[i].empty()) continue;
      size_t at = HashOf(words_[i]);
      while (slots_[at] != 0) at = (at + 1) % kSlots;
      slots_[at] = static_cast<uint8_t>(i + 1);
    }
  }

  // Its position, or -1.
  constexpr int Find(std::string_view word) const {
    if (word.empty()) return -1;
    for (size_t at = HashOf(word); slots_[at] != 0; at = (at + 1) % kSlots) {
      if (words_[slots_[at] - 1] == word) return slots_[at] - 1;
    }
    return -1;
  }

 private:
  static constexpr size_t kSlots = std::bit_ceil(8 * kWords);

  // Length and three letters tell nearly all words apart.
  static constexpr size_t HashOf(std::string_view word) {
    const size_t size = word.size();
    const auto letter = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(word[i])); };
    return (size * 7 + letter(0) * 31 + letter(size / 2) * 61 + letter(size - 1) * 257) % kSlots;
  }

  std::array<std::string_view, kWords> words_;
  std::array<uint8_t, kSlots> slots_{};
};

}  // namespace hlo

#endif  // HLO_BASE_WORD_TABLE_H_
