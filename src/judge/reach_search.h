// Searches for arguments that reach other sides of sites than the arguments of a run: the other outcome of a
// comparison, another branch, a slice that starts beyond the array.
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
  int64_t most_sets = 8;  // Sets of arguments that are returned.
  int64_t most_runs = 40;
  int64_t most_solver_steps = 5'000'000;
  int64_t most_steps = 0;      // Of all further runs together (Recording::steps), or of kLeastTries runs. 0: no limit.
  InterpretOptions interpret;  // Limits of each run.
};

struct ReachingSet {
  std::vector<Literal> arguments;
  Literal result;  // The interpreter's result of the entry.
};

// Searches for further sets of arguments after `own`, a run that `reach` has already. Each set reaches a side that
// `reach` does not have yet. First the search solves backwards (argument_solver.h), for as many missing sides at once
// as go together. Then it makes up arguments by other profiles. The same options give the same sets. A set on which the
// module fails is not used.
std::vector<ReachingSet> ArgumentsThatReach(const Module& module, Recording own, const ReachSearchOptions& options,
                                            Reach& reach);

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_SEARCH_H_
