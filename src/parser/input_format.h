// What a file holds, told by its content.
#ifndef HLO_PARSER_INPUT_FORMAT_H_
#define HLO_PARSER_INPUT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace hlo {

enum class InputFormat : uint8_t {
  kHloText,  // Or anything else that is to be judged as such.
  kBinaryProto,
  kTextProto,
};

// Protocol buffers of HLO: HloModuleProto, HloProto, HloUnoptimizedSnapshot, HloSnapshot.
InputFormat InputFormatOf(std::string_view text);

// Formats that people have at hand and that are no HLO.
struct ForeignFormat {
  std::string_view name;   // "a gzip archive"
  std::string_view hint;   // How to come from there to HLO.
  bool is_binary = false;  // There are no lines to show.
};
std::optional<ForeignFormat> ForeignFormatOf(std::string_view text);

}  // namespace hlo

#endif  // HLO_PARSER_INPUT_FORMAT_H_
