// An elementwise op (plan/scalar.h) on one element, with the special cases of docs/ops.md#elementwise.
#ifndef HLO_GPU_EMITTERS_SCALAR_H_
#define HLO_GPU_EMITTERS_SCALAR_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpu/emitters/names.h"
#include "gpu/plan/scalar.h"
#include "ir/instruction.h"

namespace hlo::gpu {

Value EmitScalar(const Instruction& inst, std::span<const Value> operands);
// Like EmitScalar, also for complex numbers. `parts` has the parts of each operand in turn.
std::vector<Value> EmitElement(const Instruction& inst, std::span<const Value> parts);

// Load or store an element of `parts` adjacent values. `offset` counts elements.
std::vector<Value> LoadElement(Array array, Value offset, int parts);
void StoreElement(Array array, Value offset, std::span<const Value> parts);

Type UnsignedOf(int bits);
// The bits of `value` as a type of equal width. A pred is the byte 0 or 1.
Value EmitBits(Value value, Type type);
// PartOfBits: part number `part` of the bits of `value`, counted from the low end. JoinedBits is the inverse.
Value PartOfBits(Value value, Value part, Type type);
Value JoinedBits(std::span<const Value> parts, Type type);

// The parts of the root, or of all operands of a root tuple.
std::vector<Value> EmitScalarComputation(KernelBuilder& k, const Computation& computation,
                                         std::span<const Value> arguments);

// The bits of a float, or the value of an integer. `part` numbers the parts of all elements.
int64_t LiteralBits(const Literal& literal, int64_t part);
std::vector<Value> LiteralValue(KernelBuilder& k, const Literal& literal, int64_t linear);

Value EmitScalarPart(KernelBuilder& k, const Instruction& part, std::span<const Value> arguments);

// The x with f(x, y) == y for every y, including NaN and -0, for the reducer f. Empty if none is known.
std::optional<Value> IdentityOf(KernelBuilder& k, const SimpleReducer& reducer, Type type);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SCALAR_H_
