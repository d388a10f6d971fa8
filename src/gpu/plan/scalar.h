// Which scalars kernels compute, in which types: what planning asks and emitting (emitters/scalar.h) relies on.
#ifndef HLO_GPU_PLAN_SCALAR_H_
#define HLO_GPU_PLAN_SCALAR_H_

#include <optional>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "ir/instruction.h"

namespace hlo {
class Computation;
}

namespace hlo::gpu {

// The kernel's type for an element type; an error at `inst` when kernels have none (complex, sub-byte, f8).
Result<kernel::Type> KernelType(const Instruction& inst, PrimitiveType type);
// The same for types that were checked.
kernel::Type KernelTypeOf(PrimitiveType type);

// Ops whose element the table of emitters/scalar.cpp computes: the elementwise ones but for these two.
constexpr bool IsScalarOp(Opcode opcode, bool elementwise) {
  return elementwise && opcode != Opcode::kComplex && opcode != Opcode::kStochasticConvert;
}

// An error where float types differ that an op takes as one; the verifier lets that pass at default.
Status CheckOneFloatType(const Instruction& inst);
// Can `inst` be computed from values of its operands?
Status CheckScalar(const Instruction& inst);
// A computation on scalars (a reducer, a comparator): elementwise ops, constants, tuples, calls of such computations.
Status CheckScalarComputation(const Computation& computation);

// What a reducer of two scalars is, when it is one op of its two parameters.
struct SimpleReducer {
  Opcode opcode;
  const Instruction* inst;
};
std::optional<SimpleReducer> AsSimpleReducer(const Computation& computation);

// Accumulators of additions of f16 and bf16 are f32, and so are those of maxima and minima of f16: no processor at hand
// compares f16, so that each step would go there and back, one element at a time; the bits are the same. All others
// have the type of the value.
kernel::Type AccumulatorType(const Instruction& fold, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_SCALAR_H_
