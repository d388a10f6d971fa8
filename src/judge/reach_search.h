// Searches for arguments that reach sides that a run did not reach, such as another branch or a slice that starts
// beyond the array.
#ifndef HLO_JUDGE_REACH_SEARCH_H_
#define HLO_JUDGE_REACH_SEARCH_H_

#include <cstdint>
#include <vector>

#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/reach.h"

namespace hlo {

struct ReachSearchOptions {
  uint64_t seed = 0;
  int64_t most_sets = 8;
  int64_t most_runs = 40;
  int64_t most_solver_steps = 5'000'000;
  // Limit on the scalar steps of all further runs, except the first three. 0 means no limit.
  int64_t most_steps = 0;
  InterpretOptions interpret;
};

struct ReachingSet {
  std::vector<Literal> arguments;
  Literal result;
};

// Finds sets of arguments that each reach a side that `reach` does not have yet, and adds these sides. `own` is a run
// that `reach` contains. The search solves backwards (argument_solver.h), then generates arguments with other profiles.
// Sets on which the module fails are not used.
std::vector<ReachingSet> ArgumentsThatReach(const Module& module, Recording own, const ReachSearchOptions& options,
                                            Reach& reach);

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_SEARCH_H_
