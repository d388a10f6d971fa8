// Values made of numbers (residue.h), and the rules by which instructions compute them. Private to judge/residue*.cpp.
//
// Movements of data, integers and values in f64 are left to the interpreter (EvaluateAs). A sum of any kind is
// evaluated by it on the limbs of residues, which are integers that do not overflow. So no rule here says which
// elements meet.
//
// Laws of functions, with the rules of passes that need each law:
//   rsqrt(x) = 1 / sqrt(x)             batch norms (B.bnt.1, B.bni.1, B.bng.1); A.div.5, A.rsqrt.2
//   logistic(x) = 1 / (1 + exp(-x))    X.logi.1
//   power(x, n) = x * ... * x          A.pow.1c, and 1 / power(x, -n) (A.div.4)
//   power(x, 1/2) = sqrt(x)            A.pow.3
//   f(0), f(1) as f64 has them         none; f(0) is mostly 0 or 1 and meets constants
// Each other function is a hash of its operands' residues. No rule of a pass that is declared kReassociates needs more:
// sums, products, dots, convolutions, scatters and windows are polynomials. Rules that change precision need more laws,
// so results of a function that only one module computes are open for them (Functions).
#ifndef HLO_JUDGE_RESIDUE_RULES_H_
#define HLO_JUDGE_RESIDUE_RULES_H_

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/residue.h"

namespace hlo::residue {

struct Value {
  Shape shape;  // The declared shape. In the body of a reducer or map, it has the dimensions of all executions.
  // Floats: numbers, as c128. Integers and pred: the elements in the declared type.
  Literal data;
  // For integers and pred: which elements are open, as pred. Empty if none is.
  Literal open;
  std::vector<Value> parts;  // The elements of a tuple, or the two parts of complex numbers.

  bool IsFloat() const { return hlo::IsFloat(shape.type()); }
  bool IsComplex() const { return hlo::IsComplex(shape.type()); }
  std::span<const Number> numbers() const { return data.data<Number>(); }
  bool HasOpen() const { return open.byte_size() != 0; }
  bool IsOpen(int64_t i) const;  // Only for integers and pred.
};
using Operands = std::span<const Value* const>;

// The f64 value by which decisions are taken, and its largest distance from the number.
struct Decider {
  double value;
  double error;

  bool IsExact() const { return error == 0; }
  // Half the width of the interval in which decisions are open.
  double Reach() const;
};

// The modules that computed something.
struct Sides {
  bool in_before = false, in_after = false;

  bool IsBoth() const { return in_before && in_after; }
  void Add(bool of_after) { (of_after ? in_after : in_before) = true; }
};

// The result of an instruction without a rule. Equal operands give equal results in both modules.
struct Opaque {
  Value result;
  Sides sides;
};

// Applications of functions that are hashes. A pass may use a law of a function that residues do not have, for example
// exp(a) * exp(b) = exp(a + b). Then only one of the modules applies the function to a certain number.
struct Functions {
  std::unordered_map<uint64_t, Sides> sides;  // Keys are hashes of the function and its operands.
  bool are_known = false;                     // Both modules have run.
};

// State that the runs of both modules share. If the modules have the same numbers, they decide alike, even if they
// computed the numbers differently. An instruction without a rule gives both the same result.
struct Shared {
  std::unordered_map<uint64_t, Decider> decided;  // The value that was first used for a decision, by residue.
  std::unordered_map<uint64_t, Opaque> opaque;    // By the hash of the operation and its operands.
  // Null if residues have all laws of functions that the passes use.
  std::unique_ptr<Functions> functions;
};

struct Context {
  const InterpretOptions& options;
  Shared& shared;
  bool of_after;  // Whether the module after the passes runs.
  int64_t work;   // Limit on further elements that may be computed.
  std::function<void(const Instruction&, const Value&)> on_value;
  std::function<void(const Instruction& loop, int64_t iteration)> on_iteration;
  int64_t steps = 0, depth = 0;
  bool lacks_law = false;  // Set by ResidueOf.

  Decider DeciderOf(const Number& number);
  // The residue of a function without a law. Notes the application, and sets `lacks_law` if both modules have run and
  // only one of them applies the function to these operands.
  uint64_t ResidueOf(Opcode op, uint64_t x, uint64_t y = 0);
  // Errors: an interruption, and kLimit if the work or the steps of the options are used up.
  Status Spend(const Instruction& inst, int64_t elements);
};

// A decision on an inexact value is open at this relative distance from a tie, even if the error bound is smaller.
inline constexpr double kTie = 0x1p-40;
inline double Decider::Reach() const { return IsExact() ? 0 : error + std::fabs(value) * kTie; }
// Whether both may be values of one number. Numbers of one residue are equal unless one is 2^61 times the other, since
// 2^61 is 1 modulo the prime, and then their values are far apart.
inline bool MayBeEqual(const Decider& a, const Decider& b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return true;
  return !(std::fabs(a.value - b.value) > a.error + b.error);
}
// Whether roundings might change which of the two is larger.
inline bool AreClose(const Decider& a, const Decider& b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value) || (a.IsExact() && b.IsExact())) return false;
  return std::fabs(a.value - b.value) <= a.error + b.error + kTie * std::fmax(std::fabs(a.value), std::fabs(b.value));
}

// ---- Values --------------------------------------------------------------------------------------------------------

Value ToValue(const Literal& literal);
// Uninitialized numbers with the type and dimensions of `shape`.
Value NewNumbers(const Shape& shape);
std::span<Number> MutableNumbers(Value& value);
Value OfExact(Literal literal, Literal open = {});  // A value of integers or pred.
Value TupleOf(const Shape& shape, std::vector<Value> parts);
// Marks all elements as open.
Value Opened(Value value);
bool AnyOpen(const Value& value);
// Whether no leaf has floats.
bool IsExactType(const Shape& shape);
// The f64 values of numbers.
Literal ValuesOf(const Value& value);
// The same elements with other dimensions, in row-major order.
Value WithDims(Value value, const Dims& dims);
// Repeats one element.
Value Splat(const Value& element, const Dims& dims);
// The elements number `at` of an array, as an array of rank 1.
Value Picked(const Value& value, std::span<const int64_t> at);
// Element i of `from` becomes element number at[i].
void Put(const Value& from, std::span<const int64_t> at, Value& to);
// The value as a literal of the declared type. Numbers are rounded from their values.
Literal ToLiteral(const Value& value);
// A hash of the residues, integers and sizes.
uint64_t HashOf(const Value& value);

// ---- Rules ---------------------------------------------------------------------------------------------------------

// The interpreter's result of `inst` for operands of other types or dimensions, where the result has shape `result`.
// `reducer` replaces the called computation by an op on two elements of the result's type, or with kParameter by the
// second element.
Result<Literal> EvaluateAs(const Instruction& inst, std::span<const Literal> operands, const Shape& result,
                           std::optional<Opcode> reducer = {});

bool IsMovement(const Instruction& inst);
Result<Value> Moved(const Instruction& inst, Operands operands);
// `dims`: the dimensions of the operands and the result.
Result<Value> Elementwise(Context& context, const Instruction& inst, Operands operands, const Dims& dims);
Result<Value> Selected(const Value& pred, const Value& on_true, const Value& on_false);

Result<Value> Dot(Context& context, const Instruction& inst, Operands operands);  // Also convolution and ragged-dot.
Result<Value> Reduce(Context& context, const Instruction& inst, Operands operands);
Result<Value> ReduceWindow(Context& context, const Instruction& inst, Operands operands);
Result<Value> Scatter(Context& context, const Instruction& inst, Operands operands);
Result<Value> SelectAndScatter(Context& context, const Instruction& inst, Operands operands);
Result<Value> BatchNorm(Context& context, const Instruction& inst, Operands operands);

// ---- Computations --------------------------------------------------------------------------------------------------

Result<Value> Run(Context& context, const Computation& computation, Operands args);
// Like Run, but without observers.
Result<Value> RunUnseen(Context& context, const Computation& computation, Operands args);
// Evaluates a computation of scalars for all elements of arrays of these dimensions at once.
Result<Value> RunLifted(Context& context, const Computation& computation, Operands args, const Dims& dims);

}  // namespace hlo::residue

#endif  // HLO_JUDGE_RESIDUE_RULES_H_
