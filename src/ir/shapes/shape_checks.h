// What the shape rules share: comparing types, checking lists of dimensions, arithmetic that notices overflow.
#ifndef HLO_IR_SHAPES_SHAPE_CHECKS_H_
#define HLO_IR_SHAPES_SHAPE_CHECKS_H_

#include <span>

#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "ir/source_parts.h"

namespace hlo {

// Equal, or both float of any width; which of the two is required is a question of the verifier's level.
bool SameOrBothFloat(PrimitiveType a, PrimitiveType b);
// Of two element types, the one an inferred result has: docs/verifier.md#mixed-float-types.
PrimitiveType HigherPrecision(PrimitiveType a, PrimitiveType b);

// How a written shape is held against the inferred one; layouts and dynamic flags do not count:
// docs/verifier.md#written-and-inferred-shapes.
enum class TypeMatch { kExact, kFloatsMayDiffer };
bool ShapesMatch(const Shape& a, const Shape& b, TypeMatch types);

// The operand is an array (V005).
Status CheckArray(const Instruction& inst, int64_t operand);
Status CheckArrays(const Instruction& inst);

// Unique and in [0, limit); `sorted`: ascending too.
bool IsDimSet(std::span<const int64_t> dims, int64_t limit, bool sorted = false);
bool Contains(std::span<const int64_t> list, int64_t value);

// Sizes match; an unbounded one matches all.
bool SameSize(int64_t a, int64_t b);
bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b);

// "{0,2}".
std::string Braced(std::span<const int64_t> list);

// Size of `size` elements with `dilation - 1` holes between neighbours: docs/ops.md#windows.
int64_t DilatedSize(int64_t size, int64_t dilation);

// A reducer: the computation combines `inputs` accumulators with as many elements. Checks V090-V094, and returns the
// types of its results. `init` is the position of the first initial value among the operands.
struct ReducerUse {
  const char* attribute;  // That names the computation.
  const Computation& computation;
  int64_t inputs;
  int64_t init;  // -1: the accumulators are the inputs themselves (scatter).
};
Result<std::vector<PrimitiveType>> CheckReducer(const Instruction& inst, const ReducerUse& use);

// An error about a called computation: at the attribute, with a note at `there`.
Error ErrorAtCallee(const Instruction& inst, const char* attribute, std::string code, std::string message,
                    const Instruction& there);

}  // namespace hlo

#endif  // HLO_IR_SHAPES_SHAPE_CHECKS_H_
