// An elementwise op (plan/scalar.h) on one element, with the special cases of docs/ops.md#elementwise.
#ifndef HLO_GPU_EMITTERS_SCALAR_H_
#define HLO_GPU_EMITTERS_SCALAR_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel/builder.h"
#include "gpu/plan/scalar.h"
#include "ir/instruction.h"

namespace hlo::gpu {

kernel::Value EmitScalar(const Instruction& inst, std::span<const kernel::Value> operands);
// Like EmitScalar, also for complex numbers. `parts` has the parts of each operand in turn.
std::vector<kernel::Value> EmitElement(const Instruction& inst, std::span<const kernel::Value> parts);

// Load or store an element of `parts` adjacent values. `offset` counts elements.
std::vector<kernel::Value> LoadElement(kernel::Array array, kernel::Value offset, int parts);
void StoreElement(kernel::Array array, kernel::Value offset, std::span<const kernel::Value> parts);

// The bits of `value` as a type of equal width. A pred is the byte 0 or 1.
kernel::Value EmitBits(kernel::Value value, kernel::Type type);
// PartOfBits: part number `part` of the bits of `value`, counted from the low end. JoinedBits is the inverse.
kernel::Value PartOfBits(kernel::Value value, kernel::Value part, kernel::Type type);
kernel::Value JoinedBits(std::span<const kernel::Value> parts, kernel::Type type);

// The parts of the root, or of all operands of a root tuple.
std::vector<kernel::Value> EmitScalarComputation(kernel::KernelBuilder& k, const Computation& computation,
                                                 std::span<const kernel::Value> arguments);

// The bits of a float, or the value of an integer. `part` numbers the parts of all elements.
int64_t LiteralBits(const Literal& literal, int64_t part);
std::vector<kernel::Value> LiteralValue(kernel::KernelBuilder& k, const Literal& literal, int64_t linear);

kernel::Value EmitScalarPart(kernel::KernelBuilder& k, const Instruction& part,
                             std::span<const kernel::Value> arguments);

// The x with f(x, y) == y for every y, including NaN and -0, for the reducer f. Empty if none is known.
std::optional<kernel::Value> IdentityOf(kernel::KernelBuilder& k, const SimpleReducer& reducer, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCALAR_H_
