// One element of an elementwise op as an expression of the kernel builder, with the special cases of
// docs/ops.md#elementwise. plan/scalar.h lists the supported ops.
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
// The same, also for complex numbers: the parts of the result from the consecutive parts of the operands.
std::vector<kernel::Value> EmitElement(const Instruction& inst, std::span<const kernel::Value> parts);

// An element of `parts` adjacent values. `offset` counts elements.
std::vector<kernel::Value> LoadElement(kernel::Array array, kernel::Value offset, int parts);
void StoreElement(kernel::Array array, kernel::Value offset, std::span<const kernel::Value> parts);

// The bits of `value` as another type of equal width, neither of them pred. A pred has the byte 0 or 1.
kernel::Value EmitBits(kernel::Value value, kernel::Type type);
// Part number `part` of the bits as a narrower type, counted from the low end, and the reverse.
kernel::Value PartOfBits(kernel::Value value, kernel::Value part, kernel::Type type);
kernel::Value JoinedBits(std::span<const kernel::Value> parts, kernel::Type type);

// The value of the root, or of the operands of a root tuple. Arguments and results are lists of parts.
std::vector<kernel::Value> EmitScalarComputation(kernel::KernelBuilder& k, const Computation& computation,
                                                 std::span<const kernel::Value> arguments);

// Part number `part` of a literal, over all elements: its bits, or the value of an integer. LiteralValue returns an
// element as constants.
int64_t LiteralBits(const Literal& literal, int64_t part);
std::vector<kernel::Value> LiteralValue(kernel::KernelBuilder& k, const Literal& literal, int64_t linear);

// The value of one instruction of a scalar computation.
kernel::Value EmitScalarPart(kernel::KernelBuilder& k, const Instruction& part,
                             std::span<const kernel::Value> arguments);

// The identity of `reducer` in `type`, if it has one: f(identity, x) == x for every x, including NaN and -0.
std::optional<kernel::Value> IdentityOf(kernel::KernelBuilder& k, const SimpleReducer& reducer, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCALAR_H_
