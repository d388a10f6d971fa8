// Interface between the files of the shadow, and for comparisons.
#ifndef HLO_JUDGE_BOUNDS_RULES_H_
#define HLO_JUDGE_BOUNDS_RULES_H_

#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>

#include "ir/module.h"
#include "judge/bounds/shadow.h"

namespace hlo::shadow {

inline constexpr double kUndetermined = std::numeric_limits<double>::quiet_NaN();
// Bound of an undetermined element that was computed from operands: kUndetermined with another payload. Rules may
// ignore the difference, because `widened` evaluates each rule a second time without bounds.
inline constexpr double kUndeterminedButComputed = std::bit_cast<double>(std::bit_cast<uint64_t>(kUndetermined) | 1);
// Flags of a Mask: the element has no meaningful value, or it is undetermined but computed.
inline constexpr uint8_t kLost = 1, kComputed = 2;
inline bool IsComputed(double bound) {
  return !std::isnan(bound) || std::bit_cast<uint64_t>(bound) == std::bit_cast<uint64_t>(kUndeterminedButComputed);
}
// Compensates for f64 roundings of bounds.
inline constexpr double kUp = 1 + 0x1p-50;
// Relative error of one rounding in the shadow's own f64 arithmetic.
inline constexpr double kOwn = 0x1p-53;
inline constexpr double kTiny = std::numeric_limits<double>::denorm_min();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// A rounding to nearest of magnitudes up to x is off by at most half a step of x's binade, or `least`. `least` is half
// the smallest subnormal, or the smallest normal if subnormals are flushed.
struct Rounding {
  double relative = 0;  // 2^-p for p significand bits.
  double least = 0;
  double overflow =
      // The largest finite number plus half a step.
      std::numeric_limits<double>::infinity();
};
Rounding RoundingTo(PrimitiveType type, bool ftz);
Rounding RoundingTo(int exponent_bits, int mantissa_bits);  // For reduce-precision, which flushes subnormals.
// Whether a conversion from `narrow` to `wide` rounds nothing.
bool Includes(PrimitiveType wide, PrimitiveType narrow);
inline constexpr Rounding kNoRounding = {};

inline double Binade(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7FF0'0000'0000'0000); }
inline double HalfUlp(const Rounding& rounding, double magnitude) {
  const double step = Binade(magnitude) * rounding.relative;
  return step < rounding.least ? rounding.least : step;  // std::max prevents vectorised loops.
}

// Errors that are added to a formula's result: the rounding in the computation's type, or some ulps, and the rounding
// to a narrower type that holds the result.
struct Finish {
  Rounding compute;  // For functions, `relative` and `least` are multiplied by 2 * ulps.
  Rounding target;
  PrimitiveType held = PrimitiveType::kF64;
  double overflow = std::numeric_limits<double>::infinity();
  bool nearest = false;    // The exact result is rounded once.
  bool is_output = false;  // An output of the kernel, whose overflow the comparison judges.
  // The result may stay in a wider type or an fma, so that it does not overflow.
  bool may_stay_wide = false;
  bool has_infinity = true;
  // Values are computed from the operands' values, and are not the middle of the possible results.
  bool as_computed = false;
  // Every implementation rounds the result to `target`, or to `compute` without a target. See OnGrid.
  bool on_grid = false;
};

using Mask = std::vector<uint8_t>;

class Loop;

struct Context {
  const ShadowOptions& options;
  const Computation* top = nullptr;
  bool heuristic = false;
  int depth = 0;
  std::unordered_map<const Instruction*, std::shared_ptr<Loop>> loops;
  // Replaces the rule of an instruction unless it returns nullopt. May be null.
  std::function<Result<std::optional<ShadowValue>>(const Instruction&, std::span<const ShadowValue* const>)> instead;

  const InstructionPlan* PlanOf(const Instruction& inst) const {
    return options.plan ? options.plan->Find(inst.id()) : nullptr;
  }
  bool ftz() const { return options.plan && options.plan->ftz; }
  const WantedResults* WantedOf(const Instruction& inst) const;  // Null if all results are wanted.
  bool IsOutput(const Instruction& inst) const;
  // Held: the type to which the float result is rounded. Computed: its type before that.
  PrimitiveType Held(const Instruction& inst) const;
  PrimitiveType Computed(const Instruction& inst) const;
  Finish FinishOf(const Instruction& inst, double ulps) const;
};

Literal NewBuffer(const Shape& shape);
Literal Zeros(const Shape& shape);
// NaNs keep sign and payload. The processor would make signalling NaNs quiet, which changes their place in the total
// order.
double WideElement(const Literal& literal, int64_t i);
void SetWideElement(Literal& literal, int64_t i, double x);
inline const double* Values(const Literal& literal) { return literal.data<double>().data(); }
inline const double* BoundsOrNull(const Literal& literal) {
  return literal.byte_size() ? literal.data<double>().data() : nullptr;
}

struct Pair {
  double value;
  double bound;
};

// |x| must be below the overflow threshold, and the type must not be f64: the sum has 52 bits, and at most 25 are kept.
inline double Nearest(const Rounding& to, double x) {
  const double to_whole_steps = 0x1.8p52 * (2 * HalfUlp(to, std::fabs(x)));
  return std::copysign((x + to_whole_steps) - to_whole_steps, x);
}

// The result after `finish` of a number within `before` of `value`, on the grid of the type. It must not overflow.
// Rounding is monotone, so the result is between the rounded ends. Equal ends determine it. A single rounding with
// `before` = 0 determines it too: rounding a sum, product, quotient or root of f32 numbers to f64 first does not change
// its rounding to f32. The sign of a zero is determined if the interval does not contain 0.
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
  // Without branches, for vectorised loops.
  const bool has_sign = (begin > 0) | (end < 0) | exact;
  const bool is_open_zero = (middle == 0) & !has_sign;
  return {middle, is_open_zero ? std::max(bound, kTiny) : bound};
}

// An interval that contains both outcomes, around `picked` or by default around its middle.
Pair HullOf(Pair a, Pair b, std::optional<double> picked = {});

// ---- Rules by op family ---------------------------------------------------------------------------------------------

using Operands = std::span<const ShadowValue* const>;

bool IsElementwiseRule(const Instruction& inst);
Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands);

// If PicksASide holds for the reducer, the best element, with all elements that may be best as choices. Nullopt for
// other reducers or too many choices.
Result<std::optional<ShadowValue>> ReduceByPicking(Context& context, const Instruction& inst, const Computation& body,
                                                   Operands operands);
// Whether each result is an unchanged element of one side, that is, one of the two elements that the reducer combines.
bool PicksASide(const Computation& body);
// Widens elements to[i] of `result` to permit elements i of `candidate`.
void OpenTo(const ShadowValue& candidate, std::span<const int64_t> to, ShadowValue& result);
// Elements `at` of x with dimensions `dims`. Index -1 selects the only element of `other`.
ShadowValue Take(const ShadowValue& x, std::span<const int64_t> at, const std::vector<int64_t>& dims,
                 const ShadowValue* other = nullptr);
// The elements that may take each position of a sort or topk. Nullopt if the order is determined or the instruction is
// not supported.
Result<std::optional<ShadowValue>> SortByRanks(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Transposed(Context& context, const ShadowValue& x, const std::vector<int64_t>& order);
// Moves the reduced dimensions to the end.
Result<ShadowValue> ReducedLast(Context& context, const ShadowValue& x, const std::vector<int64_t>& dimensions);
Result<std::shared_ptr<const Choices>> ChoicesOfUnary(Context& context, const Instruction& inst, const ShadowValue& x);

Result<ShadowValue> BatchNorm(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Reduce(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ReduceWindow(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> SelectAndScatter(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction is a scan, ragged-dot or scaled-dot of real numbers, which passes expand.
bool IsComposite(const Instruction& inst);
Result<ShadowValue> LibraryCall(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Composite(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction is an fft, factorisation, triangular solve, or an equivalent LAPACK call.
bool HasMatrixRule(const Instruction& inst);
Result<ShadowValue> OfMatrices(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Scatter(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Dot(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted);
Result<ShadowValue> Convolution(Context& context, const Instruction& inst, Operands operands,
                                const WantedResults* wanted);

// The interpreter's value from rounded operands, for two compared modules. It is exact for exact operands if passes
// keep the op, or rewrite it to ops with bounds. Otherwise equal bits in both modules make it right, unless an operand
// has no meaningful value.
Result<ShadowValue> Interpreted(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction computes with complex numbers. OfComplex is its value for two modules, with the parts as
// `elements`.
bool IsOfComplex(const Instruction& inst);
Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands);
// The value in a kernel, in declared types. Nullopt if the general rules apply.
Result<std::optional<ShadowValue>> OfComplexAsDeclared(Context& context, const Instruction& inst, Operands operands,
                                                       const WantedResults* wanted);
bool HasComplexRule(const Instruction& inst);
// Splits complex arrays into parts. Other values are unchanged.
ShadowValue SplitComplex(const ShadowValue& x);
Literal Interleaved(const Literal& real, const Literal& imaginary, const Shape& shape);
// Exact operands give an exact result. An inexact element makes the whole result undetermined, or in elementwise
// instructions the same element.
Result<ShadowValue> ThroughInterpreter(Context& context, const Instruction& inst, Operands operands);
// Whether NaNs of `inst` have the bits of an argument or constant, and not of arithmetic.
bool KeepsBitsOfNaN(const Context& context, const Instruction& inst);
// Whether `inst` depends on a sum in its computation. Another order or an additional zero term may change the sign of a
// zero sum.
bool AddsUpToZero(const Context& context, const Instruction& inst);
// The result of an instruction that reads bits. It is undetermined for NaNs whose bits need not be preserved.
Result<ShadowValue> BitsOf(Context& context, const Instruction& inst, Operands operands);
bool NeverRounds(const Computation& computation);
bool AllExact(Operands operands);
bool IsExactType(const Shape& shape);
Result<ShadowValue> Move(Context& context, const Instruction& inst, Operands operands);
// For each result element, the row-major index of its source in operand `number`, or -1.
Result<Literal> SourceOf(const Instruction& inst, int64_t number, Operands operands);
// For each element of the updates, the row-major index of the changed operand element, or -1.
std::vector<int64_t> DestinationsOf(const Instruction& scatter, const Literal& indices);

// Applies `computation`, from scalars to scalars, at every index of arrays.
class Lifted {
 public:
  Lifted(const Computation& computation, const std::vector<int64_t>& dims);
  // Error kUnsupported: an instruction that is evaluated index by index has too many indices.
  Result<ShadowValue> operator()(Context& context, Operands args) const;

 private:
  Result<ShadowValue> AtEachIndex(Context& context, const Instruction& lifted, Operands operands) const;

  std::unique_ptr<Module> module_;
  int64_t indices_ = 1;
  std::unordered_map<const Instruction*, const Instruction*> lifted_from_;
  std::unordered_map<const Instruction*, std::vector<bool>> each_index_;
};

Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands,
                                   const WantedResults* wanted);
// Limit on nested calls. Each needs several large stack frames.
inline constexpr int kDeepest = 500;
// Instructions that the root needs, operands first, without operands of given values.
std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root);
Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args);
Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args);

// Returns an error (IsBeyondWork) when the meter is empty.
Status Spend(const Context& context, const Instruction& at, int64_t steps);

// A value whose elements are undetermined and meaningless.
ShadowValue Undetermined(const Shape& shape);
ShadowValue UndeterminedOf(ShadowValue value);
bool AnyUndetermined(const ShadowValue& x);
// Drops bounds. Meaningless elements stay undetermined.
ShadowValue AsComputed(ShadowValue x);
// Replaces undetermined elements of `to` by meaningful elements of `from`.
void TakeComputed(const ShadowValue& from, ShadowValue& to);
// Marks undetermined but meaningful elements as computed.
void MarkComputed(ShadowValue& value);
void TakeAsExact(ShadowValue& value);
// Removes a bound that is 0 everywhere, as after maxima and clamps of exact operands.
void DropZeroBound(ShadowValue& value);
bool AnyOpen(const ShadowValue& x);
// IsOpen: the scalar, which decides control flow, is undetermined. HasComputed: control flow may follow its value
// nevertheless.
inline bool IsOpen(const ShadowValue& scalar) { return scalar.HasOpen() && scalar.open.GetInt(0) != 0; }
inline bool HasComputed(const Context& context, const ShadowValue& scalar) {
  return context.options.widened && (scalar.open.data<uint8_t>()[0] & kLost) == 0;
}

// The action of a reducer: a binary op in either order, kAssign if it returns the second parameter, otherwise kOther.
enum class Combiner { kAdd, kMultiply, kMaximum, kMinimum, kAssign, kOther };
Combiner CombinerOf(const Computation& computation);

// The error of a sum of n terms whose magnitudes add up to M, in type A, over chains of h additions. Each term passes
// at most h roundings, so its relative error is at most (1+u)^h - 1 <= gamma(h,u) (docs/comparison.md#sums).
struct SumRule {
  double worst = 0;   // gamma, plus n roundings of the shadow's own sum.
  double likely = 0;  // 6 sqrt(h) u in place of gamma, since roundings are nearly independent and centred.
  double each = 0;    // Absolute error for products that may underflow in A.
  Finish finish;
  // The terms are integers without bounds. Magnitudes that add up to at most 2^p, where A has p significand bits, are
  // not rounded in any order.
  bool integers = false;
  double largest_integer = 0;

  double Worst(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(worst, bounds, magnitudes));
  }
  double Likely(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(likely, bounds, magnitudes));
  }
  double WorstBefore(double bounds, double magnitudes) const { return Before(worst, bounds, magnitudes); }
  double LikelyBefore(double bounds, double magnitudes) const { return Before(likely, bounds, magnitudes); }
  bool HasLikely() const { return likely < worst; }
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
// `product_bits` counts the significand bits of both factors. It is 0 if the terms are not products.
SumRule SumRuleOf(const Context& context, const Instruction& inst, int64_t terms, int product_bits = 0);
int SignificandBits(PrimitiveType type);
bool AreIntegers(const ShadowValue& value);

// Whether the order of finite terms decides if their sum overflows: a partial sum may overflow although the whole sum
// does not, or terms of the opposite sign, whose magnitudes add up to (sizes - |value|) / 2, may overflow first.
inline bool OverflowIsOpen(double value, double worst, double sizes, double overflow) {
  const double size = std::fabs(value);
  return sizes >= overflow && (size - worst < overflow || (sizes - size) / 2 + worst >= overflow);
}

Pair AfterOverflow(const Finish& finish, double value, double bound);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_RULES_H_
