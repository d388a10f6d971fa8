// The bits of NaNs. Arithmetic does not define the sign and payload of a NaN, but instructions that read bits of floats
// expose them. A run with other NaN bits shows the values that depend on them.
#ifndef HLO_INTERP_NAN_BITS_H_
#define HLO_INTERP_NAN_BITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

// Gives all NaNs among `count` elements in memory the bits of `bits`. Leaves other types than floats and complex
// numbers unchanged.
void UnifyNans(PrimitiveType type, std::byte* elements, int64_t count, NanBits bits);
// The same for a value of any shape.
void UnifyNans(Literal& literal, NanBits bits);

// The ascending row-major indices of elements that differ in their bits. All NaNs are equal, unless `strict_nan`.
std::vector<int64_t> DifferentElements(const Literal& a, const Literal& b, bool strict_nan = false);

// Whether the instruction itself, without called computations, reads bits of floats: bitcast-convert and bitcast to
// another type, compare in total order, topk and custom calls.
bool ReadsNanBits(const Instruction& inst);
// Whether any instruction of the module does.
bool ReadsNanBits(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_NAN_BITS_H_
