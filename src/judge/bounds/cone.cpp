#include <algorithm>
#include <cmath>
#include <limits>
#include <ranges>
#include <unordered_set>

#include "judge/bounds/slice.h"
#include "judge/bounds/terms.h"

namespace hlo::shadow {
namespace {

class ConeBuilder {
 public:
  ConeBuilder(std::span<const ConeArgument> args, const PrecisionPlan* plan, const Given& given)
      : args_(args), plan_(plan), given_(given) {
    cone_.module = std::make_unique<Module>("cone");
    entry_ = &cone_.module->AddComputation("cone");
    cone_.module->SetEntry(*entry_);
    if (plan_ != nullptr) {
      cone_.plan.contract = plan_->contract;
      cone_.plan.ftz = plan_->ftz;
    }
  }

  Cone Build(const Instruction& root) && {
    top_ = &root;
    entry_->SetRoot(*Copy(root, nullptr));
    RemoveUnused();
    cone_.steps = StepsOf(*entry_);
    return std::move(cone_);
  }

 private:
  Instruction* AddArgument(const Instruction& inst, ConeArgument argument) {
    cone_.args.push_back(std::move(argument));
    return &entry_->AddParameter(static_cast<int64_t>(cone_.args.size()) - 1, inst.shape(), inst.name());
  }

  void RemoveUnused() {
    for (Instruction* inst : entry_->Instructions() | std::views::reverse) {
      if (!inst->IsRoot() && inst->users().empty() && !inst->Is(Opcode::kParameter)) entry_->Remove(*inst);
    }
  }

  // `params` are the arguments of a call. At the top it is null, and parameters become arguments of the cone.
  Instruction* Copy(const Instruction& root, const std::vector<Instruction*>* params) {
    std::unordered_map<const Instruction*, Instruction*> copies;
    std::unordered_set<const Instruction*> needed{&root};
    const std::vector<Instruction*> order = root.computation().PostOrder();
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (!needed.contains(*it)) continue;
      if (*it != top_ && given_) {
        if (auto argument = given_(**it)) {
          copies[*it] = AddArgument(**it, std::move(*argument));
          continue;
        }
      }
      needed.insert((*it)->operands().begin(), (*it)->operands().end());
    }
    for (const Instruction* inst : order) {
      if (needed.contains(inst) && !copies.contains(inst)) copies[inst] = CopyOf(*inst, params, copies);
    }
    return copies.at(&root);
  }

  Instruction* CopyOf(const Instruction& inst, const std::vector<Instruction*>* params,
                      const std::unordered_map<const Instruction*, Instruction*>& copies) {
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(copies.at(operand));
    switch (inst.opcode()) {
      case Opcode::kParameter: {
        if (params != nullptr) return params->at(inst.parameter_number());
        Instruction*& known = parameters_[inst.parameter_number()];
        if (known == nullptr) known = AddArgument(inst, args_[inst.parameter_number()]);
        return known;
      }
      case Opcode::kCall: return Copy(inst.attrs<CallAttrs>().to_apply->root(), &operands);
      case Opcode::kFusion: return Copy(inst.attrs<FusionAttrs>().calls->root(), &operands);
      case Opcode::kOptimizationBarrier:
      case Opcode::kDomain:
      case Opcode::kAddDependency: return operands[0];
      case Opcode::kGetTupleElement:
        if (operands[0]->Is(Opcode::kTuple)) return &operands[0]->operand(inst.tuple_index());
        break;
      default: break;
    }
    Instruction& copy = entry_->AddClone(inst, inst.shape(), operands);
    const InstructionPlan* plan = plan_ != nullptr ? plan_->Find(inst.id()) : nullptr;
    if (plan != nullptr) cone_.plan.instructions[copy.id()] = *plan;
    return &copy;
  }

  std::span<const ConeArgument> args_;
  const PrecisionPlan* plan_;
  const Given& given_;
  const Instruction* top_ = nullptr;
  Cone cone_;
  Computation* entry_;
  std::unordered_map<int64_t, Instruction*> parameters_;
};

// A double, because products of counts may overflow.
double Count(const Shape& shape) {
  double count = 0;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
    if (leaf.IsArray()) count += static_cast<double>(leaf.NumElements());
  });
  return count;
}

double OperationsOf(const Instruction& inst, double results) {
  const bool is_float = inst.shape().IsArray() && IsFloat(inst.shape().type());
  const double terms = TermsOf(inst);
  switch (inst.opcode()) {
    case Opcode::kTuple:
    case Opcode::kGetTupleElement: return 0;
    case Opcode::kParameter:
    case Opcode::kConstant: return is_float ? 2 * results : 0;
    case Opcode::kDot:
    case Opcode::kConvolution: return results * terms / 4 + 20 * results;  // Sixteen products are computed at a time.
    case Opcode::kReduceWindow:
    case Opcode::kSelectAndScatter: return 4 * results * std::min(terms, 16.0) + 20 * results;
    case Opcode::kReduce: {
      const double whole = std::max(1.0, Count(inst.shape()));
      const double each = std::max(1.0, std::floor(Count(inst.operand(0).shape()) / whole));
      return results * each * (inst.operand_count() == 2 ? 3 : 20) + 20 * results;
    }
    case Opcode::kSort:
    case Opcode::kTopK: return 20 * results * std::max(0, std::ilogb(Count(inst.operand(0).shape())) + 1);
    case Opcode::kScatter: return 4 * results + 20 * Count(inst.operand(inst.operand_count() - 1).shape());
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kMultiply:
    case Opcode::kDivide:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kConvert:
    case Opcode::kNegate:
    case Opcode::kAbs:
    case Opcode::kSelect:
    case Opcode::kSqrt: return (is_float ? 10 : 2) * results;
    default: break;
  }
  if (inst.Is(kElementwise)) return (is_float ? 60 : 4) * results;
  return 8 * results;
}

// The first access to new memory takes about one step for each byte. Up to kKept elements reuse memory.
double NewMemoryOf(const Instruction& inst, double results) {
  constexpr double kKept = 1 << 22;
  const bool is_float = inst.shape().IsArray() && IsFloat(inst.shape().type());
  if (!is_float || results <= kKept) return 0;
  const bool has_bounds = !inst.Is(Opcode::kParameter) && !inst.Is(Opcode::kConstant);
  return (has_bounds ? 16 : 8) * results;
}

// About two hours. The sum of a million such numbers does not overflow.
constexpr double kMostSteps = static_cast<double>(std::numeric_limits<int64_t>::max() >> 20);

int64_t Steps(const Instruction& inst, double results) {
  return static_cast<int64_t>(std::min(kMostSteps, OperationsOf(inst, results) + NewMemoryOf(inst, results)));
}

}  // namespace

int64_t StepsOf(const Instruction& inst, int64_t results) { return Steps(inst, static_cast<double>(results)); }

int64_t StepsOf(const Computation& computation) {
  int64_t steps = 0;
  for (const Instruction* inst : computation.Instructions()) {
    steps += Steps(*inst, Count(inst->shape()));
    const bool inside = inst->Is(Opcode::kFusion) || inst->Is(Opcode::kCall) || inst->Is(Opcode::kWhile) ||
                        inst->Is(Opcode::kConditional);
    if (!inside) continue;
    for (const Computation* callee : CalledComputations(*inst)) steps += StepsOf(*callee);
  }
  return steps;
}

int64_t LimitOfEach(std::vector<Work> work, int64_t limit) {
  std::erase_if(work, [](const Work& piece) { return piece.times == 0; });
  std::ranges::sort(work, {}, &Work::steps);
  int64_t times = 0;
  for (const Work& piece : work) times += piece.times;
  for (const Work& piece : work) {
    if (piece.steps > limit / times) return std::max<int64_t>(1, limit / times);
    limit -= piece.steps * piece.times;
    times -= piece.times;
  }
  return std::numeric_limits<int64_t>::max();
}

Cone ConeOf(const Instruction& root, std::span<const ConeArgument> args, const PrecisionPlan* plan,
            const Given& given) {
  return ConeBuilder(args, plan, given).Build(root);
}

}  // namespace hlo::shadow
