// Arguments beside the arguments of a run, for judging the passes: they reach sides of decisions that the run does not
// (judge/reach_search.h).
#ifndef HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_
#define HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/literal.h"

namespace hlo {

class Module;

struct FurtherArguments {
  std::vector<std::vector<Literal>> sets;
  // Sites with a side that the run does not reach, and that neither the run nor a set reaches: "2 of 14 selects, 1 of 3
  // conditionals". Empty if there is none, or if the module was not examined.
  std::string not_by_run, not_at_all;
};

// Searches for at most `most_sets` sets. A module that takes long to interpret is not examined. An error is an
// interruption.
Result<FurtherArguments> FindFurtherArguments(const Module& module, std::span<const Literal> own, uint64_t seed,
                                              const InterpretOptions& interpret, int64_t most_sets);

// "by the kernels 2 of 14 selects; by the passes 1 of 14 selects". Kernels run on the arguments of the run alone.
std::string NotExercisedText(const FurtherArguments& further);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_
