// Judges whether two modules compute the same real numbers, for passes that regroup sums and products (kReassociates):
// docs/comparison.md#residues. The same values are compared as in bits.h. Each float has a residue and an f64 value
// (residue.h). Differences of open numbers, which depend on decisions that roundings might change, do not count.
#ifndef HLO_JUDGE_RESIDUES_RESIDUES_H_
#define HLO_JUDGE_RESIDUES_RESIDUES_H_

#include <span>

#include "judge/bits.h"

namespace hlo {

struct ResiduesOptions {
  InterpretOptions interpret;  // Observers are replaced.
  OriginsOf origins = OriginsOf::kBefore;
  int64_t work_limit = 1'000'000'000;  // Limit on computed elements and products of each module.
  // Whether the pass uses only laws of judge/residues/rules.h. If not, the result of a function is open if only one
  // module applies it to that operand.
  bool functions_have_laws = true;
  CompareOptions compare;
};

// Like CompareByBits. kUnsupported: several devices, an instruction without residues, too little memory; or values
// differ and only one module has a certain instruction without a rule (sort, cholesky, custom call). kInconclusive:
// more than kMostUndetermined of an output depends on open decisions, or a limit was reached.
Result<BitsResult> CompareByResidues(const Module& before, const Module& after, std::span<const Literal> args,
                                     const ResiduesOptions& options = {});

}  // namespace hlo

#endif  // HLO_JUDGE_RESIDUES_RESIDUES_H_
