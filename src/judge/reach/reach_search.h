// Searches for arguments that reach further sides, such as another branch.
#ifndef HLO_JUDGE_REACH_REACH_SEARCH_H_
#define HLO_JUDGE_REACH_REACH_SEARCH_H_

#include <cstdint>
#include <vector>

#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/reach/reach.h"

namespace hlo {

struct ReachSearchOptions {
  uint64_t seed = 0;
  int64_t most_sets = 8;
  int64_t most_runs = 40;
  int64_t most_solver_steps = 5'000'000;
  // Limit on the scalar steps of the runs after the first three. 0 means no limit.
  int64_t most_steps = 0;
  InterpretOptions interpret;
};

struct ReachingSet {
  std::vector<Literal> arguments;
  Literal result;
};

// Finds sets of arguments that each add a side to `reach`, which contains the run `own`. Solves backwards
// (argument_solver.h), then tries other input profiles. Skips sets on which the module fails.
std::vector<ReachingSet> ArgumentsThatReach(const Module& module, Recording own, const ReachSearchOptions& options,
                                            Reach& reach);

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_REACH_SEARCH_H_
