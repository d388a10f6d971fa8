// Whether two modules compute the same real numbers, for passes that regroup sums and products (Preserves::
// kReassociates): docs/comparison.md#residues.
//
// Both modules run on the same arguments. Each float is a number modulo a prime, for which +, -, * and / are exact, and
// a value in f64, which takes the program's decisions (residue.h). So equal numbers are equal in any order and
// grouping, and other numbers differ, however small the difference is. Values of instructions that a pass kept, and
// results of the entry, are compared as bits.h compares them.
//
// A decision that roundings might change is open, and so is all that depends on it. An open number that differs says
// nothing.
#ifndef HLO_JUDGE_RESIDUES_H_
#define HLO_JUDGE_RESIDUES_H_

#include <span>

#include "judge/bits.h"

namespace hlo {

struct ResiduesOptions {
  InterpretOptions interpret;  // Limits and seed. Observers are replaced.
  OriginsOf origins = OriginsOf::kBefore;
  int64_t work_limit = 1'000'000'000;  // Elements and products that may be computed of each module.
  // Whether the pass uses only laws of functions that residues have (residue_rules.h). If not, numbers are open if they
  // depend on a function that only one of the modules applies to certain operands.
  bool functions_have_laws = true;
  CompareOptions compare;  // Options of the comparison in a finding.
};

// Like CompareByBits. kUnsupported: the modules run on several devices, an instruction has no rule, or only one of the
// modules has an instruction that is compared as a whole (sort, cholesky, a custom call) and on which a difference may
// depend. `undetermined` counts elements of results that depend on open decisions. kInconclusive: these are more than
// kMostUndetermined of an output, or a limit was reached.
Result<BitsResult> CompareByResidues(const Module& before, const Module& after, std::span<const Literal> args,
                                     const ResiduesOptions& options = {});

}  // namespace hlo

#endif  // HLO_JUDGE_RESIDUES_H_
