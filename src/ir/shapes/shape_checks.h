#ifndef HLO_IR_SHAPES_SHAPE_CHECKS_H_
#define HLO_IR_SHAPES_SHAPE_CHECKS_H_

#include <span>

#include "ir/dimensions.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "ir/source_parts.h"

namespace hlo {

bool SameOrBothFloat(PrimitiveType a, PrimitiveType b);
// The type of the result: docs/verifier.md#mixed-float-types.
PrimitiveType HigherPrecision(PrimitiveType a, PrimitiveType b);

// ShapesMatch ignores layouts and dynamic flags. Rules: docs/verifier.md#written-and-inferred-shapes.
enum class TypeMatch { kExact, kFloatsMayDiffer };
bool ShapesMatch(const Shape& a, const Shape& b, TypeMatch types);

// Error (V005): an operand is not an array, or is a buffer.
Status CheckArray(const Instruction& inst, int64_t operand);
Status CheckArrays(const Instruction& inst);

// Whether the dimensions are unique, in [0, limit), and ascending if `sorted`.
bool IsDimSet(std::span<const int64_t> dims, int64_t limit, bool sorted = false);

// An unbounded size matches all.
bool SameSize(int64_t a, int64_t b);
bool SameSizes(std::span<const int64_t> a, std::span<const int64_t> b);

// "{0,2}".
std::string Braced(std::span<const int64_t> list);

// "f32[2,3] has no dimension 5, expected 0 to 1". For a scalar: "f32[] is a scalar and has no dimension 5".
std::string NoDimension(const Shape& shape, int64_t dimension);

// The size with `dilation - 1` holes between elements: docs/ops.md#windows.
int64_t DilatedSize(int64_t size, int64_t dilation);

// A reducer with `inputs` accumulators and as many elements. CheckReducer returns the result types. Errors: V090-V094.
struct ReducerUse {
  const char* attribute;
  const Computation& computation;
  int64_t inputs;
  int64_t init;  // Index of the first initial value, or -1 if inputs are accumulators (scatter).
};
Result<std::vector<PrimitiveType>> CheckReducer(const Instruction& inst, const ReducerUse& use);

// An error at the attribute, with a note at `there` in the called computation.
Error ErrorAtCallee(const Instruction& inst, const char* attribute, std::string code, std::string message,
                    const Instruction& there);

}  // namespace hlo

#endif  // HLO_IR_SHAPES_SHAPE_CHECKS_H_
