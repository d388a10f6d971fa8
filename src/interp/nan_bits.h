// The bits of NaNs. Arithmetic does not define their sign and payload, but some instructions read them. A run with
// other bits shows the values that depend on them.
#ifndef HLO_INTERP_NAN_BITS_H_
#define HLO_INTERP_NAN_BITS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

// Changes only NaNs of floats and complex numbers.
void UnifyNans(PrimitiveType type, std::byte* elements, int64_t count, NanBits bits);
void UnifyNans(Literal& literal, NanBits bits);

// Row-major indices of elements with different bits, ascending. All NaNs are equal unless `strict_nan`.
std::vector<int64_t> DifferentElements(const Literal& a, const Literal& b, bool strict_nan = false);

// True for bitcast-convert and bitcast of floats to another type, compare in total order, topk and custom calls.
// Ignores called computations.
bool ReadsNanBits(const Instruction& inst);
bool ReadsNanBits(const Module& module);

}  // namespace hlo

#endif  // HLO_INTERP_NAN_BITS_H_
