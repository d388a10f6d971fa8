// Makes the roundings visible that a pass added. A pass that regroups sums must not compute in narrower types than the
// module had: docs/comparison.md#residues. Residues and the comparison in f64 ignore the roundings of types, but
// respect reduce-precision.
#ifndef HLO_JUDGE_NEW_ROUNDINGS_H_
#define HLO_JUDGE_NEW_ROUNDINGS_H_

#include <memory>

#include "ir/module.h"

namespace hlo {

// A copy of `after` with a reduce-precision behind each added rounding, and with the ids of `after`. Null if the pass
// added none. Origins of `after` are ids of `before`.
//
// A rounding is added if three conditions hold:
//   - The instruction has no origin. It computes new numbers, or converts to a narrower type.
//   - Its type includes none of the float types in which the module before computed the next kept values from the
//     previous kept values. The next kept values are those that depend on this instruction.
//   - The module before did not convert the same kept value to the same type.
std::unique_ptr<Module> WithNewRoundings(const Module& before, const Module& after);

}  // namespace hlo

#endif  // HLO_JUDGE_NEW_ROUNDINGS_H_
