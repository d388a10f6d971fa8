// Some results of a computation, and what they need, as a computation of its own: what is checked where checking all of
// them would be too much work: docs/comparison.md#sampling.
//
//   const Cone cone = ConeOf(root, arguments, {});
//   if (cone.steps > limit) const auto slice = TRY(SliceOf(cone, limit, seed));
#ifndef HLO_INTERP_SHADOW_SLICE_H_
#define HLO_INTERP_SHADOW_SLICE_H_

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/interpreter.h"
#include "interp/shadow/shadow.h"
#include "ir/module.h"

namespace hlo::shadow {

// An argument or a cut: a literal, which is exact, or a value.
struct ConeArgument {
  const Literal* literal = nullptr;
  ShadowValue value;
  int key = -1;  // Arguments of two cones with the same key are the same value (SlicesOfBoth).

  ShadowValue All() const { return literal != nullptr ? ToShadow(*literal) : value; }
};

// What an instruction is computed from, down to arguments and given values, as a module: calls and fusions are
// dissolved, and `plan` is that of the copies.
struct Cone {
  std::unique_ptr<Module> module;
  std::vector<ConeArgument> args;
  PrecisionPlan plan;
  int64_t steps = 0;  // Of evaluating all of it.
};

using Given = std::function<std::optional<ConeArgument>(const Instruction&)>;

// `given` is not asked for the root itself; null: nothing is given.
Cone ConeOf(const Instruction& root, std::span<const ConeArgument> args, const PrecisionPlan* plan, const Given& given);

// Scalar steps of evaluating `results` elements of an instruction with their bounds, given its operands: about a
// nanosecond each on one core of 2020. Only an order of size is needed, and the same one in every run.
int64_t StepsOf(const Instruction& inst, int64_t results);
// Of a computation, called ones included; loops count once.
int64_t StepsOf(const Computation& computation);

struct Slice {
  std::unique_ptr<Module> module;  // Of rank 1, over the points.
  std::vector<ShadowValue> args;
  PrecisionPlan plan;
  std::unordered_map<const Instruction*, WantedResults> wanted;
  // By leaf of the cone's root: row-major, ascending. At least kFewestPoints, or all.
  std::vector<std::vector<int64_t>> points;
};
inline constexpr int64_t kFewestPoints = 4096;

// As many results as come to about `limit` steps: both ends, ends of rows, one of each of many strata. Where they need
// whole rows or columns, which a reduction makes them do, they lie in some of these. Nothing: the root has a leaf that
// is no array, or an element cannot be had for less than all.
Result<std::optional<Slice>> SliceOf(const Cone& cone, int64_t limit, uint64_t seed);
// These results of a cone whose root has the same shape; nothing: it has another kind of root, or they take more steps
// than `limit`.
Result<std::optional<Slice>> SliceAt(const Cone& cone, const std::vector<std::vector<int64_t>>& points,
                                     int64_t limit = std::numeric_limits<int64_t>::max());

// The same results of two cones whose roots have the same dimensions, as modules with the same parameters. All
// arguments of the cones are literals, and those with the same key are one argument here.
struct SlicesOfTwo {
  struct Side {
    std::unique_ptr<Module> module;
    std::unordered_map<const Instruction*, WantedResults> wanted;
    int64_t steps = 0;
  };
  Side before, after;
  std::vector<Literal> args;
  std::vector<int64_t> points;  // Row-major, ascending: at least kFewestPointsOfTwo, or all.
};
inline constexpr int64_t kFewestPointsOfTwo = 64;
// As many results of `after` as take about `limit` steps, and the same results of `before`. Nothing: a root is not an
// array, or the results take more than `most` steps.
Result<std::optional<SlicesOfTwo>> SlicesOfBoth(const Cone& before, const Cone& after, int64_t limit, int64_t most,
                                                uint64_t seed);
// The value of a slice in the declared types, with the bits of the interpreter. `wanted`: the member of the slice.
Result<Literal> InterpretSlice(const Module& module,
                               const std::unordered_map<const Instruction*, WantedResults>& wanted,
                               std::span<const Literal> args, const InterpretOptions& options);

// The limit to each of some pieces of work, done so many times each, that lets all of them together stay below `limit`:
// the smaller ones are done in full.
struct Work {
  int64_t steps = 0, times = 1;
};
int64_t LimitOfEach(std::vector<Work> work, int64_t limit);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_SLICE_H_
