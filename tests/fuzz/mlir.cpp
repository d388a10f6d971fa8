// Fuzzes the parser, verifier and printer with StableHLO as MLIR text.
#include "parser/input_format.h"
#include "tests/fuzz/target.h"

namespace hlo {
namespace {

std::string BrokenByMlir(std::string_view bytes) {
  return InputFormatOf(bytes) == InputFormat::kMlirText ? BrokenByModule(bytes) : "";
}

}  // namespace
}  // namespace hlo

HLO_FUZZ_TARGET(hlo::BrokenByMlir)
