// Interface between the files of the shadow: rounding errors, and the rules by op family. Private to interp/shadow.
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
// A bound that marks a value as undetermined. Unlike with kUndetermined, the value beside it is the operation's result
// for its operands' values. The two differ in the payload of the NaN. Masks mark the difference with kComputed. Rules
// may ignore the difference: in a comparison of two modules (`widened`) each rule is evaluated a second time without
// the bounds of its operands.
inline constexpr double kUndeterminedButComputed = std::bit_cast<double>(std::bit_cast<uint64_t>(kUndetermined) | 1);
inline constexpr uint8_t kLost = 1, kComputed = 2;
inline bool IsComputed(double bound) {
  return !std::isnan(bound) || std::bit_cast<uint64_t>(bound) == std::bit_cast<uint64_t>(kUndeterminedButComputed);
}
// Compensates for the f64 roundings of the bounds themselves.
inline constexpr double kUp = 1 + 0x1p-50;
// Relative error of one rounding in the shadow's own f64 arithmetic.
inline constexpr double kOwn = 0x1p-53;
inline constexpr double kTiny = std::numeric_limits<double>::denorm_min();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

inline bool SameNumber(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// The rounding behaviour of a type. A rounding to nearest of a number of at most magnitude x is off by at most half a
// step of x's binade, but this limit is never below `least`. `least` is half the smallest subnormal, or the smallest
// normal if subnormals are flushed.
struct Rounding {
  double relative = 0;  // 2^-p for p significand bits.
  double least = 0;
  double overflow =
      // The largest finite number plus half a step. Numbers from here on round to no finite number.
      std::numeric_limits<double>::infinity();
};
Rounding RoundingTo(PrimitiveType type, bool ftz);
Rounding RoundingTo(int exponent_bits, int mantissa_bits);  // For reduce-precision, which flushes subnormals.
inline constexpr Rounding kNoRounding = {};

// 2^floor(log2 x). Returns 0 for 0 and for subnormal f64 numbers.
inline double Binade(double x) { return std::bit_cast<double>(std::bit_cast<uint64_t>(x) & 0x7FF0'0000'0000'0000); }
inline double HalfUlp(const Rounding& rounding, double magnitude) {
  const double step = Binade(magnitude) * rounding.relative;
  return step < rounding.least ? rounding.least : step;  // std::max takes addresses, which prevents vectorised loops.
}

// The errors that follow a formula: the rounding in the type of the computation, or an error of some ulps, and then the
// rounding to the type that holds the result if that is narrower.
struct Finish {
  Rounding compute;  // For functions `relative` and `least` are multiplied by 2 * ulps.
  Rounding target;
  PrimitiveType held = PrimitiveType::kF64;
  double overflow = std::numeric_limits<double>::infinity();
  bool nearest = false;    // The exact result is rounded once. A representable result has no error.
  bool is_output = false;  // The result is an output of the kernel. Its overflow is judged by the comparison.
  // The result may be kept in a wider type or fused into an fma, so that it does not overflow.
  bool may_stay_wide = false;
  bool has_infinity = true;  // An overflow gives infinity.
  // The value is computed from the operands' values and is not the middle of the possible results.
  bool as_computed = false;
  // Every implementation rounds the result to `target`, or to `compute` if there is no target. See OnGrid.
  bool on_grid = false;
};

// One byte for each element.
using Mask = std::vector<uint8_t>;

class Loop;

struct Context {
  const ShadowOptions& options;
  const Computation* top = nullptr;
  bool heuristic = false;
  int depth = 0;                                                        // Depth of nested calls.
  std::unordered_map<const Instruction*, std::shared_ptr<Loop>> loops;  // Planned loops by while instruction.
  // Evaluates an instruction instead of its rule. If it returns nullopt, the rule is used. May be null.
  std::function<Result<std::optional<ShadowValue>>(const Instruction&, std::span<const ShadowValue* const>)> instead;

  const InstructionPlan* PlanOf(const Instruction& inst) const {
    return options.plan ? options.plan->Find(inst.id()) : nullptr;
  }
  bool ftz() const { return options.plan && options.plan->ftz; }
  const WantedResults* WantedOf(const Instruction& inst) const;  // Null: all results are wanted.
  bool IsOutput(const Instruction& inst) const;
  // Held: the type that the float result of `inst` is rounded to. Computed: the type it is computed in before that.
  PrimitiveType Held(const Instruction& inst) const;
  PrimitiveType Computed(const Instruction& inst) const;
  Finish FinishOf(const Instruction& inst, double ulps) const;
};

// Buffers of f64 with the dims of `shape`.
Literal NewBuffer(const Shape& shape);
Literal Zeros(const Shape& shape);
// Reads and writes element i of a float literal as f64. A NaN keeps its sign and payload. The processor's conversions
// would turn signalling NaNs into quiet ones, which changes their place in the total order.
double WideElement(const Literal& literal, int64_t i);
void SetWideElement(Literal& literal, int64_t i, double x);
inline const double* Values(const Literal& literal) { return literal.data<double>().data(); }
inline const double* BoundsOrNull(const Literal& literal) {
  return literal.byte_size() ? literal.data<double>().data() : nullptr;
}

// One element with its bound, for rules that are not vectorised.
struct Pair {
  double value;
  double bound;
};

// The number of the type that is nearest to x, ties to even. |x| must be below the overflow threshold of the type, and
// the type must not be f64. The sum has 52 bits, and at most 25 of them are kept.
inline double Nearest(const Rounding& to, double x) {
  const double to_whole_steps = 0x1.8p52 * (2 * HalfUlp(to, std::fabs(x)));
  return std::copysign((x + to_whole_steps) - to_whole_steps, x);
}

// The result after `finish` of a number within `before` of `value`, on the grid of the type. The number must not
// overflow. Rounding is monotone, so the result is between the rounded ends of the interval. If these are equal, the
// result is determined. It is also determined if `before` is 0 and there is a single rounding: rounding a sum, product,
// quotient or root of f32 numbers to f64 first does not change its rounding to f32. The sign of a zero is determined if
// the interval does not contain 0.
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
  // Has no branches, so that loops over elements are vectorised.
  const bool has_sign = (begin > 0) | (end < 0) | exact;
  const bool is_open_zero = (middle == 0) & !has_sign;
  return {middle, is_open_zero ? std::max(bound, kTiny) : bound};
}

// An interval that contains both outcomes. Its value is `picked`, or the middle if `picked` is empty.
Pair HullOf(Pair a, Pair b, std::optional<double> picked = {});

// ---- Rules by op family ---------------------------------------------------------------------------------------------
// Each rule takes the values of the operands.

using Operands = std::span<const ShadowValue* const>;

bool IsElementwiseRule(const Instruction& inst);
Result<ShadowValue> Elementwise(Context& context, const Instruction& inst, Operands operands);

// For reducers that return one of their two sides unchanged: the value of the best element. If several elements may be
// best, all of them become choices. Returns nullopt for other reducers, or if too many elements may be best.
Result<std::optional<ShadowValue>> ReduceByPicking(Context& context, const Instruction& inst, const Computation& body,
                                                   Operands operands);
// Whether each result of the reducer is an element of one of its two sides, unchanged.
bool PicksASide(const Computation& body);
// Widens `result` so that its elements to[i] also permit the elements i of `candidate`.
void OpenTo(const ShadowValue& candidate, std::span<const int64_t> to, ShadowValue& result);
// The elements `at` of x as an array with dimensions `dims`. Index -1 selects the only element of `other`.
ShadowValue Take(const ShadowValue& x, std::span<const int64_t> at, const std::vector<int64_t>& dims,
                 const ShadowValue* other = nullptr);
// The rule of sort and topk: the elements that may take each position if bounds or ties permit several orders. Returns
// nullopt if the order is determined, or if the instruction is not supported here.
Result<std::optional<ShadowValue>> SortByRanks(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Transposed(Context& context, const ShadowValue& x, const std::vector<int64_t>& order);
// x with the reduced dimensions moved to the end.
Result<ShadowValue> ReducedLast(Context& context, const ShadowValue& x, const std::vector<int64_t>& dimensions);
// The choices of an elementwise operation with one operand.
Result<std::shared_ptr<const Choices>> ChoicesOfUnary(Context& context, const Instruction& inst, const ShadowValue& x);

// Formulas: docs/ops.md#batch-normalisation.
Result<ShadowValue> BatchNorm(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Reduce(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> ReduceWindow(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> SelectAndScatter(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction is a scan, ragged-dot or scaled-dot of real numbers, which passes expand. These have a rule
// for the comparison of two modules.
bool IsComposite(const Instruction& inst);
Result<ShadowValue> LibraryCall(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Composite(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction is an fft, a factorisation, a triangular solve, or an equivalent LAPACK call.
bool HasMatrixRule(const Instruction& inst);
Result<ShadowValue> OfMatrices(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Scatter(Context& context, const Instruction& inst, Operands operands);
Result<ShadowValue> Dot(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted);
Result<ShadowValue> Convolution(Context& context, const Instruction& inst, Operands operands,
                                const WantedResults* wanted);

// The interpreter's value of an instruction of two compared modules, from operands rounded to their types. The result
// is marked as undetermined, at least in nearly all elements. If both modules compute it from the same values, their
// results can still be compared by bits.
Result<ShadowValue> Interpreted(Context& context, const Instruction& inst, Operands operands);
// Whether the instruction computes with complex numbers. OfComplex is its value in a comparison of two modules, by a
// rule for the real and imaginary parts or by the interpreter. It returns the parts as `elements`.
bool IsOfComplex(const Instruction& inst);
Result<ShadowValue> OfComplex(Context& context, const Instruction& inst, Operands operands);
// The value of a complex instruction in a kernel, in the declared types. Returns nullopt if the rule of its op applies.
Result<std::optional<ShadowValue>> OfComplexAsDeclared(Context& context, const Instruction& inst, Operands operands,
                                                       const WantedResults* wanted);
bool HasComplexRule(const Instruction& inst);
// A complex array as two arrays, its parts. Other values are returned unchanged.
ShadowValue SplitComplex(const ShadowValue& x);
// The elements of two arrays alternately, as the elements of `shape`.
Literal Interleaved(const Literal& real, const Literal& imaginary, const Shape& shape);
// Evaluates through the interpreter. Exact operands give an exact result. Operands that are not exact, or not
// representable in the declared types, make the result undetermined. For elementwise instructions this holds for each
// element separately.
Result<ShadowValue> ThroughInterpreter(Context& context, const Instruction& inst, Operands operands);
// Whether NaNs of `inst` have the bits of an argument or constant. The sign and payload of a NaN that arithmetic
// creates are not specified.
bool KeepsBitsOfNaN(const Context& context, const Instruction& inst);
// Whether `inst` depends on a sum in its own computation. Another order of terms, or an additional zero term, may
// change the sign of a zero sum.
bool AddsUpToZero(const Context& context, const Instruction& inst);
// Marks the bits of NaNs as undetermined if they come from an instruction that need not preserve them.
Result<ShadowValue> BitsOf(Context& context, const Instruction& inst, Operands operands);
// Whether the computation only selects and compares. Then its result does not depend on the type of the computation.
bool NeverRounds(const Computation& computation);
bool AllExact(Operands operands);
// Whether the instruction moves data only. The interpreter then moves values, bounds and flags.
bool IsMovement(const Instruction& inst);
// Number of leading operands of a movement that are data. The others are indices.
int64_t DataOperands(const Instruction& inst);
Result<ShadowValue> Move(Context& context, const Instruction& inst, Operands operands);
// For each result element of a movement, the row-major index of its source in operand `number`, or -1.
Result<Literal> SourceOf(const Instruction& inst, int64_t number, Operands operands);
// For each element of the updates, the row-major index of the operand element that it is combined with, or -1.
std::vector<int64_t> DestinationsOf(const Instruction& scatter, const Literal& indices);

// Applies `computation`, from scalars to scalars, at every index of arrays with the given dimensions.
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
  // Instructions that are evaluated index by index. The flags tell which operands have a value for each index.
  std::unordered_map<const Instruction*, std::vector<bool>> each_index_;
};

// Evaluates one instruction from its operands. `wanted` is as in Context::WantedOf.
Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands,
                                   const WantedResults* wanted);
// Limit on nested calls. Each level needs several large stack frames.
inline constexpr int kDeepest = 500;
// The instructions that the root needs, operands first. Instructions with a given value are included, but not their
// operands.
std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root);
// Evaluates an instruction, or the root of a computation, from the arguments of the computation.
Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args);
Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args);

// Subtracts the steps from the meter, if there is one. Returns an error for which IsBeyondWork holds when the meter is
// empty.
Status Spend(const Context& context, const Instruction& at, int64_t steps);

// A value whose elements are all undetermined and meaningless.
ShadowValue Undetermined(const Shape& shape);
// `value` with all elements marked as undetermined.
ShadowValue UndeterminedOf(ShadowValue value);
bool AnyUndetermined(const ShadowValue& x);
// The values without bounds. Elements without a meaningful value stay undetermined.
ShadowValue AsComputed(ShadowValue x);
// Replaces undetermined elements of `to` by the values of `from` where these are meaningful.
void TakeComputed(const ShadowValue& from, ShadowValue& to);
// Marks undetermined elements that have a meaningful value as computed.
void MarkComputed(ShadowValue& value);
// Removes all bounds, as DropBounds does.
void TakeAsExact(ShadowValue& value);
// Removes a bound that is 0 everywhere, because exact operands make maxima and clamps exact.
void DropZeroBound(ShadowValue& value);
bool AnyOpen(const ShadowValue& x);
// IsOpen: whether a scalar that determines control flow is undetermined. HasComputed: whether control flow may follow
// its value nevertheless.
inline bool IsOpen(const ShadowValue& scalar) { return scalar.HasOpen() && scalar.open.GetInt(0) != 0; }
inline bool HasComputed(const Context& context, const ShadowValue& scalar) {
  return context.options.widened && (scalar.open.data<uint8_t>()[0] & kLost) == 0;
}

// The operation of a reducer: a binary op of its two parameters, in either order.
enum class Combiner { kAdd, kMultiply, kMaximum, kMinimum, kAssign, kOther };
Combiner CombinerOf(const Computation& computation);

// The error of a sum of n terms whose magnitudes add up to M. It is accumulated in type A over chains of h additions.
// Each term passes at most h roundings, so the relative error of its share is at most (1+u)^h - 1 <= gamma(h,u)
// (docs/comparison.md#sums).
struct SumRule {
  double worst = 0;   // gamma, plus n roundings of the shadow's own sum.
  double likely = 0;  // 6 sqrt(h) u in place of gamma, since roundings are nearly independent and centred.
  double each = 0;    // Absolute error for each product that may underflow in A.
  Finish finish;      // The rounding of the sum to the result, if A is wider.
  // The terms are integers without bounds. If their magnitudes add up to at most 2^p, where A has p significand bits,
  // no order of summation rounds.
  bool integers = false;
  double largest_integer = 0;

  // The bound of a sum from its value, the sum of the terms' bounds and the sum of their magnitudes.
  double Worst(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(worst, bounds, magnitudes));
  }
  double Likely(double value, double bounds, double magnitudes) const {
    return WithTarget(value, Before(likely, bounds, magnitudes));
  }
  // The bound before the sum is rounded to the result.
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
// `product_bits`: each term is a product of operands with so many significand bits. 0: the terms are values.
SumRule SumRuleOf(const Context& context, const Instruction& inst, int64_t terms, int product_bits = 0);
int SignificandBits(PrimitiveType type);
// Whether all elements are integers without bounds.
bool AreIntegers(const ShadowValue& value);

// Whether the order of finite terms decides if their sum overflows. `sizes` is the sum of their magnitudes. There are
// two cases. The sum is finite, but a partial sum could overflow. Or the terms of the opposite sign, whose magnitudes
// add up to (sizes - |value|) / 2, could reach their own infinity first.
inline bool OverflowIsOpen(double value, double worst, double sizes, double overflow) {
  const double size = std::fabs(value);
  return sizes >= overflow && (size - worst < overflow || (sizes - size) / 2 + worst >= overflow);
}

// Applies the overflow rules of elementwise instructions to a sum.
Pair AfterOverflow(const Finish& finish, double value, double bound);

}  // namespace hlo::shadow

#endif  // HLO_INTERP_SHADOW_RULES_H_
