// Judges whether two modules compute the same real numbers, for passes that regroup sums and products (kReassociates):
// docs/comparison.md#residues.
//
// Both modules run on the same arguments. Each float is a number modulo a prime, for which +, -, * and / are exact, and
// a value in f64 that takes the program's decisions (residue.h). Equal numbers are equal in any grouping, and other
// numbers differ, however small the difference is. Kept values and results are compared as in bits.h.
//
// A decision that roundings might change is open, and so is everything that depends on it. Differences of open numbers
// do not count.
#ifndef HLO_JUDGE_RESIDUES_H_
#define HLO_JUDGE_RESIDUES_H_

#include <span>

#include "judge/bits.h"

namespace hlo {

struct ResiduesOptions {
  InterpretOptions interpret;  // Observers are replaced.
  OriginsOf origins = OriginsOf::kBefore;
  int64_t work_limit = 1'000'000'000;  // Elements and products computed for each module.
  // Whether the pass uses only laws of residue_rules.h. If not, numbers are open that depend on an application of a
  // function in only one module.
  bool functions_have_laws = true;
  CompareOptions compare;
};

// Like CompareByBits. kUnsupported: the modules run on several devices, an instruction has no rule, or a difference may
// depend on an instruction that is compared as a whole (sort, cholesky, custom call) and that only one module has.
// kInconclusive: more than kMostUndetermined of an output depends on open decisions, or a limit was reached.
Result<BitsResult> CompareByResidues(const Module& before, const Module& after, std::span<const Literal> args,
                                     const ResiduesOptions& options = {});

}  // namespace hlo

#endif  // HLO_JUDGE_RESIDUES_H_
