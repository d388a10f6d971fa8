// A custom call of a library written down as the plain HLO that it stands for, and that is evaluated: f32 inside (f64
// for f64, the complex type for complex, s32 for products of integers), one rounding at the end.
#ifndef HLO_INTERP_CALLS_MEANING_H_
#define HLO_INTERP_CALLS_MEANING_H_

#include <array>
#include <complex>
#include <span>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "interp/custom_call.h"
#include "ir/module.h"

namespace hlo {

// The configuration of a call: proto-JSON, where absent fields are zero or empty.
Result<JsonValue> ConfigOf(const Instruction& inst, std::string_view key);
double NumberOf(const JsonValue& value);
std::vector<int64_t> IntsOf(const JsonValue& value);

// What the call computes in, of a result of `type`.
PrimitiveType WideTypeOf(PrimitiveType type);
// The shape of the main result; what follows it in a tuple is the caller's matter.
const Shape& MainShape(const Instruction& inst);
Error WrongOperands(const Evaluation& e);

// A call as a computation over its operands.
class Meaning {
 public:
  explicit Meaning(Evaluation& e) : e_(e), module_("custom_call"), entry_(module_.AddComputation("call")) {
    module_.SetEntry(entry_);
    for (const Literal& operand : e.operands)
      operands_.push_back(&entry_.AddParameter(static_cast<int64_t>(operands_.size()), operand.shape()));
  }

  Instruction* operand(int64_t i) const { return operands_[i]; }
  Computation& AddComputation(std::string_view name) { return module_.AddComputation(name); }
  Instruction* Add(Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs()) {
    return &entry_.Add(opcode, std::move(shape), std::move(operands), std::move(attrs));
  }
  Instruction* Unary(Opcode opcode, Instruction* x) { return Add(opcode, x->shape(), {x}); }
  Instruction* Binary(Opcode opcode, Instruction* x, Instruction* y) { return Add(opcode, x->shape(), {x, y}); }
  Instruction* Plus(Instruction* x, Instruction* y) { return Binary(Opcode::kAdd, x, y); }
  Instruction* Times(Instruction* x, Instruction* y) { return Binary(Opcode::kMultiply, x, y); }

  Instruction* Broadcast(Instruction* x, const Shape& shape, std::vector<int64_t> dimensions) {
    return Add(Opcode::kBroadcast, shape.WithType(x->shape().type()), {x}, DimensionsAttrs{std::move(dimensions)});
  }
  Instruction* Constant(std::complex<double> value, const Shape& shape);
  // No product where there is nothing to scale: 1 * NaN and 1 * -0 are the same, but this reads as what happens.
  Instruction* Scaled(Instruction* x, std::complex<double> factor) {
    return factor == 1.0 ? x : Times(x, Constant(factor, x->shape()));
  }
  Instruction* Converted(Instruction* x, PrimitiveType type) {
    return x->shape().type() == type ? x : Add(Opcode::kConvert, x->shape().WithType(type), {x});
  }
  Instruction* Transposed(Instruction* x, const std::vector<int64_t>& order);
  Instruction* Reshaped(Instruction* x, Dims dims) {
    return Add(Opcode::kReshape, Shape(x->shape().type(), std::move(dims)), {x}, ReshapeAttrs());
  }
  // x > limit ? then : otherwise. NaN is not greater.
  Instruction* IfAbove(Instruction* x, double limit, Instruction* then, Instruction* otherwise);
  Instruction* Clamped(Instruction* x, double low, double high) {
    return Add(Opcode::kClamp, x->shape(), {Constant(low, x->shape()), x, Constant(high, x->shape())});
  }
  // `combine` over the given dimensions, from `start`.
  Instruction* Reduced(Instruction* x, std::vector<int64_t> dimensions, Opcode combine, double start);

  // To the type of a result. f8 saturates, as the libraries do; integers are rounded to nearest even and saturate.
  Instruction* Rounded(Instruction* x, PrimitiveType type);

  // The value of `results`, followed by zeros for what the call's shape has beyond them.
  Result<Literal> Evaluate(std::span<Instruction* const> results);
  Result<Literal> Evaluate(Instruction* result) { return Evaluate(std::array{result}); }

 private:
  // Every instruction obeys its op's rule: what does not fit is found here.
  Status Check() const;

  Evaluation& e_;
  Module module_;
  Computation& entry_;
  std::vector<Instruction*> operands_;
};

Instruction* Relu(Meaning& m, Instruction* x);
Instruction* GeluOfTanh(Meaning& m, Instruction* x);  // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))

}  // namespace hlo

#endif  // HLO_INTERP_CALLS_MEANING_H_
