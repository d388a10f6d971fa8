// Slices: some results with all values that they need, as a separate computation. They are checked if all results would
// be too much work (docs/comparison.md#sampling).
//
//   const Cone cone = ConeOf(root, arguments, {});
//   if (cone.steps > limit) const auto slice = TRY(SliceOf(cone, limit, seed));
#ifndef HLO_JUDGE_BOUNDS_SLICE_H_
#define HLO_JUDGE_BOUNDS_SLICE_H_

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/bounds/shadow.h"

namespace hlo::shadow {

// The value of an argument or cut point: an exact literal, or a value with bounds.
struct ConeArgument {
  const Literal* literal = nullptr;
  ShadowValue value;
  int key = -1;  // Equal keys of two cones mean equal values (SlicesOfBoth).

  ShadowValue All() const { return literal != nullptr ? ToShadow(*literal) : value; }
};

// A module with everything on which an instruction depends, back to arguments and given values. Calls and fusions are
// inlined.
struct Cone {
  std::unique_ptr<Module> module;
  std::vector<ConeArgument> args;
  PrecisionPlan plan;
  int64_t steps = 0;  // Scalar steps of a complete evaluation.
};

using Given = std::function<std::optional<ConeArgument>(const Instruction&)>;

// `given` may be null, and is not called for the root.
Cone ConeOf(const Instruction& root, std::span<const ConeArgument> args, const PrecisionPlan* plan, const Given& given);

// Scalar steps for `results` elements with bounds. A step is about a nanosecond on one core. Only the order of
// magnitude matters, but it must be the same in every run.
int64_t StepsOf(const Instruction& inst, int64_t results);
// Includes called computations. A loop counts as one trip.
int64_t StepsOf(const Computation& computation);

struct Slice {
  std::unique_ptr<Module> module;  // Sliced arrays are lists of elements.
  std::vector<ShadowValue> args;
  PrecisionPlan plan;
  std::unordered_map<const Instruction*, WantedResults> wanted;
  // Ascending row-major indices for each leaf of the root. At least kFewestPoints, or all.
  std::vector<std::vector<int64_t>> points;
};
inline constexpr int64_t kFewestPoints = 4096;

Literal TakeFrom(const Literal& literal, const std::vector<int64_t>& at);

// As many results as cost about `limit` steps: both ends, ends of rows, and one result of each stratum. If results need
// whole rows or columns, the sample has few rows or columns. Nullopt if a leaf of the root is not an array, or if all
// results are few or cost no more.
Result<std::optional<Slice>> SliceOf(const Cone& cone, int64_t limit, uint64_t seed);
// The slice at `points` of each output. Nullopt if an output is not an array, or if the results cost more than `limit`
// steps.
Result<std::optional<Slice>> SliceAt(const Cone& cone, const std::vector<std::vector<int64_t>>& points,
                                     int64_t limit = std::numeric_limits<int64_t>::max());

// The same results of two cones with the same dimensions, as modules with the same parameters. All arguments are
// literals. Arguments with the same key become one parameter.
struct SlicesOfTwo {
  struct Side {
    std::unique_ptr<Module> module;
    std::unordered_map<const Instruction*, WantedResults> wanted;
    int64_t steps = 0;
  };
  Side before, after;
  std::vector<Literal> args;
  std::vector<int64_t> points;  // Ascending row-major indices. At least kFewestPointsOfTwo, or all.
};
inline constexpr int64_t kFewestPointsOfTwo = 64;
// As many results of `after` as cost about `limit` steps, and the same results of `before`. Nullopt if a root is not an
// array, or if the results cost more than `most` steps.
Result<std::optional<SlicesOfTwo>> SlicesOfBoth(const Cone& before, const Cone& after, int64_t limit, int64_t most,
                                                uint64_t seed);
Result<Literal> InterpretSlice(const Module& module,
                               const std::unordered_map<const Instruction*, WantedResults>& wanted,
                               std::span<const Literal> args, const InterpretOptions& options);

// The step limit of each item, so that the total of steps * times stays below `limit`. Smaller items run completely.
struct Work {
  int64_t steps = 0, times = 1;
};
int64_t LimitOfEach(std::vector<Work> work, int64_t limit);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_SLICE_H_
