#include "base/utf8.h"

namespace hlo {

void AppendCodePoint(uint32_t code, std::string& text) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0 | code >> 6);
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    text += static_cast<char>(0xE0 | code >> 12);
    text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    text += static_cast<char>(0xF0 | code >> 18);
    text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
    text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
    text += static_cast<char>(0x80 | (code & 0x3F));
  }
}

size_t CodePointLength(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  const auto in = [&](size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  const auto rest = [&](size_t i) { return in(i, 0x80, 0xBF); };
  if (in(0, 0x00, 0x7F)) return 1;
  if (in(0, 0xC2, 0xDF)) return rest(1) ? 2 : 0;
  if (in(0, 0xE0, 0xEF)) {
    const bool second = byte(0) == 0xE0 ? in(1, 0xA0, 0xBF) : byte(0) == 0xED ? in(1, 0x80, 0x9F) : rest(1);
    return second && rest(2) ? 3 : 0;
  }
  if (in(0, 0xF0, 0xF4)) {
    const bool second = byte(0) == 0xF0 ? in(1, 0x90, 0xBF) : byte(0) == 0xF4 ? in(1, 0x80, 0x8F) : rest(1);
    return second && rest(2) && rest(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace hlo
