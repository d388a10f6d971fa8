// Evaluates computations on numbers: control flow, the choice of a rule for each instruction, and instructions without
// a rule.
#include <algorithm>

#include "base/text.h"
#include "interp/dynamic.h"
#include "ir/analysis/movement.h"
#include "ir/analysis/taken_branch.h"
#include "ir/markers.h"
#include "ir/opcode_set.h"
#include "ir/side_effects.h"
#include "ir/text/printer.h"
#include "judge/kept_values.h"
#include "judge/residues/rules.h"

namespace hlo::residue {
namespace {

using Values = std::unordered_map<const Instruction*, Value>;

std::vector<Literal> LiteralsOf(Operands operands) {
  std::vector<Literal> literals;
  for (const Value* operand : operands) literals.push_back(ToLiteral(*operand));
  return literals;
}

// ---- Instructions without a rule -----------------------------------------------------------------------------------

// The hash includes called computations.
uint64_t HashOfOperation(const Instruction& inst) {
  Module module("one");
  std::unordered_map<const Computation*, Computation*> copies;
  const std::function<Computation*(const Computation&)> copy = [&](const Computation& from) {
    Computation*& to = copies[&from];
    if (to != nullptr) return to;
    to = &module.CloneComputation(from, from.name());
    for (Instruction* inside : to->Instructions())
      ForEachCalled(inside->attributes(), [&](Computation*& called) { called = copy(*called); });
    return to;
  };
  Computation& entry = module.AddComputation("entry");
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : inst.operands())
    parameters.push_back(&entry.AddParameter(std::ssize(parameters), operand->shape().WithDefaultLayout()));
  Instruction& clone = entry.AddClone(inst, inst.shape().WithDefaultLayout(), parameters);
  ForEachCalled(clone.attributes(), [&](Computation*& called) { called = copy(*called); });
  entry.SetRoot(clone);
  module.SetEntry(entry);
  return Fingerprint(module);
}

Value HashedValue(const Literal& result, uint64_t hash) {
  Value value = ToValue(result);
  const auto set = [](auto&& self, Value& part, uint64_t seed) -> void {
    for (size_t i = 0; i < part.parts.size(); ++i) self(self, part.parts[i], Mixed(seed, i));
    if (!part.parts.empty() || !part.shape.IsArray() || !part.IsFloat()) return;
    uint64_t place = 0;
    for (Number& number : MutableNumbers(part)) {
      if (std::isfinite(number.value))
        number = Number::Near(number.value, std::fabs(number.value) * kUnit, Hash(seed, place), false);
      ++place;
    }
  };
  set(set, value, hash);
  return value;
}

// The interpreter's result in the declared types, computed once for both modules.
Result<Value> OpaqueResult(Context& context, const Instruction& inst, Operands operands) {
  const bool is_pure = CanInterpret(inst) && !HasSideEffect(inst) && !inst.Is(kCollective) && !inst.Is(kSideEffect);
  if (!is_pure) FAIL(UnsupportedAt(inst, "U043", Str("no residues for '", inst.opcode(), "'")));
  uint64_t hash = HashOfOperation(inst);
  for (const Value* operand : operands) hash = Mixed(hash, HashOf(*operand));
  Opaque& known = context.shared.opaque[hash];
  if (!known.sides.in_before && !known.sides.in_after) {
    known.result = HashedValue(TRY(Evaluate(inst, LiteralsOf(operands), context.options)), hash);
    if (std::ranges::any_of(operands, [](const Value* operand) { return AnyOpen(*operand); }))
      known.result = Opened(std::move(known.result));
  }
  known.sides.Add(context.of_after);
  return known.result;
}

// The bits of a float are known only if its type represents the number exactly.
Result<Value> BitsOf(const Instruction& inst, const Value& operand) {
  if (operand.IsComplex()) FAIL(UnsupportedAt(inst, "U043", "no residues for bits of complex numbers"));
  const Literal declared = ToLiteral(operand);
  const Value known = ToValue(declared);
  const int64_t count = operand.shape.NumElements();
  Literal open(operand.shape.WithType(PrimitiveType::kPred));
  for (int64_t i = 0; i < count; ++i)
    open.mutable_data<bool>()[i] = operand.IsFloat() ? operand.numbers()[i].open() || known.numbers()[i].residue() !=
                                                                                          operand.numbers()[i].residue()
                                                     : operand.IsOpen(i);
  Value result = ToValue(TRY(Evaluate(inst, {&declared, 1})));
  const std::span<const bool> is_open = open.data<bool>();
  if (std::ranges::find(is_open, true) == is_open.end()) return result;
  if (!result.parts.empty() || result.shape.NumElements() != count) return Opened(std::move(result));
  if (!result.IsFloat()) {
    result.open = open.WithShape(result.shape.WithType(PrimitiveType::kPred));
    return result;
  }
  for (int64_t i = 0; i < count; ++i) MutableNumbers(result)[i].bits |= is_open[i] ? Number::kOpen : 0;
  return result;
}

// ---- Control flow --------------------------------------------------------------------------------------------------

Result<Value> RunWhile(Context& context, const Instruction& inst, Value state) {
  const auto& attrs = inst.attrs<WhileAttrs>();
  for (int64_t iteration = 0;; ++iteration) {
    const Value* const args = &state;
    const Value goes_on = TRY(Run(context, *attrs.condition, {&args, 1}));
    if (AnyOpen(goes_on)) state = Opened(std::move(state));
    if (goes_on.data.GetInt(0) == 0) return state;
    if (context.options.max_loop_iterations > 0 && iteration >= context.options.max_loop_iterations)
      FAIL(ErrorAt(inst, "R005",
                   Str("while '", inst.name(), "' exceeded ", context.options.max_loop_iterations, " iterations"),
                   ExitCode::kLimit));
    if (context.on_iteration) context.on_iteration(inst, iteration);
    state = TRY(Run(context, *attrs.body, {&args, 1}));
  }
}

Result<Value> RunConditional(Context& context, const Instruction& inst, Operands operands) {
  const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
  const int64_t branch = TakenBranch(operands[0]->data, std::ssize(branches));
  Value result = TRY(Run(context, *branches[branch], operands.subspan(branch + 1, 1)));
  return AnyOpen(*operands[0]) ? Opened(std::move(result)) : std::move(result);
}

// ---- Rules ---------------------------------------------------------------------------------------------------------

Value WithShape(Value value, const Shape& shape) {
  value.shape = shape;
  return value;
}

Result<Value> ByRule(Context& context, const Instruction& inst, Operands operands) {
  switch (inst.opcode()) {
    case Opcode::kConstant: return WithShape(ToValue(inst.literal()), inst.shape());
    case Opcode::kTuple: {
      Value tuple = TupleOf(inst.shape(), {});
      for (const Value* operand : operands) tuple.parts.push_back(*operand);
      return tuple;
    }
    case Opcode::kGetTupleElement: return operands[0]->parts[inst.tuple_index()];
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency: return *operands[0];
    case Opcode::kAfterAll: return OfExact(Literal(Shape::Token()));
    case Opcode::kCopy:
      if (!inst.shape().IsArray()) return *operands[0];
      break;
    case Opcode::kCustomCall:
      if (IsIdentityMarker(inst) && operands.size() == 1 && Compatible(operands[0]->shape, inst.shape()))
        return WithShape(*operands[0], inst.shape());
      break;
    case Opcode::kCall: return Run(context, *inst.attrs<CallAttrs>().to_apply, operands);
    case Opcode::kFusion: return Run(context, *inst.attrs<FusionAttrs>().calls, operands);
    case Opcode::kWhile: return RunWhile(context, inst, *operands[0]);
    case Opcode::kConditional: return RunConditional(context, inst, operands);
    case Opcode::kIota:
      if (!inst.shape().IsArray() || !IsFloat(inst.shape().type())) break;
      return WithShape(ToValue(TRY(EvaluateAs(inst, {}, inst.shape().WithType(PrimitiveType::kF64)))), inst.shape());
    case Opcode::kMap: return RunLifted(context, *inst.attrs<MapAttrs>().to_apply, operands, inst.shape().dims());
    case Opcode::kBatchNormTraining:
    case Opcode::kBatchNormInference:
    case Opcode::kBatchNormGrad: return BatchNorm(context, inst, operands);
    default: break;
  }
  const bool exact = IsExactType(inst.shape()) &&
                     std::ranges::all_of(operands, [](const Value* operand) { return IsExactType(operand->shape); });
  const bool is_open = std::ranges::any_of(operands, [](const Value* operand) { return AnyOpen(*operand); });
  if (exact && !is_open && !inst.Is(kSideEffect) && !inst.Is(kCollective))
    return ToValue(TRY(Evaluate(inst, LiteralsOf(operands), context.options)));
  if (IsMovement(inst)) return Moved(inst, operands);
  if (inst.Is(kElementwise)) return Elementwise(context, inst, operands, inst.shape().dims());
  switch (inst.opcode()) {
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert: return BitsOf(inst, *operands[0]);
    case Opcode::kDot:
    case Opcode::kConvolution:
    case Opcode::kRaggedDot: return Dot(context, inst, operands);
    case Opcode::kReduce: return Reduce(context, inst, operands);
    case Opcode::kReduceWindow: return ReduceWindow(context, inst, operands);
    case Opcode::kScatter: return Scatter(context, inst, operands);
    case Opcode::kSelectAndScatter: return SelectAndScatter(context, inst, operands);
    default: FAIL(UnsupportedAt(inst, "U043", Str("no residues for '", inst.opcode(), "'")));
  }
}

Result<Value> RunInstruction(Context& context, const Instruction& inst, Operands operands) {
  if (MayBeDynamic(inst)) FAIL(UnsupportedAt(inst, "U043", "no residues for arrays of dynamic size"));
  constexpr int64_t kStepsOfInstruction = 200;
  int64_t elements = kStepsOfInstruction;
  ForEachLeaf(inst.shape(),
              [&](const ShapeIndex&, const Shape& leaf) { elements += leaf.IsArray() ? leaf.NumElements() : 0; });
  TRY(context.Spend(inst, elements));
  auto result = ByRule(context, inst, operands);
  const bool calls = inst.Is(kControl) || inst.Is(Opcode::kFusion);
  if (result || calls || result.error().exit != ExitCode::kUnsupported) return result;
  return OpaqueResult(context, inst, operands);
}

class NestedCall {
 public:
  explicit NestedCall(Context& context) : context_(context) { ++context_.depth; }
  NestedCall(const NestedCall&) = delete;
  ~NestedCall() { --context_.depth; }

 private:
  Context& context_;
};

}  // namespace

Result<Value> Run(Context& context, const Computation& computation, Operands args) {
  const NestedCall nested(context);
  if (context.depth > 512)
    FAIL(LimitError("R005", Str("calls are nested deeper than 512 levels at '", computation.name(), "'")));
  std::unordered_map<const Instruction*, int64_t> uses;
  std::vector<const Instruction*> needed{&computation.root()};
  uses[&computation.root()] = 1;
  for (size_t i = 0; i < needed.size(); ++i) {
    for (const Instruction* operand : needed[i]->operands()) {
      if (++uses[operand] == 1) needed.push_back(operand);
    }
  }
  Values values;
  for (const Instruction* inst :
       computation.module().header.is_scheduled ? computation.Instructions() : computation.PostOrder()) {
    if (!uses.contains(inst)) {
      if (HasSideEffect(*inst)) FAIL(UnsupportedAt(*inst, "U043", Str("no residues for '", inst->opcode(), "'")));
      continue;
    }
    Value& value = values[inst];
    if (inst->Is(Opcode::kParameter)) {
      value = *args[inst->parameter_number()];
    } else {
      std::vector<const Value*> operands;
      for (const Instruction* operand : inst->operands()) operands.push_back(&values.at(operand));
      value = TRY(RunInstruction(context, *inst, operands));
    }
    if (context.on_value) context.on_value(*inst, value);
    for (const Instruction* operand : inst->operands()) {
      if (--uses[operand] == 0) values.erase(operand);
    }
  }
  return std::move(values.at(&computation.root()));
}

Result<Value> RunUnseen(Context& context, const Computation& computation, Operands args) {
  const auto on_value = std::exchange(context.on_value, nullptr);
  auto result = Run(context, computation, args);
  context.on_value = on_value;
  return result;
}

Result<Value> RunLifted(Context& context, const Computation& computation, Operands args, const Dims& dims) {
  Values values;
  for (const Instruction* inst : computation.PostOrder()) {
    std::vector<const Value*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(&values.at(operand));
    Value& value = values[inst];
    switch (inst->opcode()) {
      case Opcode::kParameter: {
        const Value& arg = *args[inst->parameter_number()];
        value = arg.shape.IsScalar() && !dims.empty() ? Splat(arg, dims) : arg;
        continue;
      }
      case Opcode::kConstant: value = Splat(ToValue(inst->literal()), dims); continue;
      case Opcode::kCall: value = TRY(RunLifted(context, *inst->attrs<CallAttrs>().to_apply, operands, dims)); continue;
      case Opcode::kFusion:
        value = TRY(RunLifted(context, *inst->attrs<FusionAttrs>().calls, operands, dims));
        continue;
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kOptimizationBarrier: value = TRY(ByRule(context, *inst, operands)); continue;
      default: break;
    }
    const bool is_scalar = inst->shape().IsScalar() && inst->operand_count() > 0 && inst->operand(0).shape().IsScalar();
    if (is_scalar && inst->operand_count() == 1 && IsMovement(*inst)) {
      value = *operands[0];
      continue;
    }
    if (!is_scalar || !inst->Is(kElementwise))
      FAIL(UnsupportedAt(*inst, "U043", Str("no residues for '", inst->opcode(), "' in a computation of scalars")));
    value = TRY(Elementwise(context, *inst, operands, dims));
  }
  return std::move(values.at(&computation.root()));
}

}  // namespace hlo::residue
