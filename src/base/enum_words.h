// The words of enums, which flags, messages and reports share.
#ifndef HLO_BASE_ENUM_WORDS_H_
#define HLO_BASE_ENUM_WORDS_H_

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

namespace hlo {

// Specialised beside the enum: `kWords`, in the order of the enumerators.
template <class Enum>
struct EnumWords;

template <class Enum>
concept HasWords = requires { EnumWords<Enum>::kWords[0]; };

template <HasWords Enum>
constexpr std::string_view ToString(Enum value) {
  return EnumWords<Enum>::kWords[static_cast<size_t>(value)];
}

template <HasWords Enum>
constexpr std::optional<Enum> FromText(std::string_view text) {
  const auto& words = EnumWords<Enum>::kWords;
  const auto found = std::ranges::find(words, text);
  if (found == std::end(words)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(words));
}

}  // namespace hlo

#endif  // HLO_BASE_ENUM_WORDS_H_
