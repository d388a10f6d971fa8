// Functions that the shape rules share: comparing types, checking lists of dimensions, overflow checks.
#ifndef HLO_IR_SHAPES_SHAPE_CHECKS_H_
#define HLO_IR_SHAPES_SHAPE_CHECKS_H_

#include <span>

#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "ir/source_parts.h"

namespace hlo {

// Whether the types are equal, or both are float types of any width. The verifier's level determines which is required.
bool SameOrBothFloat(PrimitiveType a, PrimitiveType b);
// The type of an inferred result with operands of two types: docs/verifier.md#mixed-float-types.
PrimitiveType HigherPrecision(PrimitiveType a, PrimitiveType b);

// Whether a written shape agrees with the inferred one: docs/verifier.md#written-and-inferred-shapes. Layouts and
// dynamic flags are ignored.
enum class TypeMatch { kExact, kFloatsMayDiffer };
bool ShapesMatch(const Shape& a, const Shape& b, TypeMatch types);

// Checks that the operand is an array (V005).
Status CheckArray(const Instruction& inst, int64_t operand);
Status CheckArrays(const Instruction& inst);

// Whether the dimensions are unique and in [0, limit), and ascending if `sorted`.
bool IsDimSet(std::span<const int64_t> dims, int64_t limit, bool sorted = false);
bool Contains(std::span<const int64_t> list, int64_t value);

// Whether sizes match. An unbounded size matches all.
bool SameSize(int64_t a, int64_t b);
bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b);

// "{0,2}".
std::string Braced(std::span<const int64_t> list);

// The size of `size` elements with `dilation - 1` holes between neighbours: docs/ops.md#windows.
int64_t DilatedSize(int64_t size, int64_t dilation);

// A reducer that combines `inputs` accumulators with as many elements. CheckReducer checks V090-V094 and returns the
// types of the results. `init` is the index of the first initial value among the operands.
struct ReducerUse {
  const char* attribute;  // The attribute that names the computation.
  const Computation& computation;
  int64_t inputs;
  int64_t init;  // -1 if the accumulators are the inputs themselves (scatter).
};
Result<std::vector<PrimitiveType>> CheckReducer(const Instruction& inst, const ReducerUse& use);

// An error about a called computation, at the attribute, with a note at `there`.
Error ErrorAtCallee(const Instruction& inst, const char* attribute, std::string code, std::string message,
                    const Instruction& there);

}  // namespace hlo

#endif  // HLO_IR_SHAPES_SHAPE_CHECKS_H_
