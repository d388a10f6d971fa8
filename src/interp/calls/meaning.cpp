#include "interp/calls/meaning.h"

#include <algorithm>
#include <cmath>

#include "base/float_limits.h"
#include "base/text.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

struct Row {
  std::string_view target;
  Result<CallResults> (*meaning)(Meaning& m);
};
constexpr Row kRows[] = {
    {"__cublas$gemm", MeaningOfMatmul},
    {"__cublas$lt$matmul", MeaningOfMatmul},
    {"__cublas$lt$matmul$f8", MeaningOfMatmulF8},
    {"__cublas$triangularSolve", MeaningOfTriangularSolve},
    {"__op$block_scaled_dot", MeaningOfBlockScaledDot},
    {"__cudnn$convForward", MeaningOfConvolution},
    {"__cudnn$convBiasActivationForward", MeaningOfConvolution},
    {"__cudnn$convBackwardInput", MeaningOfConvolutionInputGradient},
    {"__cudnn$convBackwardFilter", MeaningOfConvolutionFilterGradient},
    {"__cudnn$norm", MeaningOfLayerNorm},
    {"xla.gpu.ext.cub_sort_keys", MeaningOfRadixSort},
    {"xla.gpu.ext.cub_sort_keys_unassigned_scratch_size", MeaningOfRadixSort},
    {"xla.gpu.ext.cub_sort_pairs", MeaningOfRadixSort},
    {"xla.gpu.ext.cub_sort_pairs_unassigned_scratch_size", MeaningOfRadixSort},
};

const Row* FindRow(const Instruction& inst) {
  if (!inst.Is(Opcode::kCustomCall)) return nullptr;
  const auto* const row = std::ranges::find(kRows, inst.attrs<CustomCallAttrs>().target, &Row::target);
  return row != std::end(kRows) ? row : nullptr;
}

}  // namespace

bool HasMeaning(const Instruction& inst) { return FindRow(inst) != nullptr; }

std::vector<std::string_view> LibraryCallTargets() {
  std::vector<std::string_view> targets;
  for (const Row& row : kRows) targets.push_back(row.target);
  return targets;
}

Result<std::unique_ptr<Module>> MeaningOf(const Instruction& call) {
  Meaning m(call);
  return m.Finish(TRY(FindRow(call)->meaning(m)));
}

Result<JsonValue> ConfigOf(const Instruction& inst, std::string_view key) {
  const std::string text = ConfigText(inst);
  if (text.empty()) return JsonValue();
  const auto config = ReadJson(text);
  if (!config) FAIL(UnsupportedCall(inst, Str("whose backend_config is not JSON (", config.error().message(), ")")));
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

const Shape& MainShape(const Instruction& inst) {
  return inst.shape().IsTuple() && !inst.shape().elements().empty() ? inst.shape().element(0) : inst.shape();
}

Error WrongOperands(const Instruction& inst) {
  return UnsupportedCall(inst, Str("with ", inst.operand_count(), " operands and this backend_config"));
}

Instruction* Meaning::Constant(std::complex<double> value, const Shape& shape) {
  Literal scalar(Shape::Scalar(shape.type()));
  if (IsComplex(shape.type())) scalar.SetComplex(0, value);
  else scalar.SetDouble(0, value.real());
  return Broadcast(&entry_.AddConstant(std::move(scalar)), shape, {});
}

Instruction* Meaning::Transposed(Instruction* x, const std::vector<int64_t>& order) {
  Dims dims;
  for (const int64_t d : order) dims.push_back(x->shape().dim(d));
  return Add(Opcode::kTranspose, Shape(x->shape().type(), dims), {x}, DimensionsAttrs{order});
}

Instruction* Meaning::IfAbove(Instruction* x, double limit, Instruction* then, Instruction* otherwise) {
  CompareAttrs attrs;
  attrs.direction = ComparisonDirection::kGt;
  Instruction* const above =
      Add(Opcode::kCompare, x->shape().WithType(PrimitiveType::kPred), {x, Constant(limit, x->shape())}, attrs);
  return Add(Opcode::kSelect, x->shape(), {above, then, otherwise});
}

Instruction* Meaning::Reduced(Instruction* x, std::vector<int64_t> dimensions, Opcode combine, double start) {
  Computation& body = module_->AddComputation("combine");
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

Instruction* Meaning::Rounded(Instruction* x, PrimitiveType type) {
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

Result<std::unique_ptr<Module>> Meaning::Finish(const CallResults& results) {
  TRY(Check());
  const Shape& shape = call_.shape();
  const size_t wanted = shape.IsTuple() ? shape.elements().size() : 1;
  if (wanted < results.size() || (!shape.IsTuple() && results.size() != 1))
    FAIL(UnsupportedCall(call_,
                         Str("whose result is ", shape, " and not a tuple of ", results.size(), " or more arrays")));
  for (size_t i = 0; i < results.size(); ++i) {
    const Shape& written = shape.IsTuple() ? shape.element(static_cast<int64_t>(i)) : shape;
    if (!Compatible(results[i]->shape(), written))
      FAIL(UnsupportedCall(call_, Str("whose result ", i, " is ", written, " and not ", results[i]->shape())));
  }
  entry_.SetRoot(entry_.AddTuple(Operands(results.begin(), results.end())));
  return std::move(module_);
}

Status Meaning::Check() const {
  for (const Instruction* inst : entry_.instructions()) {
    const auto shape = RowOf(inst->opcode()).shape_rule(*inst);
    if (shape && (!shape->IsArray() || SameDims(*shape, inst->shape()))) continue;
    FAIL(UnsupportedCall(call_,
                         Str("whose operands do not fit together (",
                             shape ? Str("'", inst->opcode(), "' gives ", *shape) : shape.error().message(), ")")));
  }
  return {};
}

Instruction* Relu(Meaning& m, Instruction* x) { return m.Binary(Opcode::kMaximum, x, m.Constant(0, x->shape())); }

Instruction* GeluOfTanh(Meaning& m, Instruction* x) {
  Instruction* const cube = m.Times(m.Times(x, x), x);
  Instruction* const inner = m.Scaled(m.Plus(x, m.Scaled(cube, 0.044715)), std::sqrt(2 / M_PI));
  return m.Times(m.Scaled(x, 0.5), m.Plus(m.Unary(Opcode::kTanh, inner), m.Constant(1, x->shape())));
}

}  // namespace hlo
