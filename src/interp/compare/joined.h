// The values of one instruction in two modules, as they are judged and as they are handed on.
#ifndef HLO_INTERP_COMPARE_JOINED_H_
#define HLO_INTERP_COMPARE_JOINED_H_

#include <cstdint>

#include "interp/shadow/shadow.h"

namespace hlo {

// The finalizer of splitmix64: each bit of the result hangs on all bits of x.
uint64_t Mix(uint64_t x);

// Of complex numbers, anywhere in a tuple.
bool HasParts(const ShadowValue& x);
// A complex array as floats [.., 2].
ShadowValue PartsSideBySide(const ShadowValue& x);
// `expected` with the bounds of both sides, as f64, so that the comparison is not done in the declared type.
ShadowValue Joined(const ShadowValue& expected, const ShadowValue& actual, int64_t* by_bits);
// The elements that `expected` determines and `joined`, of it and the other side, does not.
int64_t CountOpened(const ShadowValue& expected, const ShadowValue& joined);
Literal AsLiteral(const ShadowValue& value);
// What both sides are given instead of `expected` and `actual`: the value without bounds. Where bounds do not determine
// it, and bits do not either, it is that of `actual`, which copies of the instruction have, and stays undetermined: a
// side that has the number from elsewhere (the mean beside a variance) may have another outcome.
ShadowValue KeptOf(ShadowValue expected, const ShadowValue& from);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_JOINED_H_
