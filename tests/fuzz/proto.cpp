// Fuzzes the parser, verifier and printer with binary and text protocol buffers.
#include "parser/input_format.h"
#include "tests/fuzz/target.h"

namespace hlo {
namespace {

std::string BrokenByProto(std::string_view bytes) { return IsProto(InputFormatOf(bytes)) ? BrokenByModule(bytes) : ""; }

}  // namespace
}  // namespace hlo

HLO_FUZZ_TARGET(hlo::BrokenByProto)
