// Detects the format of a file from its content.
#ifndef HLO_PARSER_INPUT_FORMAT_H_
#define HLO_PARSER_INPUT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hlo {

enum class InputFormat : uint8_t {
  kHloText,  // Also any unknown content, which the parser then reports.
  kBinaryProto,
  kTextProto,
};

// Protocol buffers are HloModuleProto, HloProto, HloUnoptimizedSnapshot or HloSnapshot.
InputFormat InputFormatOf(std::string_view text);

// Common formats that are not HLO.
struct ForeignFormat {
  std::string_view name;   // "a gzip archive"
  std::string_view hint;   // How to get HLO from it.
  bool is_binary = false;  // An error shows no lines of it.
};
std::optional<ForeignFormat> ForeignFormatOf(std::string_view text);

}  // namespace hlo

#endif  // HLO_PARSER_INPUT_FORMAT_H_
