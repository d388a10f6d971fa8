// Values of one instruction in two modules.
#ifndef HLO_JUDGE_COMPARE_JOINED_H_
#define HLO_JUDGE_COMPARE_JOINED_H_

#include <cstdint>

#include "judge/bounds/shadow.h"

namespace hlo {

// The finalizer of splitmix64.
uint64_t Mix(uint64_t x);

bool HasParts(const ShadowValue& x);
// A complex array as floats [.., 2].
ShadowValue PartsSideBySide(const ShadowValue& x);
// `expected` in f64 with the sum of both bounds. Adds to `by_bits` the number of elements that only equal bits decide.
ShadowValue Joined(const ShadowValue& expected, const ShadowValue& actual, int64_t* by_bits);
// Counts elements that `expected` determines and `joined` does not.
int64_t CountOpened(const ShadowValue& expected, const ShadowValue& joined);
Literal AsLiteral(const ShadowValue& value);
// The value with which both sides continue, without bounds. An element that neither bounds nor bits determine is taken
// from `from` and stays undetermined, because the other side may compute it differently.
ShadowValue KeptOf(ShadowValue expected, const ShadowValue& from);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_JOINED_H_
