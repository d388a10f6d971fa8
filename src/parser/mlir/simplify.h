// Simplifications that XLA makes when it reads StableHLO, so that both readers give the same module.
#ifndef HLO_PARSER_MLIR_SIMPLIFY_H_
#define HLO_PARSER_MLIR_SIMPLIFY_H_

#include "parser/mlir/operation.h"

namespace hlo::mlir {

// Takes values that a loop passes on unchanged out of its state, and removes operations without effect whose results
// nobody uses.
void Simplify(Document& document);

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_SIMPLIFY_H_
