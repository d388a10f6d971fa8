#include "base/json.h"

#include <algorithm>

#include "base/utf8.h"

namespace hlo {

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  text_ += '"';
  for (size_t at = 0; at < text.size();) {
    const size_t length = CodePointLength(text.substr(at));
    const char c = text[at];
    if (length == 0) {
      text_ += "\xEF\xBF\xBD";
    } else if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += Format("\\u%04x", c);
    } else {
      text_ += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  text_ += '"';
  return *this;
}

}  // namespace hlo
