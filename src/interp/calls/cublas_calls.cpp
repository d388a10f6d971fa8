#include <algorithm>

#include "base/text.h"
#include "interp/calls/meaning.h"
#include "ir/dimensions.h"

namespace hlo {
namespace {

// Parts of an epilogue's name such as "BIAS_GELU_AUX".
struct Epilogue {
  bool bias = false, aux = false;
  std::string activation;

  static std::optional<Epilogue> FromName(std::string_view name) {
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
  const auto epilogue = Epilogue::FromName(name == nullptr ? "" : *name);
  if (!epilogue) FAIL(UnsupportedCall(inst, Str("with epilogue ", *name)));
  config.epilogue = *epilogue;
  return config;
}

// alpha * A * B in the wide type. An operand without batch dimensions is the same for the whole batch.
Result<Instruction*> Product(Meaning& m, const MatmulConfig& config) {
  DotAttrs attrs = config.dot;
  Instruction *lhs = m.operand(0), *const rhs = m.operand(1);
  const auto fits = [](const Shape& shape, const std::vector<int64_t>& dims) {
    return std::all_of(dims.begin(), dims.end(), [&](int64_t d) { return d >= 0 && d < shape.rank(); });
  };
  if (!fits(lhs->shape(), attrs.lhs_batch) || !fits(lhs->shape(), attrs.lhs_contracting) ||
      !fits(rhs->shape(), attrs.rhs_batch) || !fits(rhs->shape(), attrs.rhs_contracting) ||
      attrs.lhs_contracting.size() != attrs.rhs_contracting.size()) {
    FAIL(UnsupportedCall(m.call(), "whose dot_dimension_numbers do not fit its operands"));
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
    // Batch dimensions of lhs become rows, so they must come first.
    if (!std::is_sorted(attrs.lhs_batch.begin(), attrs.lhs_batch.end()) ||
        attrs.lhs_batch.back() + 1 != static_cast<int64_t>(attrs.lhs_batch.size())) {
      FAIL(UnsupportedCall(m.call(), "with batch dimensions only on the left, which do not come first,"));
    }
    attrs.lhs_batch.clear();
  }
  Dims dims;
  for (const int64_t d : attrs.lhs_batch) dims.push_back(lhs->shape().dim(d));
  for (const int64_t d : FreeDimensions(lhs->shape().rank(), attrs.lhs_batch, attrs.lhs_contracting))
    dims.push_back(lhs->shape().dim(d));
  for (const int64_t d : FreeDimensions(rhs->shape().rank(), attrs.rhs_batch, attrs.rhs_contracting))
    dims.push_back(rhs->shape().dim(d));
  const PrimitiveType type = MainShape(m.call()).type();
  const bool integers = IsInteger(lhs->shape().type()) && IsInteger(rhs->shape().type());
  const PrimitiveType sum_type = integers ? PrimitiveType::kS32 : WideTypeOf(type);
  Instruction* product = m.Add(Opcode::kDot, Shape(sum_type, dims), {lhs, rhs}, attrs);
  if (!IsInteger(type)) product = m.Converted(product, WideTypeOf(type));
  return m.Scaled(product, config.alpha);
}

// Broadcasts the bias along the rows. It has the dimensions of the columns, which are the most minor.
Result<Instruction*> AlongColumns(Meaning& m, Instruction* bias, Instruction* product) {
  const Layout &of_result = MainShape(m.call()).layout(), &of_bias = bias->shape().layout();
  const int64_t rank = bias->shape().rank();
  std::vector<int64_t> dimensions(rank);
  bool fits = rank <= product->shape().rank();
  for (int64_t i = 0; fits && i < rank; ++i) {
    const int64_t to = of_result.minor_to_major[i], from = of_bias.minor_to_major[i];
    dimensions[from] = to;
    fits = bias->shape().dim(from) == product->shape().dim(to);
  }
  if (!fits)
    FAIL(UnsupportedCall(m.call(),
                         Str("whose bias ", bias->shape(), " does not fit the columns of ", MainShape(m.call()))));
  return m.Broadcast(m.Converted(bias, product->shape().type()), product->shape(), dimensions);
}

// epilogue(product + beta * c + bias), and the value before the activation.
struct Finished {
  Instruction* value = nullptr;
  Instruction* before_activation = nullptr;
};
Result<Finished> Finish(Meaning& m, const MatmulConfig& config, Instruction* product, Instruction* c,
                        Instruction* bias) {
  Instruction* x = product;
  if (c != nullptr) {
    if (!SameDims(c->shape(), x->shape()))
      FAIL(UnsupportedCall(
          m.call(), Str("whose added matrix ", c->shape(), " has other dimensions than its result ", x->shape())));
    x = m.Plus(x, m.Scaled(m.Converted(c, x->shape().type()), config.beta));
  }
  if (bias != nullptr) x = m.Plus(x, TRY(AlongColumns(m, bias, x)));
  Finished finished{x, x};
  const std::string& activation = config.epilogue.activation;
  if (!activation.empty() && !IsFloat(x->shape().type()))
    FAIL(UnsupportedCall(m.call(), Str("with an activation of ", x->shape().type(), " instead of floats")));
  if (activation == "RELU") finished.value = Relu(m, x);
  if (activation == "GELU") finished.value = GeluOfTanh(m, x);
  if (activation == "SILU") finished.value = m.Times(x, m.Unary(Opcode::kLogistic, x));
  return finished;
}

}  // namespace

// (A, B[, C][, bias]) -> D or (D[, aux], workspace)
Result<CallResults> MeaningOfMatmul(Meaning& m) {
  const MatmulConfig config = TRY(ReadMatmul(m.call()));
  const int64_t expected = 2 + int64_t{config.beta != 0} + int64_t{config.epilogue.bias};
  if (m.operand_count() != expected) FAIL(WrongOperands(m.call()));
  Instruction* const c = config.beta != 0 ? m.operand(2) : nullptr;
  Instruction* const bias = config.epilogue.bias ? m.operand(expected - 1) : nullptr;
  const Finished finished = TRY(Finish(m, config, TRY(Product(m, config)), c, bias));
  CallResults results = {m.Rounded(finished.value, MainShape(m.call()).type())};
  if (config.epilogue.aux) results.push_back(m.Rounded(finished.before_activation, MainShape(m.call()).type()));
  return results;
}

// (A, B[, C], a_scale, b_scale[, bias][, d_scale]) -> (D[, aux][, amax][, workspace]). amax is the largest magnitude
// before d_scale.
Result<CallResults> MeaningOfMatmulF8(Meaning& m) {
  MatmulConfig config = TRY(ReadMatmul(m.call()));
  const int64_t fixed = 4 + int64_t{config.beta != 0} + int64_t{config.epilogue.bias};
  if (m.operand_count() != fixed && m.operand_count() != fixed + 1) FAIL(WrongOperands(m.call()));
  int64_t next = 2;
  Instruction* const c = config.beta != 0 ? m.operand(next++) : nullptr;
  Instruction *const a_scale = m.operand(next), *const b_scale = m.operand(next + 1);
  next += 2;
  Instruction* const bias = config.epilogue.bias ? m.operand(next++) : nullptr;
  Instruction* const d_scale = m.operand_count() > fixed ? m.operand(next) : nullptr;
  for (const Instruction* scale : {a_scale, b_scale, d_scale}) {
    if (scale != nullptr && !scale->shape().IsScalar())
      FAIL(UnsupportedCall(m.call(), Str("with scales ", scale->shape(), ", one for each block")));
  }
  Instruction* product = TRY(Product(m, config));
  const Shape wide = product->shape();
  const auto scale = [&](Instruction* x, Instruction* by) {
    return m.Times(x, m.Broadcast(m.Converted(by, wide.type()), wide, {}));
  };
  product = m.Times(
      product, m.Broadcast(m.Times(m.Converted(a_scale, wide.type()), m.Converted(b_scale, wide.type())), wide, {}));
  const Finished finished = TRY(Finish(m, config, product, c, bias));
  Instruction* const value = d_scale != nullptr ? scale(finished.value, d_scale) : finished.value;
  CallResults results = {m.Rounded(value, MainShape(m.call()).type())};
  if (config.epilogue.aux) results.push_back(m.Rounded(finished.before_activation, MainShape(m.call()).type()));
  if (config.amax) {
    std::vector<int64_t> all;
    for (int64_t d = 0; d < wide.rank(); ++d) all.push_back(d);
    results.push_back(m.Reduced(m.Unary(Opcode::kAbs, finished.value), all, Opcode::kMaximum, 0));
  }
  return results;
}

// (a, b) -> x or (x, workspace).
Result<CallResults> MeaningOfTriangularSolve(Meaning& m) {
  if (m.operand_count() != 2) FAIL(WrongOperands(m.call()));
  const JsonValue json = TRY(ConfigOf(m.call(), "triangular_solve_backend_config"));
  TriangularSolveAttrs attrs;
  attrs.left_side = json["left_side"].IsTrue();
  attrs.lower = json["lower"].IsTrue();
  attrs.unit_diagonal = json["unit_diagonal"].IsTrue();
  const std::string* transpose = json["transpose_a"].String();
  attrs.transpose_a = transpose != nullptr && *transpose == "TRANSPOSE" ? TransposeKind::kTranspose
                      : transpose != nullptr && *transpose == "ADJOINT" ? TransposeKind::kAdjoint
                                                                        : TransposeKind::kNoTranspose;
  return CallResults{m.Add(Opcode::kTriangularSolve, m.operand(1)->shape(), {m.operand(0), m.operand(1)}, attrs)};
}

// (lhs, rhs, lhs_scale[, rhs_scale]) -> D[batch..., m, n]: scaled-dot over the last dimension of both sides.
Result<CallResults> MeaningOfBlockScaledDot(Meaning& m) {
  if (m.operand_count() != 3 && m.operand_count() != 4) FAIL(WrongOperands(m.call()));
  const Shape &lhs = m.operand(0)->shape(), &rhs = m.operand(1)->shape();
  const int64_t rank = lhs.rank();
  if (rank < 2 || rhs.rank() != rank)
    FAIL(
        UnsupportedCall(m.call(), Str("of ", lhs, " and ", rhs, ", which are not batches of matrices of equal rank,")));
  DotAttrs attrs;
  Dims dims;
  for (int64_t d = 0; d + 2 < rank; ++d) {
    attrs.lhs_batch.push_back(d);
    attrs.rhs_batch.push_back(d);
    dims.push_back(lhs.dim(d));
  }
  attrs.lhs_contracting = attrs.rhs_contracting = {rank - 1};
  for (const Shape* side : {&lhs, &rhs}) dims.push_back(side->dim(rank - 2));
  Instruction* const rhs_scale = m.operand_count() == 4 ? m.operand(3) : m.Constant(1, Shape::Scalar(rhs.type()));
  const PrimitiveType type = MainShape(m.call()).type();
  Instruction* const product = m.Add(Opcode::kScaledDot, Shape(WideTypeOf(type), dims),
                                     {m.operand(0), m.operand(1), m.operand(2), rhs_scale}, attrs);
  return CallResults{m.Rounded(product, type)};
}

}  // namespace hlo
