// Data movements. The interpreter moves values, bounds and flags, and computes the source of each element.
#include <algorithm>
#include <unordered_set>

#include "interp/interpreter.h"
#include "ir/analysis/movement.h"
#include "ir/opcode_set.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {
namespace {

class Movement {
 public:
  Movement(const Instruction& inst, PrimitiveType type) : module_("movement"), data_(DataOperands(inst)) {
    Computation& entry = module_.AddComputation("entry");
    std::vector<Instruction*> operands;
    for (int64_t i = 0; i < inst.operand_count(); ++i) {
      const Shape& shape = inst.operand(i).shape();
      operands.push_back(&entry.AddParameter(i, i < data_ ? shape.WithType(type) : shape));
    }
    Shape result = inst.shape().WithType(type);
    result.SetLayout(inst.shape().layout());
    for (int64_t i = 0; i < data_; ++i) {
      Shape shape = operands[i]->shape();
      shape.SetLayout(inst.operand(i).shape().layout());
      operands[i]->SetShape(shape);
    }
    clone_ = &entry.AddClone(inst, result, operands);
    entry.SetRoot(*clone_);
    module_.SetEntry(entry);
  }

  Result<Literal> operator()(std::vector<Literal> operands) const { return Evaluate(*clone_, operands); }

 private:
  Module module_;
  int64_t data_;
  Instruction* clone_;
};

// `part` of each data operand. If it is absent, `bound` replaces `likely`, and zeros replace other parts. Index
// operands are unchanged.
std::vector<Literal> Parts(const Instruction& inst, Operands operands, Literal ShadowValue::* part,
                           PrimitiveType type) {
  std::vector<Literal> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    const ShadowValue& operand = *operands[i];
    if (i >= DataOperands(inst)) {
      parts.push_back(operand.exact);
    } else if ((operand.*part).byte_size() != 0) {
      parts.push_back(operand.*part);
    } else if (part == &ShadowValue::likely && operand.HasBound()) {
      parts.push_back(operand.bound);
    } else {
      parts.push_back(Literal(operand.shape.WithType(type)));
    }
  }
  return parts;
}

// Null unless exactly one operand has choices.
Result<std::shared_ptr<const Choices>> MovedChoices(const Instruction& inst, Operands operands) {
  const auto data = operands.first(DataOperands(inst));
  const auto has_choices = [](const ShadowValue* operand) { return operand->choices != nullptr; };
  if (std::ranges::count_if(data, has_choices) != 1) return nullptr;
  const int64_t number = std::ranges::find_if(data, has_choices) - data.begin();
  Choices moved = *operands[number]->choices;
  const Literal source = TRY(SourceOf(inst, number, operands));
  std::vector<int64_t> of;
  for (const int64_t from : source.data<int64_t>()) of.push_back(from < 0 ? -1 : moved.DecisionOf(from));
  moved.of = std::move(of);
  return std::make_shared<const Choices>(std::move(moved));
}

}  // namespace

Result<ShadowValue> Move(Context& context, const Instruction& inst, Operands operands) {
  const int64_t data = DataOperands(inst);
  for (int64_t i = data; i < inst.operand_count(); ++i) {
    if (AnyOpen(*operands[i])) return Undetermined(inst.shape());
  }
  ShadowValue result;
  result.shape = inst.shape();
  result.choices = TRY(MovedChoices(inst, operands));
  const auto any = [&](auto&& has) {
    return std::ranges::any_of(operands.first(data), [&](const ShadowValue* operand) { return has(*operand); });
  };
  if (!result.IsFloat()) {
    result.exact = TRY(Evaluate(inst, Parts(inst, operands, &ShadowValue::exact, inst.shape().type())));
    if (any([](const ShadowValue& v) { return v.HasOpen(); })) {
      const Movement move(inst, PrimitiveType::kPred);
      result.open = TRY(move(Parts(inst, operands, &ShadowValue::open, PrimitiveType::kPred)));
    }
    return result;
  }
  const PrimitiveType wide = PrimitiveType::kF64;
  const Movement move(inst, wide);
  result.held = operands[0]->held;
  for (const ShadowValue* operand : operands.first(data)) {
    if (BitWidth(operand->held) > BitWidth(result.held)) result.held = operand->held;
  }
  result.value = TRY(move(Parts(inst, operands, &ShadowValue::value, wide)));
  if (!any([](const ShadowValue& v) { return v.HasBound(); })) return result;
  result.bound = TRY(move(Parts(inst, operands, &ShadowValue::bound, wide)));
  if (any([](const ShadowValue& v) { return v.HasLikely(); })) {
    result.likely = TRY(move(Parts(inst, operands, &ShadowValue::likely, wide)));
  }
  return result;
}

Result<Literal> SourceOf(const Instruction& inst, int64_t number, Operands operands) {
  std::vector<Literal> parts;
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (i >= DataOperands(inst)) {
      if (operands.empty())
        FAIL(UnsupportedAt(inst, "U040", Str("which elements '", inst.name(), "' moves depends on data")));
      parts.push_back(operands[i]->exact);
      continue;
    }
    Literal indices(inst.operand(i).shape().WithType(PrimitiveType::kS64));
    auto data = indices.mutable_data<int64_t>();
    for (size_t j = 0; j < data.size(); ++j) data[j] = i == number ? static_cast<int64_t>(j) : -1;
    parts.push_back(std::move(indices));
  }
  const Movement move(inst, PrimitiveType::kS64);
  return move(std::move(parts));
}

bool KeepsBitsOfNaN(const Context& context, const Instruction& inst) {
  std::vector<const Instruction*> pending{&inst};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction& next = *pending.back();
    pending.pop_back();
    if (!seen.insert(&next).second || (context.options.given && context.options.given(next))) continue;
    int64_t first = 0, end = next.operand_count();
    switch (next.opcode()) {
      case Opcode::kConstant:
      case Opcode::kBitcastConvert: continue;
      case Opcode::kParameter:
        // The caller decides for parameters of called computations.
        if (&next.computation() != context.top) return false;
        continue;
      case Opcode::kSelect: first = 1; break;
      case Opcode::kTuple:
      case Opcode::kGetTupleElement:
      case Opcode::kOptimizationBarrier: break;
      case Opcode::kCopy:
        if (next.shape().type() != next.operand(0).shape().type()) return false;
        break;
      default:
        if (!IsMovement(next)) return false;
        end = DataOperands(next);
    }
    for (int64_t i = first; i < end; ++i) pending.push_back(&next.operand(i));
  }
  return true;
}

bool AddsUpToZero(const Context& context, const Instruction& inst) {
  constexpr OpcodeSet kSums = {Opcode::kAdd,
                               Opcode::kSubtract,
                               Opcode::kReduce,
                               Opcode::kReduceWindow,
                               Opcode::kDot,
                               Opcode::kConvolution,
                               Opcode::kBatchNormTraining,
                               Opcode::kBatchNormInference,
                               Opcode::kBatchNormGrad};
  std::vector<const Instruction*> pending{&inst};
  std::unordered_set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction& next = *pending.back();
    pending.pop_back();
    const bool has_no_sign = next.shape().IsArray() && !IsFloat(next.shape().type()) && !IsComplex(next.shape().type());
    if (has_no_sign || !seen.insert(&next).second || (context.options.given && context.options.given(next))) continue;
    if (kSums.Has(next.opcode())) return true;
    for (const Instruction* operand : next.operands()) pending.push_back(operand);
  }
  return false;
}

}  // namespace hlo::shadow
