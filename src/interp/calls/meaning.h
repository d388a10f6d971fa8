// Expresses custom calls of libraries as plain HLO (interp/library_call.h).
#ifndef HLO_INTERP_CALLS_MEANING_H_
#define HLO_INTERP_CALLS_MEANING_H_

#include <complex>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json_reader.h"
#include "interp/custom_call.h"
#include "interp/library_call.h"
#include "ir/module.h"

namespace hlo {

// The backend_config, or its object `key` if it has one. Absent fields of proto-JSON are zero or empty.
Result<JsonValue> ConfigOf(const Instruction& inst, std::string_view key);
double NumberOf(const JsonValue& value);
std::vector<int64_t> IntsOf(const JsonValue& value);

// The compute type for a result of `type`.
PrimitiveType WideTypeOf(PrimitiveType type);
const Shape& MainShape(const Instruction& inst);
Error WrongOperands(const Instruction& inst);

// The first results of a call. Others are workspace.
using CallResults = std::vector<Instruction*>;

// Builds a computation that has the results of `call`.
class Meaning {
 public:
  explicit Meaning(const Instruction& call)
      : call_(call), module_(std::make_unique<Module>("custom_call")), entry_(module_->AddComputation("call")) {
    module_->SetEntry(entry_);
    for (const Instruction* operand : call.operands())
      operands_.push_back(&entry_.AddParameter(operand_count(), operand->shape()));
  }

  const Instruction& call() const { return call_; }
  int64_t operand_count() const { return std::ssize(operands_); }
  Instruction* operand(int64_t i) const { return operands_[i]; }
  Computation& AddComputation(std::string_view name) { return module_->AddComputation(name); }
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
  Instruction* IfAbove(Instruction* x, double limit, Instruction* then, Instruction* otherwise);
  Instruction* Clamped(Instruction* x, double low, double high) {
    return Add(Opcode::kClamp, x->shape(), {Constant(low, x->shape()), x, Constant(high, x->shape())});
  }
  Instruction* Reduced(Instruction* x, std::vector<int64_t> dimensions, Opcode combine, double start);

  // Converts x. f8 saturates as in the libraries. Integers of up to 32 bits are rounded to nearest even and saturate.
  Instruction* Rounded(Instruction* x, PrimitiveType type);

  // The root is the tuple of `results`. Errors (U007): other shapes than the call's, or an instruction that breaks a
  // rule of its op.
  Result<std::unique_ptr<Module>> Finish(const CallResults& results);

 private:
  Status Check() const;

  const Instruction& call_;
  std::unique_ptr<Module> module_;
  Computation& entry_;
  std::vector<Instruction*> operands_;
};

Instruction* Relu(Meaning& m, Instruction* x);
Instruction* GeluOfTanh(Meaning& m, Instruction* x);  // x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))

Result<CallResults> MeaningOfMatmul(Meaning& m);    // __cublas$gemm, __cublas$lt$matmul
Result<CallResults> MeaningOfMatmulF8(Meaning& m);  // __cublas$lt$matmul$f8
Result<CallResults> MeaningOfTriangularSolve(Meaning& m);
Result<CallResults> MeaningOfBlockScaledDot(Meaning& m);
Result<CallResults> MeaningOfConvolution(Meaning& m);
Result<CallResults> MeaningOfConvolutionInputGradient(Meaning& m);
Result<CallResults> MeaningOfConvolutionFilterGradient(Meaning& m);
Result<CallResults> MeaningOfLayerNorm(Meaning& m);
Result<CallResults> MeaningOfRadixSort(Meaning& m);

}  // namespace hlo

#endif  // HLO_INTERP_CALLS_MEANING_H_
