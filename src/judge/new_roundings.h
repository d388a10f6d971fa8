// Roundings that a pass added. A pass that regroups sums and products may compute in the types that the module had, but
// not in narrower ones: docs/comparison.md#residues.
//
// Residues and the comparison in f64 compute without the roundings of types, so they do not see a partial sum that went
// through bf16. An added rounding becomes a reduce-precision, which both respect.
#ifndef HLO_JUDGE_NEW_ROUNDINGS_H_
#define HLO_JUDGE_NEW_ROUNDINGS_H_

#include <memory>

#include "ir/module.h"

namespace hlo {

// A copy of `after` with a reduce-precision behind each added rounding. Null if the pass added none. Origins of `after`
// are ids of `before`. Instructions of the copy have the ids of `after`.
//
// A rounding is added if three conditions hold:
//   - The instruction has no origin and computes new numbers, or converts to a narrower type.
//   - Its type lacks numbers of each float type that the module before had in the same place: between the values that
//     the pass kept, on the way to the kept values that need this instruction.
//   - The module before did not convert the same kept value to the same type.
std::unique_ptr<Module> WithNewRoundings(const Module& before, const Module& after);

}  // namespace hlo

#endif  // HLO_JUDGE_NEW_ROUNDINGS_H_
