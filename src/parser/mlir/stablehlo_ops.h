// The operations that can be read (stablehlo_ops.def).
#ifndef HLO_PARSER_MLIR_STABLEHLO_OPS_H_
#define HLO_PARSER_MLIR_STABLEHLO_OPS_H_

#include <string_view>

#include "base/result.h"
#include "ir/opcode.h"

namespace hlo::mlir {

class Lowering;
struct Operation;

struct OpRow {
  std::string_view name;
  std::string_view form;  // The pretty form, described in stablehlo_ops.def.
  Opcode opcode;
  Status (*build)(Lowering&, const Operation&);
};

// Null if there is no such operation.
const OpRow* FindOp(std::string_view name);
// An error that names the operation. Its row is null.
Error UnknownOp(std::string_view name, SourceRange range);

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_STABLEHLO_OPS_H_
