#ifndef HLO_BASE_UTF8_H_
#define HLO_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hlo {

void AppendCodePoint(uint32_t code, std::string& text);

// Bytes of the first character, or 0 if it is not valid UTF-8. Source: Unicode, table 3-7.
size_t CodePointLength(std::string_view text);

// Whether the text begins with U+0080 to U+009F, which terminals treat like ESC and a letter.
inline bool IsControlOfC1(std::string_view text) {
  return text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
}

inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace hlo

#endif  // HLO_BASE_UTF8_H_
