// The values of one instruction in two modules: joined for the comparison, and kept for both sides.
#ifndef HLO_INTERP_COMPARE_JOINED_H_
#define HLO_INTERP_COMPARE_JOINED_H_

#include <cstdint>

#include "interp/shadow/shadow.h"

namespace hlo {

// The finalizer of splitmix64. Each bit of the result depends on all bits of x.
uint64_t Mix(uint64_t x);

// Whether the value contains complex numbers, also in a tuple.
bool HasParts(const ShadowValue& x);
// A complex array as floats [.., 2].
ShadowValue PartsSideBySide(const ShadowValue& x);
// `expected` in f64 with the bounds of both sides. `by_bits` receives the number of elements that equal bits decided.
ShadowValue Joined(const ShadowValue& expected, const ShadowValue& actual, int64_t* by_bits);
// The number of elements that `expected` determines and `joined`, the join of both sides, does not.
int64_t CountOpened(const ShadowValue& expected, const ShadowValue& joined);
Literal AsLiteral(const ShadowValue& value);
// The value that both sides receive instead of `expected` and `from`, without bounds. If neither bounds nor bits
// determine an element, it is taken from `from`, as copies of the instruction have it, and stays undetermined. The
// other side may compute the number differently, such as the mean beside a variance, and have another outcome.
ShadowValue KeptOf(ShadowValue expected, const ShadowValue& from);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_JOINED_H_
