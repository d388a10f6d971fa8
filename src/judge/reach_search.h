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
  // Limit on the scalar steps of all further runs together. kLeastTries runs are always made. 0 means no limit.
  int64_t most_steps = 0;
  InterpretOptions interpret;  // Limits of each run.
};

struct ReachingSet {
  std::vector<Literal> arguments;
  Literal result;  // The interpreter's result of the entry.
};

// Searches for further sets of arguments after `own`, a run that `reach` already contains. Each set reaches a side that
// `reach` does not have yet. First the search solves backwards (argument_solver.h), for as many missing sides at once
// as possible. Then it generates arguments with other profiles. The same options give the same sets. A set on which the
// module fails is not used.
std::vector<ReachingSet> ArgumentsThatReach(const Module& module, Recording own, const ReachSearchOptions& options,
                                            Reach& reach);

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_SEARCH_H_
