// Evaluates computations: needed instructions, control flow, and the rule of each instruction.
#include "judge/bounds/shadow.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "interp/interpreter.h"
#include "interp/library_call.h"
#include "ir/analysis/movement.h"
#include "ir/analysis/taken_branch.h"
#include "ir/markers.h"
#include "judge/bounds/loop.h"
#include "judge/bounds/rules.h"

namespace hlo {
namespace shadow {

const WantedResults* Context::WantedOf(const Instruction& inst) const {
  if (options.wanted == nullptr) return nullptr;
  const auto it = options.wanted->find(&inst);
  return it == options.wanted->end() ? nullptr : &it->second;
}

std::vector<const Instruction*> NeededOrder(const Context& context, const Instruction& root) {
  std::unordered_set<const Instruction*> needed{&root};
  const std::vector<Instruction*> order = root.computation().PostOrder();
  std::vector<const Instruction*> result;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    if (!needed.contains(*it)) continue;
    result.push_back(*it);
    if (*it != &root && context.options.given && context.options.given(**it)) continue;
    needed.insert((*it)->operands().begin(), (*it)->operands().end());
  }
  std::ranges::reverse(result);
  return result;
}

namespace {

using ValueMap = std::unordered_map<const Instruction*, ShadowValue>;

Result<ShadowValue> RunWhile(Context& context, const Instruction& inst, const ShadowValue& init) {
  std::shared_ptr<Loop>& known = context.loops[&inst];
  if (known == nullptr) known = std::make_shared<Loop>(inst);
  const std::shared_ptr<Loop> loop = known;
  return loop->Run(context, init);
}

Result<ShadowValue> RunConditional(Context& context, const Instruction& inst, Operands operands) {
  const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
  const ShadowValue& selector = *operands[0];
  if (IsOpen(selector) && !HasComputed(context, selector)) return Undetermined(inst.shape());
  const int64_t branch = TakenBranch(selector.exact, std::ssize(branches));
  ShadowValue result = TRY(Run(context, *branches[branch], operands.subspan(branch + 1, 1)));
  return IsOpen(selector) ? UndeterminedOf(std::move(result)) : std::move(result);
}

Result<ShadowValue> Mapped(Context& context, const Instruction& inst, Operands operands) {
  const Lifted body(*inst.attrs<MapAttrs>().to_apply, inst.shape().dims());
  std::vector<ShadowValue> arrays;
  for (const ShadowValue* operand : operands) {
    const bool repeats = operand->shape.IsScalar() && !inst.shape().IsScalar();
    arrays.push_back(repeats ? Splat(*operand, inst.shape().WithType(operand->shape.type())) : *operand);
  }
  std::vector<const ShadowValue*> args;
  for (const ShadowValue& array : arrays) args.push_back(&array);
  return body(context, args);
}

ShadowValue Marked(const Shape& shape, Operands operands) {
  const bool one = operands.size() == 1 && Compatible(operands[0]->shape, shape);
  ShadowValue marked = one ? *operands[0] : ShadowValue();
  marked.shape = shape;
  for (size_t i = 0; !one && i < shape.elements().size(); ++i) marked.elements.push_back(*operands[i]);
  return marked;
}

Result<ShadowValue> ByRule(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted) {
  if (inst.shape().IsArray() && inst.shape().NumElements() == 0) return ToShadow(Literal(inst.shape()));
  switch (inst.opcode()) {
    case Opcode::kConstant: {
      ShadowValue value = ToShadow(inst.literal());
      value.shape = inst.shape();
      return value;
    }
    case Opcode::kTuple: {
      ShadowValue tuple;
      tuple.shape = inst.shape();
      for (const ShadowValue* operand : operands) tuple.elements.push_back(*operand);
      return tuple;
    }
    case Opcode::kGetTupleElement: return operands[0]->elements[inst.tuple_index()];
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: return *operands[0];
    case Opcode::kCopy: {
      if (inst.shape().type() != inst.operand(0).shape().type()) break;
      ShadowValue copy = *operands[0];
      copy.shape = inst.shape();
      return copy;
    }
    case Opcode::kCustomCall: {
      if (HasMeaning(inst)) return LibraryCall(context, inst, operands);
      const bool nothing = inst.shape().IsTuple() && inst.shape().elements().empty();
      if (!nothing && !IsIdentityMarker(inst)) break;
      return Marked(inst.shape(), operands);
    }
    case Opcode::kCall: return Run(context, *inst.attrs<CallAttrs>().to_apply, operands);
    case Opcode::kFusion: return Run(context, *inst.attrs<FusionAttrs>().calls, operands);
    case Opcode::kMap: return Mapped(context, inst, operands);
    case Opcode::kWhile: return RunWhile(context, inst, *operands[0]);
    case Opcode::kConditional: return RunConditional(context, inst, operands);
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return BatchNorm(context, inst, operands);
    case Opcode::kReduce: return Reduce(context, inst, operands);
    case Opcode::kReduceWindow: return ReduceWindow(context, inst, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(context, inst, operands);
    case Opcode::kScatter: return Scatter(context, inst, operands);
    case Opcode::kDot: return Dot(context, inst, operands, wanted);
    case Opcode::kConvolution: return Convolution(context, inst, operands, wanted);
    default: break;
  }
  if (!context.options.widened && HasMatrixRule(inst)) return OfMatrices(context, inst, operands);
  if (IsMovement(inst)) return Move(context, inst, operands);
  if (IsElementwiseRule(inst)) return Elementwise(context, inst, operands);

  const bool integers =
      IsExactType(inst.shape()) &&
      std::ranges::all_of(inst.operands(), [](const Instruction* operand) { return IsExactType(operand->shape()); });
  switch (inst.opcode()) {
    case Opcode::kSort:
    case Opcode::kTopK:
      if (auto ranked = TRY(SortByRanks(context, inst, operands))) return std::move(*ranked);
      return ThroughInterpreter(context, inst, operands);
    case Opcode::kIota:
    case Opcode::kStochasticConvert:
    case Opcode::kRng:
    case Opcode::kRngBitGenerator:
    case Opcode::kGetDimensionSize:
    case Opcode::kSetDimensionSize: return ThroughInterpreter(context, inst, operands);
    case Opcode::kBitcastConvert:
    case Opcode::kBitcast: return BitsOf(context, inst, operands);
    default: break;
  }
  if (integers) return ThroughInterpreter(context, inst, operands);
  FAIL(UnsupportedAt(inst, "U041", Str("no error bounds for '", inst.opcode(), "' on ", inst.shape())));
}

// The value that users inside a kernel read of an output. The comparison judges the overflow of the output itself, but
// a user may read the infinite value or the wider one. Nullopt if nothing overflows.
std::optional<ShadowValue> AsRead(const Context& context, const Instruction& output, const ShadowValue& value) {
  if (!value.shape.IsArray() || !value.IsFloat() || context.options.widened) return std::nullopt;
  const double overflow = RoundingTo(output.shape().type(), context.ftz()).overflow;
  const double* v = Values(value.value);
  const double* e = value.HasBound() ? Values(value.bound) : nullptr;
  const auto overflows = [&](int64_t i) {
    return std::isfinite(v[i]) && std::fabs(v[i]) + (e == nullptr ? 0 : e[i]) >= overflow;
  };
  std::optional<ShadowValue> read;
  for (int64_t i = 0; i < value.shape.NumElements(); ++i) {
    if (!overflows(i)) continue;
    if (!read) {
      read = value;
      if (!read->HasBound()) read->bound = Zeros(value.shape);
    }
    read->bound.mutable_data<double>()[i] = kUndetermined;
    if (read->HasLikely()) read->likely.mutable_data<double>()[i] = kUndetermined;
  }
  return read;
}

Result<ShadowValue> RunInOrder(Context& context, const Instruction& root, Operands args,
                               const std::vector<const Instruction*>& order) {
  ValueMap values, read;
  std::unordered_map<const Instruction*, int64_t> uses;
  for (const Instruction* inst : order) {
    for (const Instruction* operand : inst->operands()) ++uses[operand];
  }
  ++uses[&root];
  for (const Instruction* inst : order) {
    std::optional<ShadowValue> given;
    if (context.options.given && inst != &root) given = context.options.given(*inst);
    if (given) {
      values[inst] = std::move(*given);
    } else if (inst->Is(Opcode::kParameter)) {
      values[inst] = *args[inst->parameter_number()];
    } else {
      std::vector<const ShadowValue*> operands;
      for (const Instruction* operand : inst->operands()) {
        const auto other = inst->Is(Opcode::kTuple) ? read.end() : read.find(operand);
        operands.push_back(other != read.end() ? &other->second : &values[operand]);
      }
      values[inst] = TRY(RunInstruction(context, *inst, operands, context.WantedOf(*inst)));
      if (uses[inst] > 1 && context.IsOutput(*inst)) {
        if (auto other = AsRead(context, *inst, values[inst])) read[inst] = std::move(*other);
      }
    }
    for (const Instruction* operand : inst->operands()) {
      if (--uses[operand] > 0) continue;
      values.erase(operand);
      read.erase(operand);
    }
  }
  return std::move(values[&root]);
}

// Rounds results of a kernel that were held in wider types.
void RoundToDeclared(ShadowValue& value, bool ftz) {
  for (ShadowValue& element : value.elements) RoundToDeclared(element, ftz);
  if (value.choices) {
    Choices rounded = *value.choices;
    RoundToDeclared(rounded.candidates, ftz);
    value.choices = std::make_shared<const Choices>(std::move(rounded));
  }
  if (!value.shape.IsArray() || !value.IsFloat() || BitWidth(value.held) <= BitWidth(value.shape.type())) return;
  const Rounding rounding = RoundingTo(value.shape.type(), ftz);
  if (!value.HasBound()) return;  // Arguments and constants are exact in the declared type.
  for (Literal* literal : {&value.bound, &value.likely}) {
    if (literal->byte_size() == 0) continue;
    auto bound = literal->mutable_data<double>();
    const double* v = Values(value.value);
    for (size_t i = 0; i < bound.size(); ++i)
      bound[i] = (bound[i] + HalfUlp(rounding, (std::fabs(v[i]) + bound[i]) * kUp)) * kUp;
  }
  value.held = value.shape.type();
}

// For two modules, evaluates the rule again, without bounds. Undetermined elements of `result` receive these values.
Status AddComputed(Context& context, const Instruction& inst, Operands operands, const WantedResults* wanted,
                   ShadowValue& result) {
  // Called computations do this for their own instructions.
  if (inst.Is(kControl) || inst.Is(Opcode::kFusion) || inst.Is(Opcode::kMap)) return {};
  // A movement has already moved computed values.
  const auto is_open = [](const ShadowValue* index) { return AnyOpen(*index); };
  if (inst.Is(Opcode::kTuple) || inst.Is(Opcode::kGetTupleElement)) return {};
  if (IsMovement(inst) && std::ranges::none_of(operands.subspan(DataOperands(inst)), is_open)) return {};
  if (!AnyUndetermined(result)) return {};
  std::vector<ShadowValue> computed;
  for (const ShadowValue* operand : operands) computed.push_back(AsComputed(*operand));
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& operand : computed) pointers.push_back(&operand);
  TakeComputed(TRY(ByRule(context, inst, pointers, wanted)), result);
  return {};
}

// Converts to a format that lacks infinities, NaN, zero, negative numbers or -0.
Pair InFormat(FloatFormat format, Pair x) {
  if (!IsDecided(x)) return x;
  constexpr Pair kNan = {std::numeric_limits<double>::quiet_NaN(), 0};
  if (std::isnan(x.value)) {
    if (format.specials == Specials::kFinite) return {-0.0, 0};
    // Formats other than kFn have a single NaN without a sign.
    return format.specials == Specials::kFn ? Pair{x.value, 0} : kNan;
  }
  if (format.specials == Specials::kExponent && !(x.value > x.bound))
    return x.value + x.bound <= 0 || x.bound == 0 ? kNan : Pair{0, kUndetermined};
  if (std::isinf(x.value)) return {DecodeFloat(format, EncodeFloat(format, x.value)), 0};
  if (format.specials == Specials::kFnuz && x.value == 0) return {0, x.bound};
  return x;
}

void HoldInFormat(ShadowValue& value) {
  for (ShadowValue& element : value.elements) HoldInFormat(element);
  const PrimitiveType type = value.shape.IsArray() ? value.shape.type() : PrimitiveType::kF64;
  if (!IsFloat(type) || value.held != type || BitWidth(type) > 8 || FormatOf(type).specials == Specials::kIeee) return;
  const FloatFormat format = FormatOf(type);
  for (int64_t i = 0; i < value.shape.NumElements(); ++i) {
    const double* const bounds = BoundsOrNull(value.bound);
    const Pair is = {Values(value.value)[i], bounds == nullptr ? 0 : bounds[i]}, held = InFormat(format, is);
    if (std::bit_cast<uint64_t>(held.value) == std::bit_cast<uint64_t>(is.value) &&
        (held.bound == is.bound || !IsDecided(is)))
      continue;
    value.value.mutable_data<double>()[i] = held.value;
    if (held.bound == is.bound) continue;
    if (!value.HasBound()) value.bound = Zeros(value.shape);
    value.bound.mutable_data<double>()[i] = held.bound;
    if (value.HasLikely()) value.likely.mutable_data<double>()[i] = held.bound;
  }
}

// f8e8m0fnu has no zero. An empty sum becomes NaN, as in a pass that folds it.
void NoZeroOfNothing(const Instruction& inst, ShadowValue& sum) {
  const bool sums = inst.Is(Opcode::kDot) || inst.Is(Opcode::kConvolution);
  if (!sums || inst.shape().type() != PrimitiveType::kF8E8M0FNU) return;
  const double nothing = Literal::Scalar(inst.shape().type(), 0.0).GetDouble(0);
  std::ranges::replace(sum.value.mutable_data<double>(), 0.0, nothing);
}

}  // namespace

Result<ShadowValue> RunInstruction(Context& context, const Instruction& inst, Operands operands,
                                   const WantedResults* wanted) {
  constexpr int64_t kStepsOfInstruction = 2000;
  TRY(Spend(context, inst, kStepsOfInstruction));
  if (context.instead) {
    if (auto value = TRY(context.instead(inst, operands))) return std::move(*value);
  }
  const bool empty = inst.shape().IsArray() && inst.shape().NumElements() == 0;
  if (context.options.widened && IsComposite(inst)) return Composite(context, inst, operands);
  if (!empty && IsOfComplex(inst)) {
    if (context.options.widened) return OfComplex(context, inst, operands);
    if (auto value = TRY(OfComplexAsDeclared(context, inst, operands, wanted))) return std::move(*value);
  }
  auto by_rule = ByRule(context, inst, operands, wanted);
  if (!by_rule && context.options.widened && by_rule.error().exit == ExitCode::kUnsupported)
    return Interpreted(context, inst, operands);
  ShadowValue result = TRY(std::move(by_rule));
  if (context.options.widened) {
    NoZeroOfNothing(inst, result);
    TRY(AddComputed(context, inst, operands, wanted, result));
  } else {
    HoldInFormat(result);
  }
  const bool copies = inst.Is(Opcode::kCopy) && inst.shape().type() == operands[0]->shape.type();
  if (!inst.Is(kElementwise) || copies) return result;
  result.choices = operands.size() == 1 ? TRY(ChoicesOfUnary(context, inst, *operands[0])) : nullptr;
  return result;
}

Result<ShadowValue> Run(Context& context, const Computation& computation, Operands args) {
  if (context.options.given) {
    if (auto given = context.options.given(computation.root())) return std::move(*given);
  }
  return RunTo(context, computation.root(), args);
}

Result<ShadowValue> RunTo(Context& context, const Instruction& root, Operands args) {
  if (context.depth == kDeepest) {
    FAIL(UnsupportedAt(root, "U002",
                       Str("no error bounds for calls that are nested deeper than ", kDeepest, " levels")));
  }
  ++context.depth;
  auto result = RunInOrder(context, root, args, NeededOrder(context, root));
  --context.depth;
  return result;
}

Status Spend(const Context& context, const Instruction& at, int64_t steps) {
  WorkMeter* const meter = context.options.meter;
  if (meter == nullptr) return {};
  meter->left -= steps;
  if (meter->left >= 0) return {};
  FAIL(ErrorAt(at, "U041", Str("judging '", at.name(), "' takes more than ", meter->limit, " steps"), ExitCode::kLimit)
           .RaisedBy("work_limit"));
}

}  // namespace shadow

bool IsBeyondWork(const Error& error) {
  return error.exit == ExitCode::kLimit && error.diagnostics.front().flag == "work_limit";
}

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const ShadowValue> args,
                              const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &computation};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  Shadow result;
  result.value = TRY(shadow::Run(context, computation, pointers));
  if (!options.widened) shadow::RoundToDeclared(result.value, context.ftz());
  result.heuristic = context.heuristic;
  return result;
}

Result<ShadowValue> EvaluateShadowOf(const Instruction& inst, std::span<const ShadowValue> args,
                                     const ShadowOptions& options) {
  shadow::Context context{.options = options, .top = &inst.computation()};
  std::vector<const ShadowValue*> pointers;
  for (const ShadowValue& arg : args) pointers.push_back(&arg);
  return shadow::RunTo(context, inst, pointers);
}

Result<Shadow> EvaluateShadow(const Computation& computation, std::span<const Literal> args,
                              const ShadowOptions& options) {
  std::vector<ShadowValue> values;
  for (const Literal& arg : args) values.push_back(ToShadow(arg));
  return EvaluateShadow(computation, std::span<const ShadowValue>(values), options);
}

}  // namespace hlo
