#ifndef HLO_PARSER_INPUT_FORMAT_H_
#define HLO_PARSER_INPUT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hlo {

enum class InputFormat : uint8_t {
  kHloText,  // Also unknown content, for which the parser gives an error.
  kBinaryProto,
  kTextProto,
  kMlirText,
};
inline bool IsProto(InputFormat format) {
  return format == InputFormat::kBinaryProto || format == InputFormat::kTextProto;
}

// Protocol buffers are HloModuleProto, HloProto, HloUnoptimizedSnapshot or HloSnapshot.
InputFormat InputFormatOf(std::string_view text);

// A format other than HLO text and protocol buffers, such as MLIR bytecode.
struct ForeignFormat {
  std::string_view name;
  std::string_view hint;
  bool is_binary = false;  // Errors then show no line of the file.
};
std::optional<ForeignFormat> ForeignFormatOf(std::string_view text);

}  // namespace hlo

#endif  // HLO_PARSER_INPUT_FORMAT_H_
