// Words that cannot be names without a '%': docs/language.md#tokens.
#ifndef HLO_IR_TEXT_RESERVED_WORDS_H_
#define HLO_IR_TEXT_RESERVED_WORDS_H_

#include <span>
#include <string_view>

namespace hlo {

bool IsReserved(std::string_view word);
std::span<const std::string_view> Keywords();

}  // namespace hlo

#endif  // HLO_IR_TEXT_RESERVED_WORDS_H_
