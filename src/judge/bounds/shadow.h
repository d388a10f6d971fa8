// The shadow computes a pair (value, bound) for each element. The value is computed in f64 without the roundings of
// declared types. The bound contains the result of every implementation that the precision plan permits. The shadow
// determines which outputs of a kernel are right (judge/compare/compare.h), and whether two modules compute the same
// function (judge/compare/widened.h). Rules: docs/comparison.md.
//
// Instructions that round have rules here. The interpreter evaluates movements and integers.
#ifndef HLO_JUDGE_BOUNDS_SHADOW_H_
#define HLO_JUDGE_BOUNDS_SHADOW_H_

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "ir/literal.h"
#include "ir/precision_plan.h"

namespace hlo {

class Computation;
class Instruction;
struct Choices;

// Copies share their elements.
struct ShadowValue {
  Shape shape;

  // Float elements in f64.
  Literal value;
  // |t - value| <= bound holds for every permitted result t. NaN: the element is undetermined. Infinity: it is
  // undetermined, but not NaN. Empty: all bounds are 0. With a bound of 0, t is `value`, even an infinity, a NaN or a
  // zero with a sign.
  Literal bound;
  // A smaller bound that is exceeded with negligible probability, because roundings of a long sum add up like a random
  // walk. A result beyond it is suspicious but not wrong. Empty: equal to `bound`.
  Literal likely;
  // The type of the last rounding, which may be wider than the declared type.
  PrimitiveType held = PrimitiveType::kF64;

  // `exact` has integers, pred, and complex numbers that are not split, in the declared type. `open` has flags of
  // undetermined elements, or is empty.
  Literal exact;
  Literal open;

  // Candidates for elements that a reducer selected, or null.
  std::shared_ptr<const Choices> choices;

  std::vector<ShadowValue> elements;  // Elements of a tuple, or the two parts of a computed complex array.

  bool IsFloat() const { return hlo::IsFloat(shape.type()); }
  bool HasBound() const { return bound.byte_size() != 0; }
  bool HasLikely() const { return likely.byte_size() != 0; }
  bool HasOpen() const { return open.byte_size() != 0; }
};

// A bound above this fraction of its value is uninformative.
inline constexpr double kSaysNothing = 0.25;

// Decision d chooses among the candidates [first[d], first[d + 1]). An empty range means that nothing is decided.
struct Decisions {
  std::vector<int64_t> first;
  // 1 for a decision whose candidates have no bound, so that only the order decides.
  std::vector<uint8_t> by_order;
  // For sorts: the element of each candidate, and the line of each decision. An element takes one position of its line.
  std::vector<int64_t> element, line;
};

// An element with a decision is one of the candidates. Values that share decisions take the same candidate, as the
// index of an argmax belongs to its maximum.
struct Choices {
  std::shared_ptr<const Decisions> decisions;
  std::vector<int64_t> of;  // The decision of each element, or -1. Empty: element i has decision i.
  ShadowValue candidates;   // A rank-1 array.

  int64_t DecisionOf(int64_t element) const { return of.empty() ? element : of[element]; }
};

// The computed results of a dot or convolution: row-major indices `at` in the shape `whole`. The instruction then has
// the shape of a list.
struct WantedResults {
  Shape whole;
  std::vector<int64_t> at;
};

// Limits the work of loops, and of computations that are applied to each element. Evaluations can share a meter.
struct WorkMeter {
  static constexpr int64_t kLeast = 100'000'000;  // Always allowed, about a tenth of a second.
  int64_t limit = 0;                              // Scalar steps (judge/bounds/slice.h).
  int64_t left = limit;
  std::function<void(const Instruction& loop, int64_t trip)> on_trip;  // Reports progress. May be null.
};

struct ShadowOptions {
  const PrecisionPlan* plan = nullptr;
  // Treats every float type as f64. Only reduce-precision still rounds.
  bool widened = false;
  int64_t max_loop_iterations = 1'000'000;  // 0 means no limit.
  WorkMeter* meter = nullptr;               // Null means no limit.

  // Whether a state element loses its bounds at the start of an iteration, so that each iteration is judged by itself.
  // `element` is 0 for an array. May be null.
  std::function<bool(const Instruction& loop, int64_t element)> is_exact_state;

  // The root's result in a run, or null. Bounds of factorisations and solves soon become uninformative. Each element is
  // then checked against the equation that the other elements determine.
  const Literal* left = nullptr;

  // Wanted results of dots and convolutions in the computation itself. Other instructions compute all results.
  const std::unordered_map<const Instruction*, WantedResults>* wanted = nullptr;

  // Values of cut points and views, as InterpretOptions::given. A loop calls this once for each instruction.
  std::function<std::optional<ShadowValue>(const Instruction&)> given;
  std::function<void(const Instruction& loop, int64_t iteration, const ShadowValue& state)> on_iteration;
  // Receives the number of trips, the state at the start of the last trip (empty without trips), and the result.
  std::function<void(const Instruction& loop, int64_t trips, ShadowValue last, const ShadowValue& result)> on_loop_end;
};

struct Shadow {
  ShadowValue value;
  // An unknown reducer was evaluated in two orders, which does not prove its bounds.
  bool heuristic = false;
};

ShadowValue ToShadow(const Literal& literal);

// kUnsupported: an op has no rule, so results may still be right. kLimit (IsBeyondWork): the meter is empty.
Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const ShadowValue> args,
                              const ShadowOptions& options = {});
Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const Literal> args,
                              const ShadowOptions& options = {});

bool IsBeyondWork(const Error& error);

// Does not call `given` for `inst`.
Result<ShadowValue> EvaluateShadowOf(const Instruction& inst, std::span<const ShadowValue> args,
                                     const ShadowOptions& options = {});
ShadowValue DropBounds(ShadowValue value);
Literal Splat(const Literal& element, const Shape& shape);
ShadowValue Splat(const ShadowValue& element, const Shape& shape);

}  // namespace hlo

#endif  // HLO_JUDGE_BOUNDS_SHADOW_H_
