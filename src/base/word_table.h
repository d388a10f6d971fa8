// Finds words of a compile-time table, such as the opcodes, with one or two comparisons.
#ifndef HLO_BASE_WORD_TABLE_H_
#define HLO_BASE_WORD_TABLE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace hlo {

template <size_t kWords>
class WordTable {
  static_assert(kWords < 255);

 public:
  // Word `i` is word(i). Empty words are never found.
  template <class Word>
  constexpr explicit WordTable(Word word) {
    for (size_t i = 0; i < kWords; ++i) {
      words_[i] = word(i);
      if (words_[i].empty()) continue;
      firsts_ |= FirstOf(words_[i]);
      heads_[i] = HeadOf(words_[i]);
      size_t at = HashOf(words_[i]);
      while (slots_[at] != 0) at = (at + 1) % kSlots;
      slots_[at] = static_cast<uint8_t>(i + 1);
    }
  }

  // Returns -1 for other words.
  constexpr int Find(std::string_view word) const {
    if (word.empty() || (firsts_ & FirstOf(word)) == 0) return -1;
    const uint64_t head = HeadOf(word);
    for (size_t at = HashOf(word); slots_[at] != 0; at = (at + 1) % kSlots) {
      const int i = slots_[at] - 1;
      if (heads_[i] == head && words_[i].size() == word.size() && (word.size() <= 8 || words_[i] == word)) return i;
    }
    return -1;
  }

 private:
  static constexpr size_t kSlots = std::bit_ceil(8 * kWords);

  // The length and three letters distinguish nearly all words.
  static constexpr size_t HashOf(std::string_view word) {
    const size_t size = word.size();
    const auto letter = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(word[i])); };
    return (size * 7 + letter(0) * 31 + letter(size / 2) * 61 + letter(size - 1) * 257) % kSlots;
  }

  // The bit of the first letter. It rejects most words that are not in a small table.
  static constexpr uint64_t FirstOf(std::string_view word) { return uint64_t{1} << (word[0] & 63); }

  // The first eight bytes. Most words are not longer, so one comparison is enough.
  static constexpr uint64_t HeadOf(std::string_view word) {
    uint64_t head = 0;
    if consteval {
      for (size_t i = 0; i < word.size() && i < 8; ++i)
        head |= static_cast<uint64_t>(static_cast<unsigned char>(word[i])) << (8 * i);
    } else {
      const char* const p = word.data();
      const size_t size = word.size();
      if (size >= 8) {
        std::memcpy(&head, p, 8);
      } else if (size >= 4) {  // The two halves overlap.
        uint32_t first = 0, last = 0;
        std::memcpy(&first, p, 4);
        std::memcpy(&last, p + size - 4, 4);
        head = first | static_cast<uint64_t>(last) << (8 * (size - 4));
      } else {
        const auto byte = [&](size_t i) { return static_cast<uint64_t>(static_cast<unsigned char>(p[i])) << (8 * i); };
        head = byte(0) | byte(size / 2) | byte(size - 1);
      }
    }
    return head;
  }

  std::array<std::string_view, kWords> words_;
  std::array<uint64_t, kWords> heads_{};
  std::array<uint8_t, kSlots> slots_{};
  uint64_t firsts_ = 0;
};

}  // namespace hlo

#endif  // HLO_BASE_WORD_TABLE_H_
