// The shadow: a second evaluator whose every element is a pair (value, bound). The value is computed in f64 without the
// roundings of the declared types; any implementation that the precision plan permits lies within the bound of it. So
// it says of one kernel, from the kernel's actual inputs, which outputs are right (interp/compare/compare.h), and of
// two modules whether they mean the same (interp/compare/widened.h). The rules: docs/comparison.md; the derivation of
// each stands beside it.
//
// What moves data or computes with integers alone is evaluated by the interpreter, on values and bounds alike; what
// rounds has a rule of its own here.
#ifndef HLO_INTERP_SHADOW_SHADOW_H_
#define HLO_INTERP_SHADOW_SHADOW_H_

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

// The value of a shape with bounds. Copies share their elements, as literals do.
struct ShadowValue {
  Shape shape;  // As declared.

  // Floats. f64 of the same dims, whatever the declared type.
  Literal value;
  // |t - value| <= bound for every permitted t. NaN: undetermined; infinite too, but no NaN. No bytes: 0, and then
  // value is exact: t must be it, to the sign of zero. A value of infinity or NaN with bound 0 is expected as such.
  Literal bound;
  // As `bound`, but for an honest implementation with overwhelming probability: a long sum's roundings add up like a
  // random walk. Beyond `likely` is suspicious, not wrong. No bytes: the same as bound.
  Literal likely;
  // The type the floats were rounded to last; wider than declared where a kernel holds values wider.
  PrimitiveType held = PrimitiveType::kF64;

  // Integers, pred and other complex numbers: the elements, in the declared type, and which of them are not decided
  // (pred; no bytes: none).
  Literal exact;
  Literal open;

  // Where a reducer left one of several elements, which ones; null: nothing is known beyond the bounds.
  std::shared_ptr<const Choices> choices;

  std::vector<ShadowValue> elements;  // Of a tuple; of complex numbers that were computed: the two parts.

  bool IsFloat() const { return hlo::IsFloat(shape.type()); }
  bool HasBound() const { return bound.byte_size() != 0; }
  bool HasLikely() const { return likely.byte_size() != 0; }
  bool HasOpen() const { return open.byte_size() != 0; }
};

// A bound of more than this part of what it is of says nothing.
inline constexpr double kSaysNothing = 0.25;

// Candidates of decision d: [first[d], first[d + 1]); none: there is nothing to decide.
struct Decisions {
  std::vector<int64_t> first;
  std::vector<uint8_t> by_order;  // None of its candidates has a bound: the order of combining decides.
  // Of a sort: which element each candidate is, and the line of each decision. An element stands in one place of its
  // line.
  std::vector<int64_t> element, line;
};

// An element with a decision has the value of one of its candidates. Values that share decisions, which are the places
// of one reduction, have it from the same one: the index that an argmax gives is that of the value it gives.
struct Choices {
  std::shared_ptr<const Decisions> decisions;
  std::vector<int64_t> of;  // By element: its decision, or -1; empty: each its own.
  ShadowValue candidates;   // Rank 1.

  int64_t DecisionOf(int64_t element) const { return of.empty() ? element : of[element]; }
};

// Of a dot or convolution that stands for some of its results, and has the shape of a list of them.
struct WantedResults {
  Shape whole;
  std::vector<int64_t> at;  // Row-major, ascending.
};

// Limits the work whose amount is not known beforehand: trips of loops, and bodies that are applied to each element.
// Several evaluations share a meter.
struct WorkMeter {
  static constexpr int64_t kLeast = 100'000'000;  // Always allowed: a tenth of a second.
  int64_t limit = 0;                              // Scalar steps (interp/shadow/slice.h).
  int64_t left = limit;
  std::function<void(const Instruction& loop, int64_t trip)> on_trip;  // For progress; may be null.
};

struct ShadowOptions {
  const PrecisionPlan* plan = nullptr;
  // Every float type is f64, and rounds like it; conversions between floats do nothing; reduce-precision stays.
  bool widened = false;
  int64_t max_loop_iterations = 1'000'000;  // 0: no limit.
  WorkMeter* meter = nullptr;               // Null: no limit.

  // Elements of a loop's state (of an array: element 0) without bounds when an iteration starts: what it does is judged
  // by itself. Null: none.
  std::function<bool(const Instruction& loop, int64_t element)> is_exact_state;

  // What a run left as the root's value, or null. Of a factorisation or a solve, whose bounds soon say nothing, each
  // element is then what follows from the others as they are.
  const Literal* left = nullptr;

  // By dot and convolution of the computation itself. Null, or not in it: all.
  const std::unordered_map<const Instruction*, WantedResults>* wanted = nullptr;

  // Cuts and views, as in InterpretOptions; for the instructions of the computation itself and of what it calls. Which
  // they are a loop asks once.
  std::function<std::optional<ShadowValue>(const Instruction&)> given;
  std::function<void(const Instruction& loop, int64_t iteration, const ShadowValue& state)> on_iteration;
  // How many trips there were, what the last of them began with (of none: nothing), and the loop's value.
  std::function<void(const Instruction& loop, int64_t trips, ShadowValue last, const ShadowValue& result)> on_loop_end;
};

struct Shadow {
  ShadowValue value;
  // A rule without proof was used: an arbitrary reducer, evaluated in two orders.
  bool heuristic = false;
};

// Exact: bounds of 0.
ShadowValue ToShadow(const Literal& literal);

// Errors: kUnsupported for ops without a rule (fft, decompositions, custom calls), which means that
// nothing can be said, not that something is wrong; kLimit, IsBeyondWork, when the meter has run out.
Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const ShadowValue> args,
                              const ShadowOptions& options = {});
Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const Literal> args,
                              const ShadowOptions& options = {});

bool IsBeyondWork(const Error& error);

// The value of one instruction, from the arguments of its computation. `given` is not asked for the instruction itself.
Result<ShadowValue> EvaluateShadowOf(const Instruction& inst, std::span<const ShadowValue> args,
                                     const ShadowOptions& options = {});
// The same values, taken as exact.
ShadowValue DropBounds(ShadowValue value);
// `element`, an array's only one, everywhere.
Literal Splat(const Literal& element, const Shape& shape);
ShadowValue Splat(const ShadowValue& element, const Shape& shape);

}  // namespace hlo

#endif  // HLO_INTERP_SHADOW_SHADOW_H_
