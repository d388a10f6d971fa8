// What the files of the shadow share: what a rounding costs, and the rules by op family. Private to interp/shadow*.cpp.
#ifndef HLO_INTERP_SHADOW_RULES_H_
#define HLO_INTERP_SHADOW_RULES_H_

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "interp/shadow/shadow.h"
#include "ir/module.h"

namespace hlo::shadow {

inline constexpr double kUndetermined = std::numeric_limits<double>::quiet_NaN();
// Undetermined too, but the value beside it is what the operation gives for its operands' values; beside kUndetermined
// it may stand for nothing. Told apart by the payload of the NaN, and in masks by kComputed. Rules need not tell: in a
// module that is compared with another (`widened`) each one is asked a second time, for the operands' values without
// their bounds.
inline constexpr double kUndeterminedButComputed = std::bit_cast<double>(std::bit_cast<uint64_t>(kUndetermined) | 1);
inline constexpr uint8_t kLost = 1, kComputed = 2;
inline bool IsComputed(double bound) {
  return !std::isnan(bound) || std::bit_cast<uint64_t>(bound) == std::bit_cast<uint64_t>(kUndeterminedButComputed);
}
// Bounds are computed in f64 to nearest; this factor covers what that rounds away.
inline constexpr double kUp = 1 + 0x1p-50;
// Of the shadow's own arithmetic.
inline constexpr double kOwn = 0x1p-53;
inline constexpr double kTiny = std::numeric_limits<double>::denorm_min();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A type as far as rounding to it goes. Half a step of the binade of x bounds one rounding to nearest of anything no
// larger than x, and never falls below half the smallest step (gradual underflow) or, flushed, the smallest normal.
struct Rounding {
  double relative = 0;  // 2^-p for p significand bits.
  double least = 0;
  double overflow =
      std::numeric_limits<double>::infinity();  // Largest finite and half a step: from here on, no finite number.
};
Rounding RoundingTo(PrimitiveType type, bool ftz);
Rounding RoundingTo(int exponent_bits, int mantissa_bits);  // reduce-precision: subnormals are flushed.
inline constexpr Rounding kNoRounding = {};

// 2^floor(log2 x); 0 for 0 and below the normals of f64.
inline double Binade(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7FF0'0000'0000'0000); }
inline double HalfUlp(const Rounding& rounding, double magnitude) {
  const double step = Binade(magnitude) * rounding.relative;
  return step < rounding.least ? rounding.least : step;  // std::max takes addresses, which keeps loops from vectors.
}

// What happens to a result after its formula: a rounding (or an error of some ulps) in the type computed in, and one to
// the type held, if that is narrower.
struct Finish {
  Rounding compute;  // `relative` and `least` times 2 * ulps.
  Rounding target;
  PrimitiveType held = PrimitiveType::kF64;
  double overflow = std::numeric_limits<double>::infinity();
  bool nearest = false;        // The exact result, rounded once: what needs no rounding has none.
  bool is_output = false;      // Of the kernel: overflow is the comparator's to judge.
  bool may_stay_wide = false;  // An overflow need not show: fused into an fma, or held wider.
  bool has_infinity = true;    // Where it does, that is what comes of it.
  bool as_computed = false;    // The value is what the operands' values give, not the middle of what it may be.
  // Every implementation rounds the result to `target`, or to `compute` where there is no target (OnGrid).
  bool on_grid = false;
};

// One byte an element.
using Mask = std::vector<uint8_t>;

class Loop;

struct Context {
  const ShadowOptions& options;
  const Computation* top = nullptr;
  bool heuristic = false;
  int depth = 0;                                                        // Of calls in each other.
  std::unordered_map<const Instruction*, std::shared_ptr<Loop>> loops;  // Made ready, by the while.
  // Evaluates an instruction in place of its rule; nothing: it has no say. Null: no instruction is evaluated so.
  std::function<Result<std::optional<ShadowValue>>(const Instruction&, std::span<const ShadowValue* const>)> instead;

  const InstructionPlan* PlanOf(const Instruction& inst) const {
    return options.plan ? options.plan->Find(inst.id()) : nullptr;
  }
  bool ftz() const { return options.plan && options.plan->ftz; }
  const WantedResults* WantedOf(const Instruction& inst) const;  // Null: all.
  bool IsOutput(const Instruction& inst) const;
  // The type that the float result of `inst` is rounded to, and the type it is computed in before.
  PrimitiveType Held(const Instruction& inst) const;
  PrimitiveType Computed(const Instruction& inst) const;
  Finish FinishOf(const Instruction& inst, double ulps) const;
};

// Buffers of f64 with the dims of `shape`.
Literal NewBuffer(const Shape& shape);
Literal Zeros(const Shape& shape);
// Element i of a float literal as f64, and back. A NaN keeps its sign and payload: the processor's conversions make
// signalling NaNs quiet, which moves them in the total order.
double WideElement(const Literal& literal, int64_t i);
void SetWideElement(Literal& literal, int64_t i, double x);
inline const double* Values(const Literal& literal) { return literal.data<double>().data(); }
inline const double* BoundsOrNull(const Literal& literal) {
  return literal.byte_size() ? literal.data<double>().data() : nullptr;
}

// An element in full, for what is not worth vectorising.
struct Pair {
  double value;
  double bound;
};

// The number of the type nearest to x, ties to even. |x| is below the overflow of the type, which is not f64: the sum
// has 52 bits for the 25 that it keeps.
inline double Nearest(const Rounding& to, double x) {
  const double to_whole_steps = 0x1.8p52 * (2 * HalfUlp(to, std::fabs(x)));
  return std::copysign((x + to_whole_steps) - to_whole_steps, x);
}

// Results of `finish`, on its grid, for numbers within `before` of `value` that do not overflow. Rounding is monotone,
// so the roundings of both ends are the ends of the results. If they are equal, the result is known. Without `before`,
// a result with a single rounding is known too: rounding a sum, product, quotient or root of f32 numbers to f64 first
// does not change its rounding to f32. The sign of a zero is known if the interval does not reach beyond 0.
inline Pair OnGrid(const Finish& finish, double value, double before) {
  const double size = std::fabs(value) + before;
  const bool exact = finish.nearest && before == 0;
  const double error = finish.nearest ? 0 : HalfUlp(finish.compute, size * kUp);
  const double slack = exact ? 0 : (before + error + 4 * kOwn * size) * kUp;
  const double begin = value - slack, end = value + slack;
  const double from = finish.nearest ? Nearest(finish.compute, begin) : begin;
  const double to = finish.nearest ? Nearest(finish.compute, end) : end;
  const double low = Nearest(finish.target, from), high = Nearest(finish.target, to);
  const double middle = low == high ? low : low / 2 + high / 2;
  const double bound = std::max(high - middle, middle - low) * kUp;
  // Without branches, so that loops over elements are vectorised.
  const bool has_sign = (begin > 0) | (end < 0) | exact;
  const bool is_open_zero = (middle == 0) & !has_sign;
  return {middle, is_open_zero ? std::max(bound, kTiny) : bound};
}

// Anything between two outcomes, of which it is open which: around their middle, or around what was `picked`.
Pair HullOf(Pair a, Pair b, std::optional<double> picked = {});

// ---- The rules, by family; each takes the values of the operands ---------------------------------------------------

using Operands = std::span<const ShadowValue* const>;

bool IsElementwiseRule(const Instruction& inst);
Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands);

// Of reducers that leave one of their sides as a whole: the value of the best elements, and where there are several,
// all of them as choices. Empty: of another reducer, or more of them than are worth following.
Result<std::optional<ShadowValue>> ReduceByPicking(Context& context, const Instruction& inst, const Computation& body,
                                                   Operands operands);
// Does a reducer leave, in each place of its result, what one of its sides has there?
bool PicksASide(const Computation& body);
// Leaves open what `candidate` has otherwise: its element i stands against element to[i] of `result`.
void OpenTo(const ShadowValue& candidate, std::span<const int64_t> to, ShadowValue& result);
// Elements `at` of x, with these dims; -1: the only element of `other`.
ShadowValue Take(const ShadowValue& x, std::span<const int64_t> at, const std::vector<int64_t>& dims,
                 const ShadowValue* other = nullptr);
// sort and topk: which elements may stand in each place, where bounds or ties leave several. Empty: nothing is open, or
// it is not followed.
Result<std::optional<ShadowValue>> SortByRanks(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Transposed(Context& context, const ShadowValue& x, const std::vector<int64_t>& order);
// The reduced dimensions moved to the end.
Result<ShadowValue> ReducedLast(Context& context, const ShadowValue& x, const std::vector<int64_t>& dimensions);
// Of an elementwise operation of one operand.
Result<std::shared_ptr<const Choices>> ChoicesOfUnary(Context& context, const Instruction& inst, const ShadowValue& x);

// By the formulas of docs/ops.md#batch-normalisation.
Result<ShadowValue> BatchNorm(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Reduce(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ReduceWindow(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> SelectAndScatter(Context& context, const Instruction& inst, Operands operands);
// scan, ragged-dot and scaled-dot of real numbers, which passes expand, in one of two modules that are compared.
bool IsComposite(const Instruction& inst);
Result<ShadowValue> LibraryCall(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Composite(Context& context, const Instruction& inst, Operands operands);
// fft, factorisations and triangular solves, and the calls of LAPACK that are the same.
bool HasMatrixRule(const Instruction& inst);
Result<ShadowValue> OfMatrices(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Scatter(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Dot(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted);
Result<ShadowValue> Convolution(Context& context, const Instruction& inst, Operands operands,
                                const WantedResults* wanted);

// Of one of two modules that are compared: undetermined throughout, or nearly so, but with the interpreter's value, of
// operands rounded to their types. What both modules make of what they were given alike needs no bounds to be equal.
Result<ShadowValue> Interpreted(Context& context, const Instruction& inst, Operands operands);
// Complex numbers: an instruction that computes with some, and its value in one of two modules that are compared, by
// its rule on their parts or by the interpreter. Hands on the parts, as `elements`.
bool IsOfComplex(const Instruction& inst);
Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands);
// The same of a kernel, in the declared types. Nothing: it has the rule of its op.
Result<std::optional<ShadowValue>> OfComplexAsDeclared(Context& context, const Instruction& inst, Operands operands,
                                                       const WantedResults* wanted);
bool HasComplexRule(const Instruction& inst);
// A complex array by its parts; anything else as it is.
ShadowValue SplitComplex(const ShadowValue& x);
// Elements of two arrays in turn, as those of `shape`.
Literal Interleaved(const Literal& real, const Literal& imaginary, const Shape& shape);
// Through the interpreter: exact operands give an exact result; what is not exact or not representable in the declared
// types makes the result undetermined (element by element when `inst` is elementwise).
Result<ShadowValue> ThroughInterpreter(Context& context, const Instruction& inst, Operands operands);
// Do NaNs of `inst` have the bits that an argument or constant has? Which sign and payload arithmetic gives a NaN is
// not laid down.
bool KeepsBitsOfNaN(const Context& context, const Instruction& inst);
// Does `inst` hang on a sum, in its own computation? Which sign its zeros have, another order of terms, or one 0 more
// among them, may change.
bool AddsUpToZero(const Context& context, const Instruction& inst);
// The bits of a NaN as bits, from an instruction that need not keep them: undetermined.
Result<ShadowValue> BitsOf(Context& context, const Instruction& inst, Operands operands);
// Picks and compares but never rounds: the outcome does not depend on the type computed in.
bool NeverRounds(const Computation& computation);
bool AllExact(Operands operands);
// A data movement: the interpreter moves values, bounds and flags.
bool IsMovement(const Instruction& inst);
// How many of the leading operands of a movement are data; the rest are indices.
int64_t DataOperands(const Instruction& inst);
Result<ShadowValue> Move(Context& context, const Instruction& inst, Operands operands);
// Where each result element of a movement comes from in operand `number`: row-major index, or -1.
Result<Literal> SourceOf(const Instruction& inst, int64_t number, Operands operands);
// By update of a scatter: the element of the operand that it lands on, row-major; -1: on none.
std::vector<int64_t> DestinationsOf(const Instruction& scatter, const Literal& indices);

// `computation` (scalars to scalars, through any values) applied at every index of arrays with the given dims.
class Lifted {
 public:
  Lifted(const Computation& computation, const std::vector<int64_t>& dims);
  // Unsupported where an instruction that is evaluated index by index has too many indices.
  Result<ShadowValue> operator()(Context& context, Operands args) const;

 private:
  Result<ShadowValue> AtEachIndex(Context& context, const Instruction& lifted, Operands operands) const;

  std::unique_ptr<Module> module_;
  int64_t indices_ = 1;
  std::unordered_map<const Instruction*, const Instruction*> lifted_from_;
  // The instructions that are evaluated index by index, and which of their operands have a value for each index.
  std::unordered_map<const Instruction*, std::vector<bool>> each_index_;
};

// One instruction, from its operands; `wanted` as above.
Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands,
                                   const WantedResults* wanted);
// Each level is several frames of the stack, and large ones.
inline constexpr int kDeepest = 500;
// What the root needs, operands first; instructions with a given value are needed, their operands are not.
std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root);
// The value of an instruction, from the arguments of its computation; and of a computation.
Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args);
Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args);

// Takes these steps from the meter, if there is one. Error: IsBeyondWork.
Status Spend(const Context& context, const Instruction& at, int64_t steps);

// All undetermined, without a value.
ShadowValue Undetermined(const Shape& shape);
// `value`, all undetermined, with the values that it has.
ShadowValue UndeterminedOf(ShadowValue value);
bool AnyUndetermined(const ShadowValue& x);
// The values without their bounds, as far as there are values.
ShadowValue AsComputed(ShadowValue x);
// What is undetermined in `to` has the values of `from`, if these are some.
void TakeComputed(const ShadowValue& from, ShadowValue& to);
// The same within one value: what is undetermined is marked as computed where it has a value.
void MarkComputed(ShadowValue& value);
// As DropBounds.
void TakeAsExact(ShadowValue& value);
// Drops a bound that is 0 everywhere: exactness spreads through maxima and clamps.
void DropZeroBound(ShadowValue& value);
bool AnyOpen(const ShadowValue& x);
// Of a scalar that control follows: is it not decided, and does control follow the value all the same?
inline bool IsOpen(const ShadowValue& scalar) { return scalar.HasOpen() && scalar.open.GetInt(0) != 0; }
inline bool HasComputed(const Context& context, const ShadowValue& scalar) {
  return context.options.widened && (scalar.open.data<uint8_t>()[0] & kLost) == 0;
}

// How a reducing computation combines: a binary op of its two parameters, in either order.
enum class Combiner { kAdd, kMultiply, kMaximum, kMinimum, kAssign, kOther };
Combiner CombinerOf(const Computation& computation);

// The sum rule: of n terms with magnitudes adding up to M, accumulated in type A over chains of h additions. Each term
// passes at most h roundings, so the relative error of its share is at most (1+u)^h - 1 <= gamma(h,u):
// docs/comparison.md#sums.
struct SumRule {
  double worst = 0;   // gamma, and the shadow's own n roundings.
  double likely = 0;  // 6 sqrt(h) u instead: roundings are as good as independent and centred.
  double each = 0;    // Absolute, for each product that may underflow in A.
  Finish finish;      // Rounding of the sum, when A is wider than the result.
  // Terms are integers without bounds: as long as their magnitudes add up to no more than 2^p, for the p significand
  // bits of A, no order of summation rounds.
  bool integers = false;
  double largest_integer = 0;

  // The bound of a sum from its value, the sum of its terms' bounds and the sum of their magnitudes.
  double Worst(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(worst, bounds, magnitudes));
  }
  double Likely(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(likely, bounds, magnitudes));
  }
  // The same before the sum is rounded.
  double WorstBefore(double bounds, double magnitudes) const { return Before(worst, bounds, magnitudes); }
  double LikelyBefore(double bounds, double magnitudes) const { return Before(likely, bounds, magnitudes); }
  bool HasLikely() const { return likely < worst; }
  // Whether a sum within `bound` of `value` is rounded to the grid of its type and cannot overflow there.
  bool RoundsOnGrid(double value, double bound) const {
    return finish.on_grid && finish.target.relative != 0 && std::fabs(value) + bound < finish.overflow;
  }

 private:
  double Before(double factor, double bounds, double magnitudes) const {
    const bool exact = integers && bounds == 0 && magnitudes <= largest_integer;
    return exact ? 0 : bounds + factor * magnitudes + each;
  }
  double WithTarget(double value, double before) const {
    const double size = (std::fabs(value) + before) * kUp;
    const double target = finish.target.relative == 0 ? 0 : HalfUlp(finish.target, size);
    return (before + target) * kUp;
  }
};
// `products`: each term is a product of operands with these significand bits; 0: terms are values.
SumRule SumRuleOf(const Context& context, const Instruction& inst, int64_t terms, int product_bits = 0);
int SignificandBits(PrimitiveType type);
// All elements are, and have no bounds.
bool AreIntegers(const ShadowValue& value);

// May the sum of finite terms overflow, or not, by their order? `sizes`: their magnitudes together. Either the sum is
// finite and the terms could overflow on the way, or those of the other sign, (sizes - |value|) / 2 together, could
// first reach their own infinity.
inline bool OverflowIsOpen(double value, double worst, double sizes, double overflow) {
  const double size = std::fabs(value);
  return sizes >= overflow && (size - worst < overflow || (sizes - size) / 2 + worst >= overflow);
}

// Overflow of a sum: as the elementwise rules have it.
Pair AfterOverflow(const Finish& finish, double value, double bound);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_RULES_H_
