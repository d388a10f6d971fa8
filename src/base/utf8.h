// Characters in UTF-8.
#ifndef HLO_BASE_UTF8_H_
#define HLO_BASE_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hlo {

void AppendCodePoint(uint32_t code, std::string& text);

// The bytes of the character that `text` begins with; 0 when it begins with none. Source: Unicode, table 3-7.
size_t CodePointLength(std::string_view text);

// U+0080 to U+009F, which terminals take for the beginnings of sequences, as they do ESC and a letter.
inline bool IsControlOfC1(std::string_view text) {
  return text.size() > 1 && text[0] == '\xC2' && static_cast<unsigned char>(text[1]) < 0xA0;
}

// A byte that goes on with a character.
inline bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

}  // namespace hlo

#endif  // HLO_BASE_UTF8_H_
