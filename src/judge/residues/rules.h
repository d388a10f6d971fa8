// Values made of numbers (residue.h), and their rules. Private to judge/residue*.cpp.
//
// The interpreter evaluates movements, integers, values in f64, and sums of residues (EvaluateAs). It adds limbs, which
// are groups of a residue's bits, so that sums do not overflow.
//
// Laws of functions, with the rules of passes that need each law:
//   rsqrt(x) = 1 / sqrt(x)             batch norms (B.bnt.1, B.bni.1, B.bng.1); A.div.5, A.rsqrt.2
//   logistic(x) = 1 / (1 + exp(-x))    X.logi.1
//   power(x, n) = x * ... * x          A.pow.1c, and 1 / power(x, -n) (A.div.4)
//   power(x, 1/2) = sqrt(x)            A.pow.3
//   f(0), f(1) as f64 has them         none. f(0) is mostly 0 or 1, which are also constants of programs
// The residues of other functions are hashes. A pass that may use other laws makes results open that only one module
// computes (Functions).
#ifndef HLO_JUDGE_RESIDUES_RULES_H_
#define HLO_JUDGE_RESIDUES_RULES_H_

#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/bounds/rules.h"
#include "judge/residues/residue.h"

namespace hlo::residue {

using shadow::IsExactType;

struct Value {
  Shape shape;  // The declared shape. In a reducer or map: one element for each execution.
  // Numbers as c128, or integers and pred in the declared type.
  Literal data;
  // Marks open elements of integers and pred. Empty if none is open.
  Literal open;
  std::vector<Value> parts;  // Elements of a tuple, or parts of complex numbers.

  bool IsFloat() const { return hlo::IsFloat(shape.type()); }
  bool IsComplex() const { return hlo::IsComplex(shape.type()); }
  std::span<const Number> numbers() const { return data.data<Number>(); }
  bool HasOpen() const { return open.byte_size() != 0; }
  bool IsOpen(int64_t i) const;  // Only for integers and pred.
};
using Operands = std::span<const Value* const>;

// The f64 value that decides for a number, and its largest distance from the number.
struct Decider {
  double value;
  double error;

  bool IsExact() const { return error == 0; }
  // A decision is open if a tie is within this distance of the value.
  double Reach() const;
};

struct Sides {
  bool in_before = false, in_after = false;

  bool IsBoth() const { return in_before && in_after; }
  void Add(bool of_after) { (of_after ? in_after : in_before) = true; }
};

// The result of an instruction without a rule, shared by both modules.
struct Opaque {
  Value result;
  Sides sides;
};

// Applications of hashed functions. If a pass used another law, such as exp(a) * exp(b) = exp(a + b), only one module
// applies the function to some number.
struct Functions {
  std::unordered_map<uint64_t, Sides> sides;  // Key: hash of function and operands.
  bool are_known = false;                     // Both modules have run.
};

// State that both runs share, so that they decide alike about equal numbers.
struct Shared {
  std::unordered_map<uint64_t, Decider> decided;  // The first deciding value of each residue.
  std::unordered_map<uint64_t, Opaque> opaque;    // Key: hash of operation and operands.
  // Null if residues have all laws that the passes use.
  std::unique_ptr<Functions> functions;
};

struct Context {
  const InterpretOptions& options;
  Shared& shared;
  bool of_after;
  int64_t work;
  std::function<void(const Instruction&, const Value&)> on_value;
  std::function<void(const Instruction& loop, int64_t iteration)> on_iteration;
  int64_t steps = 0, depth = 0;
  bool lacks_law = false;

  // Equal numbers get equal deciders in both modules, if their values allow it.
  Decider DeciderOf(const Number& number);
  // The residue of a function without a law above: a hash. Once both modules have been evaluated, sets `lacks_law` if
  // only one of them applies the function to these operands.
  uint64_t ResidueOf(Opcode op, uint64_t x, uint64_t y = 0);
  // Counts work. Errors: interruption, and kLimit above ResiduesOptions::work_limit.
  Status Spend(const Instruction& inst, int64_t elements);
};

// Decisions on inexact values within this relative distance of a tie are open, whatever their error bound.
inline constexpr double kTie = 0x1p-40;
inline double Decider::Reach() const { return IsExact() ? 0 : error + std::fabs(value) * kTie; }
// Whether two numbers with equal residues may be equal. A factor of 2^61 keeps the residue, but not the value.
inline bool MayBeEqual(const Decider& a, const Decider& b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value)) return true;
  return !(std::fabs(a.value - b.value) > a.error + b.error);
}
inline bool AreClose(const Decider& a, const Decider& b) {
  if (!std::isfinite(a.value) || !std::isfinite(b.value) || (a.IsExact() && b.IsExact())) return false;
  return std::fabs(a.value - b.value) <= a.error + b.error + kTie * std::fmax(std::fabs(a.value), std::fabs(b.value));
}

// ---- Values --------------------------------------------------------------------------------------------------------

Value ToValue(const Literal& literal);
// Uninitialized numbers.
Value NewNumbers(const Shape& shape);
std::span<Number> MutableNumbers(Value& value);
Value OfExact(Literal literal, Literal open = {});  // Integers or pred.
Value TupleOf(const Shape& shape, std::vector<Value> parts);
Value Opened(Value value);
bool AnyOpen(const Value& value);
Literal ValuesOf(const Value& value);
// A reshape, which keeps the row-major order.
Value WithDims(Value value, const Dims& dims);
Value Splat(const Value& element, const Dims& dims);
// The elements at the row-major indices `at`, as an array of rank 1.
Value Picked(const Value& value, std::span<const int64_t> at);
// Element i of `from` becomes element at[i].
void Put(const Value& from, std::span<const int64_t> at, Value& to);
Literal ToLiteral(const Value& value);
uint64_t HashOf(const Value& value);

// ---- Rules ---------------------------------------------------------------------------------------------------------

// Interprets `inst` with the shape `result`, on operands of other types or dimensions. `reducer` replaces the called
// computation. With kParameter, it returns its second parameter.
Result<Literal> EvaluateAs(const Instruction& inst, std::span<const Literal> operands, const Shape& result,
                           std::optional<Opcode> reducer = {});

Result<Value> Moved(const Instruction& inst, Operands operands);
// `dims` are the dimensions of operands and result.
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
// Like Run, but does not call the observers.
Result<Value> RunUnseen(Context& context, const Computation& computation, Operands args);
// Evaluates a computation of scalars for all elements of arrays at once.
Result<Value> RunLifted(Context& context, const Computation& computation, Operands args, const Dims& dims);

}  // namespace hlo::residue

#endif  // HLO_JUDGE_RESIDUES_RULES_H_
