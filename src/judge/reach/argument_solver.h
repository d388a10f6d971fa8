// Finds argument elements that bring one element of a value into an interval. Each step inverts one instruction for one
// operand, or changes a decision: docs/comparison.md#reach. Other values are assumed to stay as recorded, so a new run
// must confirm a solution.
#ifndef HLO_JUDGE_REACH_ARGUMENT_SOLVER_H_
#define HLO_JUDGE_REACH_ARGUMENT_SOLVER_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "interp/arguments/ranges.h"
#include "ir/instruction.h"
#include "ir/literal.h"
#include "ir/shape.h"
#include "judge/reach/reach.h"

namespace hlo {

class Module;

struct Wanted {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool nan = false;  // The element should be a NaN instead.

  bool Has(double x) const { return nan ? x != x : x >= low && x <= high; }
  bool IsEmpty() const { return !nan && !(low <= high); }
};

Wanted Shifted(Wanted wanted, double by);
Wanted Negated(Wanted wanted);
Wanted Scaled(Wanted wanted, double by);

// `element` is a row-major index.
struct ElementOfArgument {
  int64_t parameter = 0;
  ShapeIndex leaf;
  int64_t element = 0;
  auto operator<=>(const ElementOfArgument&) const = default;
};
using Changes = std::map<ElementOfArgument, double>;

class ArgumentSolver {
 public:
  explicit ArgumentSolver(const Module& module);

  // Adds changes that may bring the element into `wanted`, or none if it is there already. If the search fails, returns
  // false and adds nothing. With `other_first`, a select first tries the operand that the run did not take.
  bool Solve(const Recording& recording, const Dependence& dependence, const Instruction& inst, int64_t element,
             Wanted wanted, Changes& changes, bool other_first = false);
  // Like Solve, but the changes may let the site reach the side at `element`, which is one of Reach::ElementsOf.
  bool ReachSide(const Recording& recording, const Dependence& dependence, const Site& site, int side, int64_t element,
                 Changes& changes, bool other_first = false);

  int64_t all_steps() const { return all_steps_; }

 private:
  using Path = ShapeIndex;

  static constexpr size_t kMostTerms = 4;  // Number of terms of a sum, maximum or minimum that are tried.

  bool Step(const Instruction& inst, const Path& path, int64_t element, Wanted wanted);
  bool Follow(const Instruction& inst, const Path& path, int64_t element, Wanted wanted);
  bool Operand(const Instruction& inst, int64_t operand, int64_t element, Wanted wanted);
  bool AtParameter(const Instruction& parameter, const Path& path, int64_t element, Wanted wanted);
  bool Change(const Instruction& parameter, const Path& path, int64_t element, Wanted wanted);
  bool Unary(const Instruction& inst, int64_t element, Wanted wanted);
  bool Binary(const Instruction& inst, int64_t element, Wanted wanted);
  bool Largest(const Instruction& inst, std::span<const std::pair<int64_t, int64_t>> terms, Wanted wanted);
  bool Sum(const Instruction& inst, std::span<const std::pair<int64_t, int64_t>> terms, double sum, Wanted wanted);
  bool Compared(const Instruction& inst, int64_t element, bool holds);
  bool Logical(const Instruction& inst, int64_t element, bool holds);
  bool Choice(const Instruction& inst, int64_t element, Wanted wanted);
  bool Clamped(const Instruction& inst, int64_t element, Wanted wanted);
  bool Reduced(const Instruction& inst, int64_t element, Wanted wanted);
  bool Product(const Instruction& inst, int64_t element, Wanted wanted);
  bool Loop(const Instruction& inst, const Path& path, int64_t element, Wanted wanted);
  bool Taken(const Instruction& inst, const Path& path, int64_t element, Wanted wanted);
  std::optional<std::pair<int64_t, int64_t>> MovedFrom(const Instruction& inst, int64_t element) const;

  const Literal* Find(const Instruction& inst, const Path& path) const;
  std::optional<double> At(const Instruction& inst, int64_t element, const Path& path = {}) const;
  bool MayChange(const Instruction& inst, const Path& path) const;
  template <class F>
  bool Try(F&& attempt);

  const Module& module_;
  const Ranges ranges_;
  std::unordered_map<const Computation*, std::vector<const Instruction*>> callers_;
  const Recording* recording_ = nullptr;
  const Dependence* dependence_ = nullptr;
  Changes* changes_ = nullptr;
  std::vector<ElementOfArgument> added_;
  bool other_first_ = false;
  int64_t steps_ = 0, all_steps_ = 0, depth_ = 0;
};

}  // namespace hlo

#endif  // HLO_JUDGE_REACH_ARGUMENT_SOLVER_H_
