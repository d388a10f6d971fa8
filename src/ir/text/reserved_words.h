// The words of HLO text that cannot be names: docs/language.md#tokens.
#ifndef HLO_IR_TEXT_RESERVED_WORDS_H_
#define HLO_IR_TEXT_RESERVED_WORDS_H_

#include <span>
#include <string_view>

namespace hlo {

// Keywords and element types, which are printed with a '%' if they are names.
bool IsReserved(std::string_view word);
std::span<const std::string_view> Keywords();

}  // namespace hlo

#endif  // HLO_IR_TEXT_RESERVED_WORDS_H_
