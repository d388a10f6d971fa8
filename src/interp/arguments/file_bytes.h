// Numbers in binary files, and the error for invalid files.
#ifndef HLO_INTERP_ARGUMENTS_FILE_BYTES_H_
#define HLO_INTERP_ARGUMENTS_FILE_BYTES_H_

#include <cstring>
#include <string>
#include <string_view>

#include "base/array_memory.h"
#include "base/result.h"
#include "base/text.h"

namespace hlo {

// Reads a little-endian number. The machine must be little-endian, too.
template <class T>
T Little(std::string_view bytes, size_t at) {
  T value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <class T>
void AppendRaw(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

inline void Reserve(std::string& text, size_t bytes) {
  text.reserve(bytes);
  RequestHugePages(text.data(), bytes);
}

inline Error Unreadable(const std::string& path, std::string_view why) {
  return Rejected("A002", Str("cannot read '", Escaped(path), "': ", why));
}

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_FILE_BYTES_H_
