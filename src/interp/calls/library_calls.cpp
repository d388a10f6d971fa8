// Custom calls of cuBLAS, cuDNN and CUB. Each is written down as the plain HLO that it stands for, and that is
// evaluated: f32 inside (f64 for f64, the complex type for complex, s32 for products of integers), one rounding at the
// end.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_reader.h"
#include "base/text.h"
#include "interp/custom_call.h"
#include "ir/fusion.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The configuration of a call: proto-JSON, where absent fields are zero or empty.
Result<JsonValue> ConfigOf(const Instruction& inst, std::string_view key) {
  const std::string text = ConfigText(inst);
  if (text.empty()) return JsonValue();
  const auto config = ReadJson(text);
  if (!config) FAIL(UnsupportedCall(inst, Str("whose backend_config is no JSON: ", config.error().message())));
  // In old dumps the inner object is all there is.
  const JsonValue& inner = (*config)[key];
  if (!inner.IsNull()) return inner;
  return config;
}

double NumberOf(const JsonValue& value) {
  double number = 0;
  if (const std::string* text = value.String(); text != nullptr && ParseDouble(*text, &number)) return number;
  return value.Number().value_or(0);
}

std::vector<int64_t> IntsOf(const JsonValue& value) {
  std::vector<int64_t> ints;
  if (value.Items() == nullptr) return ints;
  for (const JsonValue& item : *value.Items()) ints.push_back(static_cast<int64_t>(NumberOf(item)));
  return ints;
}

PrimitiveType WideTypeOf(PrimitiveType type) {
  return type == PrimitiveType::kF64 || IsComplex(type) ? type : PrimitiveType::kF32;
}

// The shape of the main result; what follows it in a tuple is the caller's matter.
const Shape& MainShape(const Instruction& inst) {
  return inst.shape().IsTuple() && !inst.shape().elements().empty() ? inst.shape().element(0) : inst.shape();
}

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
  Instruction* Constant(std::complex<double> value, const Shape& shape) {
    Literal scalar(Shape::Scalar(shape.type()));
    if (IsComplex(shape.type())) scalar.SetComplex(0, value);
    else scalar.SetDouble(0, value.real());
    return Broadcast(&entry_.AddConstant(std::move(scalar)), shape, {});
  }
  // No product where there is nothing to scale: 1 * NaN and 1 * -0 are the same, but this reads as what happens.
  Instruction* Scaled(Instruction* x, std::complex<double> factor) {
    return factor == 1.0 ? x : Times(x, Constant(factor, x->shape()));
  }
  Instruction* Converted(Instruction* x, PrimitiveType type) {
    return x->shape().type() == type ? x : Add(Opcode::kConvert, x->shape().WithType(type), {x});
  }
  Instruction* Transposed(Instruction* x, const std::vector<int64_t>& order) {
    Dims dims;
    for (const int64_t d : order) dims.push_back(x->shape().dim(d));
    return Add(Opcode::kTranspose, Shape(x->shape().type(), dims), {x}, DimensionsAttrs{order});
  }
  Instruction* Reshaped(Instruction* x, Dims dims) {
    return Add(Opcode::kReshape, Shape(x->shape().type(), std::move(dims)), {x}, ReshapeAttrs());
  }
  // x > limit ? then : otherwise. NaN is not greater.
  Instruction* IfAbove(Instruction* x, double limit, Instruction* then, Instruction* otherwise) {
    CompareAttrs attrs;
    attrs.direction = ComparisonDirection::kGt;
    Instruction* const above =
        Add(Opcode::kCompare, x->shape().WithType(PrimitiveType::kPred), {x, Constant(limit, x->shape())}, attrs);
    return Add(Opcode::kSelect, x->shape(), {above, then, otherwise});
  }
  Instruction* Clamped(Instruction* x, double low, double high) {
    return Add(Opcode::kClamp, x->shape(), {Constant(low, x->shape()), x, Constant(high, x->shape())});
  }
  // `combine` over the given dimensions, from `start`.
  Instruction* Reduced(Instruction* x, std::vector<int64_t> dimensions, Opcode combine, double start) {
    Computation& body = module_.AddComputation("combine");
    const Shape scalar = Shape::Scalar(x->shape().type());
    Instruction& a = body.AddParameter(0, scalar);
    Instruction& b = body.AddParameter(1, scalar);
    body.SetRoot(body.Add(combine, scalar, {&a, &b}));
    Dims kept;
    for (int64_t d = 0; d < x->shape().rank(); ++d) {
      if (std::find(dimensions.begin(), dimensions.end(), d) == dimensions.end()) kept.push_back(x->shape().dim(d));
    }
    return Add(Opcode::kReduce, Shape(scalar.type(), kept), {x, Constant(start, scalar)},
               ReduceAttrs{std::move(dimensions), &body});
  }

  // To the type of a result. f8 saturates, as the libraries do; integers are rounded to nearest even and saturate.
  Instruction* Rounded(Instruction* x, PrimitiveType type) {
    const PrimitiveType from = x->shape().type();
    if (IsFloat(from) && IsInteger(type) && BitWidth(type) <= 32) {
      const double low = IsSigned(type) ? -std::ldexp(1.0, BitWidth(type) - 1) : 0;
      const double high = std::ldexp(1.0, BitWidth(type) - (IsSigned(type) ? 1 : 0)) - 1;
      x = Clamped(Unary(Opcode::kRoundNearestEven, x), low, high);
    } else if (IsFloat(from) && IsFloat(type) && BitWidth(type) == 8) {
      const double largest = LargestFinite(FormatOf(type));
      x = Clamped(x, -largest, largest);
    }
    return Converted(x, type);
  }

  // The value of `results`, followed by zeros for what the call's shape has beyond them.
  Result<Literal> Evaluate(std::span<Instruction* const> results) {
    TRY(Check());
    const Shape& shape = e_.inst.shape();
    const size_t wanted = shape.IsTuple() ? shape.elements().size() : 1;
    if (wanted < results.size() || (!shape.IsTuple() && results.size() != 1))
      FAIL(UnsupportedCall(e_.inst, Str("with result ", shape)));
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& written = shape.IsTuple() ? shape.element(static_cast<int64_t>(i)) : shape;
      if (!Compatible(results[i]->shape(), written))
        FAIL(UnsupportedCall(e_.inst, Str("whose result ", i, " is ", written, " and not ", results[i]->shape())));
    }
    entry_.SetRoot(entry_.AddTuple(Operands(results.begin(), results.end())));
    InterpretOptions options = e_.session.options();
    options.on_value = nullptr;
    options.on_iteration = nullptr;
    options.given = nullptr;
    const std::vector<Literal> args(e_.operands.begin(), e_.operands.end());
    Literal values = TRY(EvaluateNested(entry_, args, options, e_.session.nesting() + 1));
    std::vector<Literal> elements = std::move(values.mutable_elements());
    if (!shape.IsTuple()) return std::move(elements[0]);
    for (size_t i = elements.size(); i < wanted; ++i) elements.emplace_back(shape.element(static_cast<int64_t>(i)));
    return Literal::Tuple(std::move(elements));
  }
  Result<Literal> Evaluate(Instruction* result) { return Evaluate(std::array{result}); }

 private:
  // Every instruction obeys its op's rule: what does not fit is found here.
  Status Check() const {
    for (const Instruction* inst : entry_.instructions()) {
      const auto shape = RowOf(inst->opcode()).shape_rule(*inst);
      if (shape && (!shape->IsArray() || SameDims(*shape, inst->shape()))) continue;
      FAIL(UnsupportedCall(e_.inst, Str("whose parts do not fit: ", shape ? Str("'", inst->opcode(), "' gives ", *shape)
                                                                          : shape.error().message())));
    }
    return {};
  }
  // The largest finite value is the one below which decoding grows with the bits.
  static double LargestFinite(FloatFormat format) {
    double largest = 0;
    for (uint32_t bits = 0; bits < (1U << (format.bits() - 1)); ++bits) {
      const double value = DecodeFloat(format, bits);
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    return largest;
  }

  Evaluation& e_;
  Module module_;
  Computation& entry_;
  std::vector<Instruction*> operands_;
};

Instruction* Relu(Meaning& m, Instruction* x) { return m.Binary(Opcode::kMaximum, x, m.Constant(0, x->shape())); }

// x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
Instruction* GeluOfTanh(Meaning& m, Instruction* x) {
  Instruction* const cube = m.Times(m.Times(x, x), x);
  Instruction* const inner = m.Scaled(m.Plus(x, m.Scaled(cube, 0.044715)), std::sqrt(2 / M_PI));
  return m.Times(m.Scaled(x, 0.5), m.Plus(m.Unary(Opcode::kTanh, inner), m.Constant(1, x->shape())));
}

// ---- cuBLAS --------------------------------------------------------------------------------------------------------

// Parts of "BIAS_GELU_AUX".
struct Epilogue {
  bool bias = false, aux = false;
  std::string activation;  // "", RELU, GELU, SILU

  static std::optional<Epilogue> Of(std::string_view name) {
    Epilogue epilogue;
    if (name.empty() || name == "DEFAULT") return epilogue;
    if (name == "BIAS") return Epilogue{.bias = true};
    epilogue.bias = name.starts_with("BIAS_");
    if (epilogue.bias) name.remove_prefix(5);
    epilogue.aux = name.ends_with("_AUX");
    if (epilogue.aux) name.remove_suffix(4);
    epilogue.activation = name;
    const bool known = name == "RELU" || name == "GELU" || name == "SILU";
    return known && (!epilogue.aux || name == "GELU") ? std::optional(epilogue) : std::nullopt;
  }
};

struct MatmulConfig {
  std::complex<double> alpha;
  double beta = 0;
  bool amax = false;
  Epilogue epilogue;
  DotAttrs dot;
};

Result<MatmulConfig> ReadMatmul(const Instruction& inst) {
  const JsonValue json = TRY(ConfigOf(inst, "gemm_backend_config"));
  const JsonValue& numbers = json["dot_dimension_numbers"];
  if (numbers.IsNull()) FAIL(UnsupportedCall(inst, "without dot_dimension_numbers in its backend_config"));
  MatmulConfig config;
  config.alpha = {NumberOf(json["alpha_real"]), NumberOf(json["alpha_imag"])};
  config.beta = NumberOf(json["beta"]);
  config.amax = json["damax_output"].IsTrue();
  config.dot.lhs_contracting = IntsOf(numbers["lhs_contracting_dimensions"]);
  config.dot.rhs_contracting = IntsOf(numbers["rhs_contracting_dimensions"]);
  config.dot.lhs_batch = IntsOf(numbers["lhs_batch_dimensions"]);
  config.dot.rhs_batch = IntsOf(numbers["rhs_batch_dimensions"]);
  const std::string* name = json["epilogue"].String();
  const auto epilogue = Epilogue::Of(name == nullptr ? "" : *name);
  if (!epilogue) FAIL(UnsupportedCall(inst, Str("with epilogue ", *name)));
  config.epilogue = *epilogue;
  return config;
}

// alpha * A * B in the wide type. An operand without batch dimensions (stride 0) is the same for all of the batch.
Result<Instruction*> Product(Evaluation& e, Meaning& m, const MatmulConfig& config) {
  DotAttrs attrs = config.dot;
  Instruction *lhs = m.operand(0), *const rhs = m.operand(1);
  const auto fits = [](const Shape& shape, const std::vector<int64_t>& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < shape.rank(); });
  };
  if (!fits(lhs->shape(), attrs.lhs_batch) || !fits(lhs->shape(), attrs.lhs_contracting) ||
      !fits(rhs->shape(), attrs.rhs_batch) || !fits(rhs->shape(), attrs.rhs_contracting) ||
      attrs.lhs_contracting.size() != attrs.rhs_contracting.size()) {
    FAIL(UnsupportedCall(e.inst, "whose dot_dimension_numbers do not fit its operands"));
  }
  if (attrs.lhs_batch.empty() && !attrs.rhs_batch.empty()) {
    Dims dims;
    std::vector<int64_t> kept;
    for (const int64_t d : attrs.rhs_batch) dims.push_back(rhs->shape().dim(d));
    const int64_t batch = static_cast<int64_t>(dims.size());
    for (int64_t d = 0; d < lhs->shape().rank(); ++d) dims.push_back(lhs->shape().dim(d)), kept.push_back(batch + d);
    lhs = m.Broadcast(lhs, Shape(lhs->shape().type(), dims), kept);
    for (int64_t& d : attrs.lhs_contracting) d += batch;
    for (int64_t d = 0; d < batch; ++d) attrs.lhs_batch.push_back(d);
  } else if (attrs.rhs_batch.empty() && !attrs.lhs_batch.empty()) {
    // The batch is then rows of the product, and stands first like a batch if it does in the operand.
    if (!std::is_sorted(attrs.lhs_batch.begin(), attrs.lhs_batch.end()) ||
        attrs.lhs_batch.back() + 1 != static_cast<int64_t>(attrs.lhs_batch.size())) {
      FAIL(UnsupportedCall(e.inst, "with a batch on the left alone that does not come first"));
    }
    attrs.lhs_batch.clear();
  }
  Dims dims;
  const auto has = [](const std::vector<int64_t>& list, int64_t d) {
    return std::find(list.begin(), list.end(), d) != list.end();
  };
  for (const int64_t d : attrs.lhs_batch) dims.push_back(lhs->shape().dim(d));
  for (int64_t d = 0; d < lhs->shape().rank(); ++d) {
    if (!has(attrs.lhs_batch, d) && !has(attrs.lhs_contracting, d)) dims.push_back(lhs->shape().dim(d));
  }
  for (int64_t d = 0; d < rhs->shape().rank(); ++d) {
    if (!has(attrs.rhs_batch, d) && !has(attrs.rhs_contracting, d)) dims.push_back(rhs->shape().dim(d));
  }
  const PrimitiveType type = MainShape(e.inst).type();
  const bool integers = IsInteger(lhs->shape().type()) && IsInteger(rhs->shape().type());
  const PrimitiveType sum_type = integers ? PrimitiveType::kS32 : WideTypeOf(type);
  Instruction* product = m.Add(Opcode::kDot, Shape(sum_type, dims), {lhs, rhs}, attrs);
  if (!IsInteger(type)) product = m.Converted(product, WideTypeOf(type));
  return m.Scaled(product, config.alpha);
}

// The bias goes along the columns: the dimensions that are the most minor ones in memory.
Result<Instruction*> AlongColumns(Evaluation& e, Meaning& m, Instruction* bias, Instruction* product) {
  const Layout &of_result = MainShape(e.inst).layout(), &of_bias = bias->shape().layout();
  const int64_t rank = bias->shape().rank();
  std::vector<int64_t> dimensions(rank);
  bool fits = rank <= product->shape().rank();
  for (int64_t i = 0; fits && i < rank; ++i) {
    const int64_t to = of_result.minor_to_major[i], from = of_bias.minor_to_major[i];
    dimensions[from] = to;
    fits = bias->shape().dim(from) == product->shape().dim(to);
  }
  if (!fits)
    FAIL(
        UnsupportedCall(e.inst, Str("whose bias ", bias->shape(), " does not fit the columns of ", MainShape(e.inst))));
  return m.Broadcast(m.Converted(bias, product->shape().type()), product->shape(), dimensions);
}

// epilogue(product + beta * c + bias), and what comes beside it.
struct Finished {
  Instruction* value = nullptr;
  Instruction* before_activation = nullptr;
};
Result<Finished> Finish(Evaluation& e, Meaning& m, const MatmulConfig& config, Instruction* product, Instruction* c,
                        Instruction* bias) {
  Instruction* x = product;
  if (c != nullptr) {
    if (!SameDims(c->shape(), x->shape())) FAIL(UnsupportedCall(e.inst, Str("that adds ", c->shape())));
    x = m.Plus(x, m.Scaled(m.Converted(c, x->shape().type()), config.beta));
  }
  if (bias != nullptr) x = m.Plus(x, TRY(AlongColumns(e, m, bias, x)));
  Finished finished{x, x};
  const std::string& activation = config.epilogue.activation;
  if (!activation.empty() && !IsFloat(x->shape().type()))
    FAIL(UnsupportedCall(e.inst, Str("with an activation of ", x->shape().type())));
  if (activation == "RELU") finished.value = Relu(m, x);
  if (activation == "GELU") finished.value = GeluOfTanh(m, x);
  if (activation == "SILU") finished.value = m.Times(x, m.Unary(Opcode::kLogistic, x));
  return finished;
}

Error WrongOperands(const Evaluation& e) {
  return UnsupportedCall(e.inst, Str("with ", e.operands.size(), " operands and this backend_config"));
}

}  // namespace

// (A, B[, C][, bias]) -> D or (D[, aux], workspace)
Result<Literal> CallMatmul(Evaluation& e) {
  const MatmulConfig config = TRY(ReadMatmul(e.inst));
  const size_t expected = 2 + (config.beta != 0) + config.epilogue.bias;
  if (e.operands.size() != expected) FAIL(WrongOperands(e));
  Meaning m(e);
  Instruction* const c = config.beta != 0 ? m.operand(2) : nullptr;
  Instruction* const bias = config.epilogue.bias ? m.operand(static_cast<int64_t>(expected) - 1) : nullptr;
  const Finished finished = TRY(Finish(e, m, config, TRY(Product(e, m, config)), c, bias));
  std::vector<Instruction*> results = {m.Rounded(finished.value, MainShape(e.inst).type())};
  if (config.epilogue.aux) results.push_back(m.Rounded(finished.before_activation, MainShape(e.inst).type()));
  return m.Evaluate(results);
}

// (A, B[, C], a_scale, b_scale[, bias][, d_scale]) -> (D[, amax][, workspace]); amax is taken before d_scale.
Result<Literal> CallMatmulF8(Evaluation& e) {
  MatmulConfig config = TRY(ReadMatmul(e.inst));
  const size_t fixed = 4 + (config.beta != 0) + config.epilogue.bias;
  if (e.operands.size() != fixed && e.operands.size() != fixed + 1) FAIL(WrongOperands(e));
  Meaning m(e);
  int64_t next = 2;
  Instruction* const c = config.beta != 0 ? m.operand(next++) : nullptr;
  Instruction *const a_scale = m.operand(next), *const b_scale = m.operand(next + 1);
  next += 2;
  Instruction* const bias = config.epilogue.bias ? m.operand(next++) : nullptr;
  Instruction* const d_scale = e.operands.size() > fixed ? m.operand(next) : nullptr;
  for (const Instruction* scale : {a_scale, b_scale, d_scale}) {
    if (scale != nullptr && !scale->shape().IsScalar())
      FAIL(UnsupportedCall(e.inst, Str("with scales ", scale->shape(), ", one for each block")));
  }
  Instruction* product = TRY(Product(e, m, config));
  const Shape wide = product->shape();
  const auto scale = [&](Instruction* x, Instruction* by) {
    return m.Times(x, m.Broadcast(m.Converted(by, wide.type()), wide, {}));
  };
  product = m.Times(
      product, m.Broadcast(m.Times(m.Converted(a_scale, wide.type()), m.Converted(b_scale, wide.type())), wide, {}));
  const Finished finished = TRY(Finish(e, m, config, product, c, bias));
  Instruction* const value = d_scale != nullptr ? scale(finished.value, d_scale) : finished.value;
  std::vector<Instruction*> results = {m.Rounded(value, MainShape(e.inst).type())};
  if (config.epilogue.aux) results.push_back(m.Rounded(finished.before_activation, MainShape(e.inst).type()));
  if (config.amax) {
    std::vector<int64_t> all;
    for (int64_t d = 0; d < wide.rank(); ++d) all.push_back(d);
    results.push_back(m.Reduced(m.Unary(Opcode::kAbs, finished.value), all, Opcode::kMaximum, 0));
  }
  return m.Evaluate(results);
}

// (a, b) -> x or (x, workspace); the configuration holds the attributes of triangular-solve.
Result<Literal> CallTriangularSolve(Evaluation& e) {
  if (e.operands.size() != 2) FAIL(WrongOperands(e));
  const JsonValue json = TRY(ConfigOf(e.inst, "triangular_solve_backend_config"));
  TriangularSolveAttrs attrs;
  attrs.left_side = json["left_side"].IsTrue();
  attrs.lower = json["lower"].IsTrue();
  attrs.unit_diagonal = json["unit_diagonal"].IsTrue();
  const std::string* transpose = json["transpose_a"].String();
  attrs.transpose_a = transpose != nullptr && *transpose == "TRANSPOSE" ? TransposeKind::kTranspose
                      : transpose != nullptr && *transpose == "ADJOINT" ? TransposeKind::kAdjoint
                                                                        : TransposeKind::kNoTranspose;
  Meaning m(e);
  return m.Evaluate(m.Add(Opcode::kTriangularSolve, m.operand(1)->shape(), {m.operand(0), m.operand(1)}, attrs));
}

// (lhs, rhs, lhs_scale[, rhs_scale]) -> D[batch..., m, n]: scaled-dot over the last dimension of both sides.
Result<Literal> CallBlockScaledDot(Evaluation& e) {
  if (e.operands.size() != 3 && e.operands.size() != 4) FAIL(WrongOperands(e));
  const Shape &lhs = e.operands[0].shape(), &rhs = e.operands[1].shape();
  const int64_t rank = lhs.rank();
  if (rank < 2 || rhs.rank() != rank) FAIL(UnsupportedCall(e.inst, Str("of ", lhs, " and ", rhs)));
  Meaning m(e);
  DotAttrs attrs;
  Dims dims;
  for (int64_t d = 0; d + 2 < rank; ++d) {
    attrs.lhs_batch.push_back(d);
    attrs.rhs_batch.push_back(d);
    dims.push_back(lhs.dim(d));
  }
  attrs.lhs_contracting = attrs.rhs_contracting = {rank - 1};
  for (const Shape* side : {&lhs, &rhs}) dims.push_back(side->dim(rank - 2));
  // A scalar stands for a scale that is not there.
  Instruction* const rhs_scale = e.operands.size() == 4 ? m.operand(3) : m.Constant(1, Shape::Scalar(rhs.type()));
  const PrimitiveType type = MainShape(e.inst).type();
  Instruction* const product = m.Add(Opcode::kScaledDot, Shape(WideTypeOf(type), dims),
                                     {m.operand(0), m.operand(1), m.operand(2), rhs_scale}, attrs);
  return m.Evaluate(m.Rounded(product, type));
}

// ---- cuDNN ---------------------------------------------------------------------------------------------------------

namespace {

struct ConvolutionConfig {
  double result_scale = 1, side_scale = 0, leaky_alpha = 0;
  std::string activation = "kNone";
};

Result<ConvolutionConfig> ReadConvolution(const Instruction& inst) {
  const JsonValue json = TRY(ConfigOf(inst, "cudnn_conv_backend_config"));
  ConvolutionConfig config;
  if (json.AsObject() == nullptr || json.AsObject()->keys.empty()) return config;
  // A configuration that says only how to convolve scales nothing.
  if (!json["conv_result_scale"].IsNull()) config.result_scale = NumberOf(json["conv_result_scale"]);
  config.side_scale = NumberOf(json["side_input_scale"]);
  config.leaky_alpha = NumberOf(json["leakyrelu_alpha"]);
  // Older dumps have the number of the enumerator.
  constexpr const char* kByNumber[] = {"kNone", "kSigmoid", "kRelu", "kRelu6"};
  const JsonValue& mode = json["activation_mode"];
  if (const std::string* name = mode.String(); name != nullptr && name->starts_with('k')) {
    config.activation = *name;
  } else if (const auto number = static_cast<size_t>(NumberOf(mode)); number < std::size(kByNumber)) {
    config.activation = kByNumber[number];
  } else {
    config.activation = mode.ToString();
  }
  return config;
}

Result<Instruction*> Activated(Evaluation& e, Meaning& m, const ConvolutionConfig& config, Instruction* x) {
  const std::string& name = config.activation;
  if (name == "kNone") return x;
  if (name == "kRelu") return Relu(m, x);
  if (name == "kRelu6") return m.Clamped(x, 0, 6);
  if (name == "kSigmoid") return m.Unary(Opcode::kLogistic, x);
  if (name == "kTanh") return m.Unary(Opcode::kTanh, x);
  if (name == "kElu") return m.IfAbove(x, 0, x, m.Unary(Opcode::kExpm1, x));
  if (name == "kLeakyRelu") return m.IfAbove(x, 0, x, m.Scaled(x, config.leaky_alpha));
  FAIL(UnsupportedCall(e.inst, Str("with activation ", name)));
}

// The attributes, where tensors have a batch, a feature and spatial dimensions and nothing else.
Status CheckConvolution(const Evaluation& e, bool vectors = false) {
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  if (e.operands.size() < 2) FAIL(WrongOperands(e));
  if (!attrs.dim_labels) FAIL(UnsupportedCall(e.inst, "without dim_labels"));
  const int64_t rank = static_cast<int64_t>(attrs.dim_labels->lhs_spatial.size()) + 2;
  if (static_cast<int64_t>(attrs.window.dims.size()) + 2 != rank)
    FAIL(UnsupportedCall(e.inst, "whose window does not fit its dim_labels"));
  const int64_t ranks[] = {e.operands[0].shape().rank(), e.operands[1].shape().rank(), MainShape(e.inst).rank()};
  for (const int64_t one : ranks) {
    if (one != ranks[0] || (one != rank && !(vectors && one == rank + 1)))
      FAIL(UnsupportedCall(e.inst, "whose tensors have dimensions without labels"));
  }
  return {};
}

// Features may come in vectors, which are one more dimension, the last one, without a label. Here they join the others.
bool HasVectors(const Evaluation& e) {
  return MainShape(e.inst).rank() == static_cast<int64_t>(e.inst.attrs<CustomCallAttrs>().window.dims.size()) + 3;
}
Instruction* WithoutVectors(Meaning& m, Instruction* x, int64_t feature) {
  const int64_t last = x->shape().rank() - 1;
  std::vector<int64_t> order;
  Dims dims;
  for (int64_t d = 0; d < last; ++d) {
    order.push_back(d);
    dims.push_back(x->shape().dim(d) * (d == feature ? x->shape().dim(last) : 1));
    if (d == feature) order.push_back(last);
  }
  return m.Reshaped(m.Transposed(x, order), dims);
}
Instruction* InVectors(Meaning& m, Instruction* x, int64_t feature, int64_t size) {
  std::vector<int64_t> order;
  Dims dims;
  for (int64_t d = 0; d < x->shape().rank(); ++d) {
    dims.push_back(d == feature ? x->shape().dim(d) / size : x->shape().dim(d));
    if (d == feature) dims.push_back(size);
    order.push_back(d <= feature ? d : d + 1);
  }
  order.push_back(feature + 1);
  return m.Transposed(m.Reshaped(x, dims), order);
}

// Element types in which the products are summed: integers exactly.
PrimitiveType SumType(const Evaluation& e) {
  const bool integers = IsInteger(e.operands[0].shape().type()) && IsInteger(e.operands[1].shape().type());
  return integers ? PrimitiveType::kS32 : WideTypeOf(MainShape(e.inst).type());
}

// act(result_scale * convolution + side_scale * side + bias)
Result<Literal> FinishConvolution(Evaluation& e, Meaning& m, Instruction* x, int64_t feature) {
  const ConvolutionConfig config = TRY(ReadConvolution(e.inst));
  const PrimitiveType type = MainShape(e.inst).type();
  const bool plain = e.operands.size() == 2 && config.result_scale == 1 && config.activation == "kNone";
  if (!plain || !IsInteger(type)) x = m.Converted(x, WideTypeOf(type));
  x = m.Scaled(x, config.result_scale);
  if (e.operands.size() > 4) FAIL(WrongOperands(e));
  if (e.operands.size() == 4) {
    Instruction* const side = HasVectors(e) ? WithoutVectors(m, m.operand(3), feature) : m.operand(3);
    if (!SameDims(side->shape(), x->shape())) FAIL(UnsupportedCall(e.inst, Str("that adds ", side->shape())));
    x = m.Plus(x, m.Scaled(m.Converted(side, x->shape().type()), config.side_scale));
  }
  if (e.operands.size() >= 3) {
    Instruction* const bias = m.operand(2);
    if (bias->shape().rank() != 1 || bias->shape().dim(0) != x->shape().dim(feature))
      FAIL(UnsupportedCall(e.inst, Str("whose bias is ", bias->shape())));
    x = m.Plus(x, m.Broadcast(m.Converted(bias, x->shape().type()), x->shape(), {feature}));
  }
  x = m.Rounded(TRY(Activated(e, m, config, x)), type);
  return m.Evaluate(HasVectors(e) ? InVectors(m, x, feature, MainShape(e.inst).dims().back()) : x);
}

std::vector<int64_t> Listed(const std::vector<int64_t>& spatial, std::initializer_list<int64_t> after) {
  std::vector<int64_t> all = spatial;
  all.insert(all.end(), after);
  return all;
}

// The padding above the base that makes the result `out` wide.
int64_t PadHigh(const WindowDim& d, int64_t base, int64_t out) {
  const int64_t dilated_base = base == 0 ? 0 : (base - 1) * d.base_dilation + 1;
  const int64_t dilated_window = (d.size - 1) * d.window_dilation + 1;
  return (out - 1) * d.stride + dilated_window - dilated_base - d.pad_low;
}

}  // namespace

// (input, filter[, bias[, side_input]]) -> (result, workspace)
Result<Literal> CallConvolution(Evaluation& e) {
  TRY(CheckConvolution(e, true));
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  ConvolutionAttrs conv;
  conv.window = attrs.window;
  conv.dim_labels = *attrs.dim_labels;
  conv.feature_group_count = attrs.feature_group_count;
  conv.batch_group_count = attrs.batch_group_count;
  Meaning m(e);
  Instruction *input = m.operand(0), *filter = m.operand(1);
  Shape shape = MainShape(e.inst).WithType(SumType(e)).WithDefaultLayout();
  if (HasVectors(e)) {
    if (TRY(ConfigOf(e.inst, "cudnn_conv_backend_config"))["reordered_int8_nchw_vect"].IsTrue())
      FAIL(UnsupportedCall(e.inst, "with a filter in cuDNN's own order"));
    input = WithoutVectors(m, input, conv.dim_labels.lhs_feature);
    filter = WithoutVectors(m, filter, conv.dim_labels.rhs_input_feature);
    Dims dims(shape.dims().begin(), shape.dims().end() - 1);
    dims[conv.dim_labels.out_feature] *= shape.dims().back();
    shape = Shape(shape.type(), dims);
  }
  return FinishConvolution(e, m, m.Add(Opcode::kConvolution, shape, {input, filter}, conv),
                           conv.dim_labels.out_feature);
}

// (gradient of the output, filter) -> (gradient of the input, workspace). The forward convolution takes
// base_dilation * x from y * stride + k * window_dilation - pad_low. Seen from x, y * stride is the position, so that
// stride and base dilation change places, and the filter is met from its end.
Result<Literal> CallConvolutionInputGradient(Evaluation& e) {
  TRY(CheckConvolution(e));
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  const DimLabels& labels = *attrs.dim_labels;
  const Shape &gradient = e.operands[0].shape(), &filter = e.operands[1].shape(), &shape = MainShape(e.inst);
  const int64_t groups = attrs.feature_group_count, inputs = filter.dim(labels.rhs_input_feature),
                outputs = filter.dim(labels.rhs_output_feature);
  if (e.operands.size() != 2 || attrs.batch_group_count != 1) FAIL(WrongOperands(e));
  if (inputs * groups != shape.dim(labels.lhs_feature) || outputs != gradient.dim(labels.out_feature) ||
      outputs % groups != 0 || gradient.dim(labels.out_batch) != shape.dim(labels.lhs_batch)) {
    FAIL(UnsupportedCall(e.inst, "whose features do not fit"));
  }
  Meaning m(e);
  // Filter as spatial..., outputs of a group, inputs of all groups.
  const int64_t spatial = static_cast<int64_t>(labels.lhs_spatial.size());
  Instruction* turned =
      m.Transposed(m.operand(1), Listed(labels.rhs_spatial, {labels.rhs_input_feature, labels.rhs_output_feature}));
  Dims sizes(turned->shape().dims().begin(), turned->shape().dims().end() - 2), split = sizes;
  for (const int64_t size : {inputs, groups, outputs / groups}) split.push_back(size);
  std::vector<int64_t> order;
  for (int64_t d = 0; d < spatial; ++d) order.push_back(d);
  turned = m.Transposed(m.Reshaped(turned, split), Listed(order, {spatial + 2, spatial + 1, spatial}));
  for (const int64_t size : {outputs / groups, groups * inputs}) sizes.push_back(size);
  turned = m.Reshaped(turned, sizes);

  ConvolutionAttrs conv;
  conv.feature_group_count = groups;
  conv.dim_labels = {.lhs_batch = labels.out_batch,
                     .lhs_feature = labels.out_feature,
                     .rhs_input_feature = spatial,
                     .rhs_output_feature = spatial + 1,
                     .out_batch = labels.lhs_batch,
                     .out_feature = labels.lhs_feature,
                     .lhs_spatial = labels.out_spatial,
                     .rhs_spatial = order,
                     .out_spatial = labels.lhs_spatial};
  for (int64_t d = 0; d < spatial; ++d) {
    const WindowDim& forward = attrs.window.dims[d];
    WindowDim back = {.size = forward.size,
                      .stride = forward.base_dilation,
                      .pad_low = (forward.size - 1) * forward.window_dilation - forward.pad_low,
                      .base_dilation = forward.stride,
                      .window_dilation = forward.window_dilation,
                      .reversed = !forward.reversed};
    back.pad_high = PadHigh(back, gradient.dim(labels.out_spatial[d]), shape.dim(labels.lhs_spatial[d]));
    conv.window.dims.push_back(back);
  }
  Instruction* const x =
      m.Add(Opcode::kConvolution, shape.WithType(SumType(e)).WithDefaultLayout(), {m.operand(0), turned}, conv);
  return FinishConvolution(e, m, x, labels.lhs_feature);
}

// (input, gradient of the output) -> (gradient of the filter, workspace). A convolution whose window is the gradient:
// batch and features of the input change places, and so do stride and window dilation.
Result<Literal> CallConvolutionFilterGradient(Evaluation& e) {
  TRY(CheckConvolution(e));
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  const DimLabels& labels = *attrs.dim_labels;
  const Shape &input = e.operands[0].shape(), &gradient = e.operands[1].shape(), &shape = MainShape(e.inst);
  const int64_t groups = attrs.feature_group_count;
  if (e.operands.size() != 2 || attrs.batch_group_count != 1) FAIL(WrongOperands(e));
  if (shape.dim(labels.rhs_input_feature) * groups != input.dim(labels.lhs_feature) ||
      shape.dim(labels.rhs_output_feature) != gradient.dim(labels.out_feature) ||
      gradient.dim(labels.out_feature) % groups != 0 || gradient.dim(labels.out_batch) != input.dim(labels.lhs_batch)) {
    FAIL(UnsupportedCall(e.inst, "whose features do not fit"));
  }
  ConvolutionAttrs conv;
  conv.batch_group_count = groups;
  conv.dim_labels = {.lhs_batch = labels.lhs_feature,
                     .lhs_feature = labels.lhs_batch,
                     .rhs_input_feature = labels.out_batch,
                     .rhs_output_feature = labels.out_feature,
                     .out_batch = labels.rhs_input_feature,
                     .out_feature = labels.rhs_output_feature,
                     .lhs_spatial = labels.lhs_spatial,
                     .rhs_spatial = labels.out_spatial,
                     .out_spatial = labels.rhs_spatial};
  std::vector<int64_t> reversed;
  for (size_t d = 0; d < attrs.window.dims.size(); ++d) {
    const WindowDim& forward = attrs.window.dims[d];
    if (forward.reversed) reversed.push_back(labels.rhs_spatial[d]);
    WindowDim back = {.size = gradient.dim(labels.out_spatial[d]),
                      .stride = forward.window_dilation,
                      .pad_low = forward.pad_low,
                      .base_dilation = forward.base_dilation,
                      .window_dilation = forward.stride};
    back.pad_high = PadHigh(back, input.dim(labels.lhs_spatial[d]), shape.dim(labels.rhs_spatial[d]));
    conv.window.dims.push_back(back);
  }
  Meaning m(e);
  Instruction* x =
      m.Add(Opcode::kConvolution, shape.WithType(SumType(e)).WithDefaultLayout(), {m.operand(0), m.operand(1)}, conv);
  if (!reversed.empty()) x = m.Add(Opcode::kReverse, x->shape(), {x}, DimensionsAttrs{reversed});
  return FinishConvolution(e, m, x, labels.rhs_output_feature);
}

// (x, scale, bias) -> (y[, mean, 1 / deviation], workspace): normalised over all dimensions but the first.
Result<Literal> CallLayerNorm(Evaluation& e) {
  const JsonValue json = TRY(ConfigOf(e.inst, "cudnn_norm_backend_config"));
  const std::string* kind = json["kind"].String();
  if (kind != nullptr && *kind == "LAYER_BWD") FAIL(UnsupportedCall(e.inst, "of kind LAYER_BWD"));
  if (e.operands.size() != 3) FAIL(WrongOperands(e));
  const Shape &x_shape = e.operands[0].shape(), &scale_shape = e.operands[1].shape();
  bool fits = x_shape.rank() > 1 && scale_shape.rank() == x_shape.rank() && scale_shape.dim(0) == 1 &&
              SameDims(scale_shape, e.operands[2].shape());
  for (int64_t d = 1; fits && d < x_shape.rank(); ++d) fits = scale_shape.dim(d) == x_shape.dim(d);
  if (!fits) FAIL(UnsupportedCall(e.inst, Str("that scales ", x_shape, " by ", scale_shape)));

  Meaning m(e);
  const PrimitiveType wide = WideTypeOf(MainShape(e.inst).type());
  Instruction* const x = m.Converted(m.operand(0), wide);
  const Shape& shape = x->shape();
  std::vector<int64_t> normalised, columns;
  double count = 1;
  Dims rows_dims = {shape.dim(0)}, kept_dims;
  for (int64_t d = 1; d < shape.rank(); ++d) {
    normalised.push_back(d);
    columns.push_back(d);
    count *= static_cast<double>(shape.dim(d));
    rows_dims.push_back(1);
    kept_dims.push_back(shape.dim(d));
  }
  const auto mean_of = [&](Instruction* value) {
    return m.Scaled(m.Reduced(value, normalised, Opcode::kAdd, 0), 1 / count);
  };
  Instruction* const mean = mean_of(x);
  Instruction* const centred = m.Binary(Opcode::kSubtract, x, m.Broadcast(mean, shape, {0}));
  Instruction* const variance = mean_of(m.Times(centred, centred));
  Instruction* const inverse =
      m.Unary(Opcode::kRsqrt, m.Plus(variance, m.Constant(NumberOf(json["epsilon"]), variance->shape())));
  const auto along_rows = [&](Instruction* value) {
    return m.Broadcast(m.Reshaped(m.Converted(value, wide), kept_dims), shape, columns);
  };
  Instruction* const y = m.Plus(m.Times(m.Times(centred, m.Broadcast(inverse, shape, {0})), along_rows(m.operand(1))),
                                along_rows(m.operand(2)));
  std::vector<Instruction*> results = {m.Rounded(y, MainShape(e.inst).type())};
  if (kind != nullptr && *kind == "LAYER_FWD_TRAIN" && e.inst.shape().IsTuple() &&
      e.inst.shape().elements().size() >= 3) {
    results.push_back(m.Converted(m.Reshaped(mean, rows_dims), e.inst.shape().element(1).type()));
    results.push_back(m.Converted(m.Reshaped(inverse, rows_dims), e.inst.shape().element(2).type()));
  }
  return m.Evaluate(results);
}

// ---- CUB -----------------------------------------------------------------------------------------------------------

// keys[, values] along the last dimension, stable. A radix sort looks at bits: -0 before 0, NaN at the ends.
Result<Literal> CallRadixSort(Evaluation& e) {
  if (e.operands.empty() || e.operands.size() > 2 || e.operands[0].shape().rank() == 0) FAIL(WrongOperands(e));
  const JsonValue json = TRY(ConfigOf(e.inst, "sort_backend_config"));
  Meaning m(e);
  Computation& body = m.AddComputation("comparator");
  std::vector<Shape> shapes;
  Operands operands;
  for (int64_t i = 0; i < static_cast<int64_t>(e.operands.size()); ++i) {
    const Shape& shape = e.operands[i].shape();
    shapes.push_back(shape);
    operands.push_back(m.operand(i));
    body.AddParameter(2 * i, Shape::Scalar(shape.type()));
    body.AddParameter(2 * i + 1, Shape::Scalar(shape.type()));
  }
  CompareAttrs compare;
  compare.direction = json["descending"].IsTrue() ? ComparisonDirection::kGt : ComparisonDirection::kLt;
  if (IsFloat(shapes[0].type())) compare.type = ComparisonType::kTotalOrder;
  body.SetRoot(body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&body.parameter(0), &body.parameter(1)},
                        compare));
  SortAttrs attrs;
  attrs.dimension.value = shapes[0].rank() - 1;
  attrs.is_stable = true;
  attrs.to_apply = &body;
  if (shapes.size() == 1) return m.Evaluate(m.Add(Opcode::kSort, shapes[0], operands, attrs));
  Instruction* const sorted = m.Add(Opcode::kSort, Shape::Tuple(shapes), operands, attrs);
  std::vector<Instruction*> results;
  for (size_t i = 0; i < shapes.size(); ++i)
    results.push_back(m.Add(Opcode::kGetTupleElement, shapes[i], {sorted}, IndexAttrs{static_cast<int64_t>(i)}));
  return m.Evaluate(results);
}

}  // namespace hlo
