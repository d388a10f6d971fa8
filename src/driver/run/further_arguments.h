// Further arguments for judging, which reach more sides of decisions (judge/reach/reach_search.h).
#ifndef HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_
#define HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "interp/interpreter.h"
#include "ir/literal.h"
#include "judge/reach/reach_search.h"

namespace hlo {

class Module;

struct FurtherArguments {
  std::vector<ReachingSet> sets;
  // Sites with an unreached side: "2 of 14 selects, 1 of 3 conditionals". Empty also if the module was not examined.
  std::string not_exercised;
};

// Ends a sentence about a difference that only further arguments show.
inline constexpr std::string_view kOnFurther = ", on arguments that reach more decisions";

// Modules for several devices, and modules that take long to interpret, get no further arguments. The only error is an
// interruption.
Result<FurtherArguments> FindFurtherArguments(const Module& module, std::span<const Literal> own, uint64_t seed,
                                              const InterpretOptions& interpret, int64_t most_sets);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_FURTHER_ARGUMENTS_H_
