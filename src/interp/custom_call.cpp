// Targets of custom calls, and the handlers without a library: docs/ops.md#custom-calls.
#include "interp/custom_call.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "interp/devices/manual_regions.h"
#include "interp/dynamic.h"
#include "interp/library_call.h"
#include "interp/program.h"
#include "ir/fusion.h"
#include "ir/markers.h"
#include "ir/module.h"

namespace hlo {

Literal TopKOf(const Literal& operand, int64_t k, bool largest, const Shape& values_shape, const Shape& indices_shape);

namespace {

using CustomHandler = Result<Literal> (*)(Evaluation& e);

// The value of a marker is its operands, or the partition's parts of them if it begins a manual region.
Result<Literal> MarkedValue(Evaluation& e) {
  const bool splits = MarkerOf(e.inst) == Marker::kShard || MarkerOf(e.inst) == Marker::kWhole;
  if (!IsIdentityMarker(e.inst)) {
    if (splits) return BeginManualRegion(e);
    FAIL(UnsupportedCall(e.inst, Str("with result ", e.inst.shape(), ", which is not the shape of its operands,")));
  }
  if (MarkerOf(e.inst) == Marker::kNotice) return Literal::Tuple({});
  if (e.operands.size() == 1 && Compatible(e.operands[0].shape(), e.inst.shape())) return std::move(e.operands[0]);
  return Literal::Tuple({std::make_move_iterator(e.operands.begin()), std::make_move_iterator(e.operands.end())});
}

// Whether the result is (T[..., k], s32[..., k]) for T[..., n], with k <= n.
bool FitsTopK(const Shape& from, const Shape& result) {
  if (!from.IsArray() || from.rank() == 0 || IsComplex(from.type())) return false;
  if (!result.IsTuple() || result.elements().size() != 2 || result.element(0).rank() != from.rank()) return false;
  Shape values = from;
  values.SetDim(from.rank() - 1, std::min(from.dims().back(), result.element(0).dims().back()));
  return Compatible(values, result.element(0)) && Compatible(values.WithType(PrimitiveType::kS32), result.element(1));
}

// The largest elements come first, unless a comparator has another direction than GT.
Result<Literal> TopK(Evaluation& e) {
  const CustomCallAttrs& attrs = e.inst.attrs<CustomCallAttrs>();
  bool largest = true;
  for (const Computation* computation : attrs.called_computations) {
    const Instruction& root = computation->root();
    largest = !root.Is(Opcode::kCompare) || root.attrs<CompareAttrs>().direction == ComparisonDirection::kGt;
  }
  const Shape& shape = e.inst.shape();
  if (e.operands.size() != 1 || !FitsTopK(e.operands[0].shape(), shape)) {
    std::vector<Shape> from;
    for (const Literal& operand : e.operands) from.push_back(operand.shape());
    FAIL(UnsupportedCall(e.inst, Str("of (", Join(from, ", "), ") with result ", shape)));
  }
  return TopKOf(e.operands[0], shape.element(0).dims().back(), largest, shape.element(0), shape.element(1));
}

// Reads {reduction_dim = 1 : i64, ...} or JSON.
std::optional<int64_t> ReductionDimension(const Instruction& inst) {
  constexpr std::string_view kKey = "reduction_dim";
  const std::string text = ConfigText(inst);
  size_t at = text.find(kKey);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_not_of("\" =:", at + kKey.size());
  const size_t end = text.find_first_not_of("0123456789", at);
  int64_t dimension = 0;
  const bool fine = at != std::string::npos &&
                    ParseInt(std::string_view(text).substr(at, end == std::string::npos ? end : end - at), &dimension);
  return fine ? std::optional(dimension) : std::nullopt;
}

// (values..., initial values...) -> the best values, best first. They are exact, which meets every recall target.
Result<Literal> ApproxTopK(Evaluation& e) {
  const auto& called = e.inst.attrs<CustomCallAttrs>().called_computations;
  const size_t count = e.operands.size() / 2;
  const Shape& shape = e.inst.shape();
  const auto dimension = ReductionDimension(e.inst);
  const bool tuple = shape.IsTuple() && shape.elements().size() == count;
  if (called.size() != 1 || count == 0 || e.operands.size() % 2 != 0 || !(tuple || (!shape.IsTuple() && count == 1)) ||
      called[0]->parameters().size() != 2 * count || !dimension || *dimension >= e.operands[0].shape().rank())
    FAIL(UnsupportedCall(e.inst, Str("of ", e.operands.size(), " operands with result ", shape)));
  Module scratch("approx_top_k");
  Computation& entry = scratch.AddComputation("best");
  Operands parameters;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < count; ++i) {
    shapes.push_back(e.operands[i].shape());
    parameters.push_back(&entry.AddParameter(static_cast<int64_t>(i), shapes[i]));
    const Shape& written = tuple ? shape.element(static_cast<int64_t>(i)) : shape;
    Shape fits = shapes[i];
    if (written.rank() == fits.rank()) fits.SetDim(*dimension, std::min(fits.dim(*dimension), written.dim(*dimension)));
    if (!Compatible(fits, written) || !SameDims(shapes[i], shapes[0]))
      FAIL(UnsupportedCall(e.inst, Str("of ", shapes[i], " with result ", shape)));
  }
  SortAttrs attrs;
  attrs.dimension.value = *dimension;
  attrs.is_stable = true;
  attrs.to_apply = called[0];
  const Shape sorted_shape = count == 1 ? shapes[0] : Shape::Tuple(shapes);
  Instruction& sort = entry.Add(Opcode::kSort, sorted_shape, parameters, attrs);
  if (const auto rule = RowOf(Opcode::kSort).shape_rule(sort); !rule)
    FAIL(UnsupportedCall(e.inst,
                         Str("whose operands and comparator do not fit together (", rule.error().message(), ")")));
  Evaluation inner = {sort, e.operands.first(count), e.session};
  const Literal sorted = TRY(EvalSort(inner));
  std::vector<Literal> best;
  for (size_t i = 0; i < count; ++i) {
    const Literal& all = count == 1 ? sorted : sorted.elements()[i];
    Literal& part = best.emplace_back(tuple ? shape.element(static_cast<int64_t>(i)) : shape);
    const std::vector<int64_t> origin(part.shape().rank(), 0);
    CopyBox(all, origin, part, origin, part.shape().dims());
  }
  return tuple ? Literal::Tuple(std::move(best)) : std::move(best[0]);
}

Result<Literal> GetRngSeed(Evaluation& e) {
  Literal seed(e.inst.shape());
  seed.SetInt(0, static_cast<int64_t>(e.session.options().seed));
  return seed;
}

template <Opcode opcode>
Result<Literal> Function(Evaluation& e) {
  Module scratch("function");
  Computation& computation = scratch.AddComputation("function");
  std::vector<Instruction*> x;
  for (const Literal& operand : e.operands)
    x.push_back(&computation.AddParameter(static_cast<int64_t>(x.size()), operand.shape()));
  if (x.size() != 1 || !Compatible(x[0]->shape(), e.inst.shape()))
    FAIL(UnsupportedCall(e.inst, Str("whose result ", e.inst.shape(), " is not the shape of its one operand")));
  Literal operands[] = {e.operands[0], e.operands[0]};
  if constexpr (opcode == Opcode::kAtan2) {
    Literal one(e.inst.shape());
    for (int64_t i = 0; i < one.shape().NumElements(); ++i) one.SetDouble(i, 1);
    operands[1] = std::move(one);
    x.push_back(&computation.AddParameter(1, x[0]->shape()));
  }
  const Instruction& function = computation.Add(opcode, e.inst.shape(), Operands(x.begin(), x.end()));
  if (const auto shape = RowOf(opcode).shape_rule(function); !shape)
    FAIL(UnsupportedCall(e.inst, Str("of element type ", e.inst.shape().type())));
  Evaluation inner = {function, std::span(operands).first(x.size()), e.session};
  return EvalElementwise(inner);
}

Result<Literal> Rewrapped(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  if (e.operands.empty()) return Literal(shape);
  const Shape& from = e.operands[0].shape();
  if (e.operands.size() != 1 || !shape.IsArray() || !SameDims(from, shape) || from.type() != shape.type())
    FAIL(UnsupportedCall(e.inst, Str("from ", from, " to ", shape)));
  return e.operands[0].WithShape(shape);
}

Result<Literal> X64Combine(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  if (e.operands.size() != 2 || !IsInteger(shape.type()) || BitWidth(shape.type()) != 64 ||
      e.operands[0].shape().type() != PrimitiveType::kU32 || e.operands[1].shape().type() != PrimitiveType::kU32 ||
      !SameDims(e.operands[0].shape(), shape) || !SameDims(e.operands[1].shape(), shape)) {
    FAIL(UnsupportedCall(e.inst, Str("with result ", shape)));
  }
  Literal result(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    const auto low = static_cast<uint64_t>(e.operands[0].GetInt(i)),
               high = static_cast<uint64_t>(e.operands[1].GetInt(i));
    result.SetInt(i, static_cast<int64_t>(high << 32 | low));
  }
  return result;
}

template <int shift>
Result<Literal> X64Split(Evaluation& e) {
  const Shape& shape = e.inst.shape();
  if (e.operands.size() != 1 || shape.type() != PrimitiveType::kU32 || !IsInteger(e.operands[0].shape().type()) ||
      BitWidth(e.operands[0].shape().type()) != 64 || !SameDims(e.operands[0].shape(), shape)) {
    FAIL(UnsupportedCall(e.inst, Str("with result ", shape)));
  }
  Literal result(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i)
    result.SetInt(i, static_cast<int64_t>(static_cast<uint64_t>(e.operands[0].GetInt(i)) >> shift & 0xFFFFFFFF));
  return result;
}

Result<Literal> Composite(Evaluation& e) {
  const auto& called = e.inst.attrs<CustomCallAttrs>().called_computations;
  if (called.size() != 1) FAIL(UnsupportedCall(e.inst, "without a computation that defines it"));
  const Computation& body = *called[0];
  bool fits = body.parameters().size() == e.operands.size() && Compatible(body.root().shape(), e.inst.shape());
  for (size_t i = 0; fits && i < e.operands.size(); ++i)
    fits = Compatible(body.parameters()[i]->shape(), e.operands[i].shape());
  if (!fits) FAIL(UnsupportedCall(e.inst, Str("that calls '", body.name(), "', which has other operands or results")));
  const std::vector<Literal> args(e.operands.begin(), e.operands.end());
  return EvaluateNested(body, args, e.session.options(), e.session.nesting() + 1);
}

// Results beyond MeaningOf's are workspace and become zeros.
Result<Literal> LibraryCall(Evaluation& e) {
  const auto meaning = TRY(MeaningOf(e.inst));
  InterpretOptions options = e.session.options();
  options.on_value = nullptr;
  options.on_iteration = nullptr;
  options.given = nullptr;
  const std::vector<Literal> args(e.operands.begin(), e.operands.end());
  Literal values = TRY(EvaluateNested(meaning->entry(), args, options, e.session.nesting() + 1));
  std::vector<Literal> elements = std::move(values.mutable_elements());
  const Shape& shape = e.inst.shape();
  if (!shape.IsTuple()) return std::move(elements[0]);
  for (auto i = std::ssize(elements); i < std::ssize(shape.elements()); ++i) elements.emplace_back(shape.element(i));
  return Literal::Tuple(std::move(elements));
}

struct Row {
  std::string_view target;
  CustomHandler handler;
};
constexpr Row kRows[] = {
    {"TopK", TopK},
    {"__gpu$TopK", TopK},
    {"ApproxTopK", ApproxTopK},
    {"PartialReduce", ApproxTopK},
    {"GetRngSeed", GetRngSeed},
    {"AllocateBuffer", Rewrapped},
    {"CreateBuffer", Rewrapped},
    {"Pin", Rewrapped},
    {"Unpin", Rewrapped},
    {"X64Combine", X64Combine},
    {"X64SplitLow", X64Split<0>},
    {"X64SplitHigh", X64Split<32>},
    {"SliceToDynamic", SliceToDynamic},
    {"PadToStatic", PadToStatic},
    {"xla_builder.math.Acos", Function<Opcode::kAcos>},
    {"xla_builder.math.Acosh", Function<Opcode::kAcosh>},
    {"xla_builder.math.Asin", Function<Opcode::kAsin>},
    {"xla_builder.math.Asinh", Function<Opcode::kAsinh>},
    {"xla_builder.math.Atan", Function<Opcode::kAtan2>},
    {"xla_builder.math.Atanh", Function<Opcode::kAtanh>},
    {"xla_builder.math.Cosh", Function<Opcode::kCosh>},
    {"xla_builder.math.Sinh", Function<Opcode::kSinh>},
    {"xla_builder.math.Tan", Function<Opcode::kTan>},
    {"xla_builder.math.Erf", Function<Opcode::kErf>},
    {"__cusolver$cholesky", CallCusolverCholesky},
};

// jax.debug.print and similar calls, with the names of all versions.
bool IsCallbackWithoutResults(const Instruction& inst) {
  const std::string_view target = inst.attrs<CustomCallAttrs>().target;
  return inst.shape().IsTuple() && inst.shape().elements().empty() && target.starts_with("xla_") &&
         (target.ends_with("python_cpu_callback") || target.ends_with("python_gpu_callback"));
}

Result<Literal> Nothing(Evaluation&) { return Literal::Tuple({}); }

CustomHandler Find(const Instruction& inst) {
  if (MarkerOf(inst) != Marker::kNone) return MarkedValue;
  const std::string& target = inst.attrs<CustomCallAttrs>().target;
  const auto* row =
      std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.target == target; });
  if (row != std::end(kRows)) return row->handler;
  if (HasMeaning(inst)) return LibraryCall;
  if (target.starts_with("xla_builder.") && !inst.attrs<CustomCallAttrs>().called_computations.empty())
    return Composite;
  if (IsCallbackWithoutResults(inst)) return Nothing;
  return IsLapackTarget(target) ? CallLapack : nullptr;
}

std::string StubFor(const std::string& target) {
  return Str("--custom_call='", Escaped(target), "=zeros' or =FILE.hlo replaces it");
}

std::string HintFor(const std::string& target) {
  std::vector<std::string_view> known = MarkerTargets();
  for (const Row& row : kRows) known.push_back(row.target);
  for (const std::string_view library : LibraryCallTargets()) known.push_back(library);
  const std::vector<std::string> lapack = LapackTargets();
  known.insert(known.end(), lapack.begin(), lapack.end());
  const std::vector<std::string> near = NearNames(target, known);
  return Str(near.empty() ? "" : Str("did you mean \"", Join(near, "\" or \""), "\"? "), StubFor(target));
}

}  // namespace

Error UnsupportedCall(const Instruction& inst, std::string_view what) {
  const std::string& target = inst.attrs<CustomCallAttrs>().target;
  return UnsupportedAt(
             inst, "U007",
             Str("custom-call target \"", Escaped(target), "\" ", what, " is not supported by the interpreter"))
      .Hint(StubFor(target));
}

bool IsKnownCustomCall(const Instruction& inst) { return Find(inst) != nullptr; }

Result<Literal> EvalCustomCall(Evaluation& e) {
  const CustomHandler handler = Find(e.inst);
  if (handler != nullptr) return handler(e);
  const std::string& target = e.inst.attrs<CustomCallAttrs>().target;
  FAIL(UnsupportedAt(e.inst, "U007",
                     Str("custom-call target \"", Escaped(target), "\" has no implementation in the interpreter"))
           .Hint(HintFor(target)));
}

}  // namespace hlo
