// One element of an elementwise op, as an expression of the kernel builder, with HLO's edge semantics:
// docs/ops.md#elementwise. What there is an emitter for, plan/scalar.h says.
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
// The same, of complex numbers too: the parts of the result from those of the operands, one behind the other.
std::vector<kernel::Value> EmitElement(const Instruction& inst, std::span<const kernel::Value> parts);

// An element of `parts` values side by side; `offset` counts elements.
std::vector<kernel::Value> LoadElement(kernel::Array array, kernel::Value offset, int parts);
void StoreElement(kernel::Array array, kernel::Value offset, std::span<const kernel::Value> parts);

// The bits of `value` in a type as wide, from another type not in pred; those of a pred are a byte of 0 or 1.
kernel::Value EmitBits(kernel::Value value, kernel::Type type);
// Those of a narrower type from place `part` on, counted in its width from the low end; and of a wider type, from its
// parts.
kernel::Value PartOfBits(kernel::Value value, kernel::Value part, kernel::Type type);
kernel::Value JoinedBits(std::span<const kernel::Value> parts, kernel::Type type);

// The root's value, or the values of the root tuple's operands; as the arguments, by parts.
std::vector<kernel::Value> EmitScalarComputation(kernel::KernelBuilder& k, const Computation& computation,
                                                 std::span<const kernel::Value> arguments);

// A part of a literal, counted through all elements: its bits, or the value of an integer. An element as constants.
int64_t LiteralBits(const Literal& literal, int64_t part);
std::vector<kernel::Value> LiteralValue(kernel::KernelBuilder& k, const Literal& literal, int64_t linear);

// The value of one instruction of a scalar computation.
kernel::Value EmitScalarPart(kernel::KernelBuilder& k, const Instruction& part,
                             std::span<const kernel::Value> arguments);

// The value that changes nothing, when `reducer` has one in `type`: f(identity, x) == x for every x, NaN and -0 too.
std::optional<kernel::Value> IdentityOf(kernel::KernelBuilder& k, const SimpleReducer& reducer, kernel::Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCALAR_H_
