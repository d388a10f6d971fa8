// Reads modules of StableHLO from MLIR text (docs/language.md#stablehlo).
#ifndef HLO_PARSER_MLIR_READ_MLIR_H_
#define HLO_PARSER_MLIR_READ_MLIR_H_

#include <memory>

#include "parser/parser.h"

namespace hlo {

// Module::source is the MLIR text.
Result<std::unique_ptr<Module>> ReadMlir(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

}  // namespace hlo

#endif  // HLO_PARSER_MLIR_READ_MLIR_H_
