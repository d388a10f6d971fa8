// One element of an elementwise op, as an expression of the kernel builder, with HLO's edge semantics:
// docs/ops.md#elementwise.
#ifndef HLO_GPU_EMITTERS_SCALAR_H_
#define HLO_GPU_EMITTERS_SCALAR_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/builder.h"
#include "ir/instruction.h"

namespace hlo {
class Computation;
}

namespace hlo::gpu {

// The kernel's type for an element type; an error at `inst` when kernels have none (complex, sub-byte, f8).
Result<kernel::Type> KernelType(const Instruction& inst, PrimitiveType type);
// The same for types that were checked.
kernel::Type KernelTypeOf(PrimitiveType type);

// An error where float types differ that an op takes as one; the verifier lets that pass at default.
Status CheckOneFloatType(const Instruction& inst);
// Can `inst` be computed from values of its operands by EmitScalar?
Status CheckScalar(const Instruction& inst);
kernel::Value EmitScalar(const Instruction& inst, std::span<const kernel::Value> operands,
                         const std::string& fault = "");

// The bits of `value` in a type as wide, from another type not in pred; those of a pred are a byte of 0 or 1.
kernel::Value EmitBits(kernel::Value value, kernel::Type type);

// A computation on scalars (a reducer, a comparator): elementwise ops, constants, tuples, calls of such computations.
Status CheckScalarComputation(const Computation& computation);
// The root's value, or the values of the root tuple's operands.
std::vector<kernel::Value> EmitScalarComputation(kernel::KernelBuilder& k, const Computation& computation,
                                                 std::span<const kernel::Value> arguments,
                                                 const std::string& fault = "");

// The constant of one element of a literal.
kernel::Value LiteralValue(kernel::KernelBuilder& k, const Literal& literal, int64_t linear);

// What a reducer of two scalars is, when it is one op of its two parameters.
struct SimpleReducer {
  Opcode opcode;
  const Instruction* inst;
};
std::optional<SimpleReducer> AsSimpleReducer(const Computation& computation);
// The value that changes nothing, when `reducer` has one in `type`: f(identity, x) == x for every x, NaN and -0 too.
std::optional<kernel::Value> IdentityOf(kernel::KernelBuilder& k, const SimpleReducer& reducer, kernel::Type type);

// Accumulators of additions of f16 and bf16 are f32; all others have the type of the value.
kernel::Type AccumulatorType(const Instruction& fold, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCALAR_H_
