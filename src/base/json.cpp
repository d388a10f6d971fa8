#include "base/json.h"

namespace hlo {

JsonWriter& JsonWriter::Value(std::string_view text) {
  Separate();
  text_ += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      text_ += '\\';
      text_ += c;
    } else if (c == '\n') {
      text_ += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      text_ += Format("\\u%04x", c);
    } else {
      text_ += c;
    }
  }
  text_ += '"';
  return *this;
}

}  // namespace hlo
