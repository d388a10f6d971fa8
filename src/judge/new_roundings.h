// Makes the roundings visible that a pass added. A pass that regroups sums must not compute in narrower types than the
// module before (docs/comparison.md#residues). Residues and f64 ignore types, but respect reduce-precision.
#ifndef HLO_JUDGE_NEW_ROUNDINGS_H_
#define HLO_JUDGE_NEW_ROUNDINGS_H_

#include <memory>

#include "ir/module.h"

namespace hlo {

// A copy of `after`, with its ids, and a reduce-precision behind each added rounding. Null if the pass added none.
// Origins of `after` are ids of `before`.
//
// A rounding is added if:
//   - Its instruction has no origin, and computes new numbers or converts to a narrower type.
//   - Its type lacks numbers of each float type in which the module before computed the next kept values, which depend
//     on this instruction, from the previous ones.
//   - The module before did not convert the same kept value to the same type.
std::unique_ptr<Module> WithNewRoundings(const Module& before, const Module& after);

}  // namespace hlo

#endif  // HLO_JUDGE_NEW_ROUNDINGS_H_
