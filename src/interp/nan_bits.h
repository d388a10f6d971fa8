// Bits of NaNs. Arithmetic leaves the sign and the payload of a NaN open, so an instruction that reads bits of floats
// makes them visible. A run with other NaN bits shows which values depend on them.
#ifndef HLO_INTERP_NAN_BITS_H_
#define HLO_INTERP_NAN_BITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

// Gives all NaNs among `count` elements of `type`, in memory form, the bits that `bits` names. Other types than floats
// and complex numbers are left as they are.
void UnifyNans(PrimitiveType type, std::byte* elements, int64_t count, NanBits bits);
// The same for a value of any shape.
void UnifyNans(Literal& literal, NanBits bits);

// The elements of two arrays of one shape that differ in their bits, ascending row-major indices. Any NaN equals any
// NaN, unless `strict_nan`.
std::vector<int64_t> DifferentElements(const Literal& a, const Literal& b, bool strict_nan = false);

// True if the instruction itself, apart from computations that it calls, reads bits of floats: bitcast-convert and
// bitcast to another type, compare in total order, topk and custom calls.
bool ReadsNanBits(const Instruction& inst);
// True if any instruction of the module does.
bool ReadsNanBits(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_NAN_BITS_H_
