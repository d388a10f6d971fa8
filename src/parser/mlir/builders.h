// Builders of the operations in stablehlo_ops.def.
#ifndef HLO_PARSER_MLIR_BUILDERS_H_
#define HLO_PARSER_MLIR_BUILDERS_H_

#include "parser/mlir/lowering.h"

namespace hlo::mlir {

// One instruction without attributes, with the opcode of the row.
Status Plain(Lowering& to, const Operation& op);

// The window of an operation with these sizes. Attributes that are not written have their defaults.
Result<Window> WindowOf(const Operation& op, std::vector<int64_t> sizes, std::string_view base_dilations,
                        std::string_view window_dilations);

// The shape of a transpose, with its layout.
Shape TransposedShape(Shape result, const std::vector<int64_t>& permutation);

#define MLIR_OP(name, form, opcode, build) Status build(Lowering&, const Operation&);
#include "parser/mlir/stablehlo_ops.def"

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_BUILDERS_H_
