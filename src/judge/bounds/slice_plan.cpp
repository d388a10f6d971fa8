#include "judge/bounds/slice_plan.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <ranges>
#include <utility>

#include "ir/analysis/movement.h"
#include "judge/bounds/rules.h"
#include "judge/bounds/sample_points.h"

namespace hlo::shadow {
namespace {

bool IsFloatArray(const Instruction* inst) { return inst->shape().IsArray() && IsFloat(inst->shape().type()); }

bool IsPlainContraction(const Instruction& inst) {
  if (inst.operand_count() != 2) return false;
  if (inst.Is(Opcode::kDot)) return inst.attrs<DotAttrs>().sparsity.empty();
  if (!inst.Is(Opcode::kConvolution)) return false;
  const ConvolutionAttrs& attrs = inst.attrs<ConvolutionAttrs>();
  const bool is_forward = attrs.kind == ConvolutionKind::kUnset || attrs.kind == ConvolutionKind::kFprop;
  return is_forward && attrs.sparsity.empty() && attrs.block_scaling.empty();
}

bool TakesAFew(const Instruction& inst) {
  constexpr int64_t kPart = 4;
  return IsMovement(inst) && inst.operand(0).shape().NumElements() / kPart > inst.shape().NumElements();
}

class Planner {
 public:
  Planner(const Cone& cone, SlicePlan& plan) : known_(cone), plan_(plan) {}

  Status Run() {
    for (size_t i = 0; i < plan_.outputs.size(); ++i) Want(*plan_.outputs[i], Shared(plan_.points[i]));
    for (const Instruction* inst : plan_.order | std::views::reverse) {
      const auto found = plan_.places.find(inst);
      if (found == plan_.places.end()) continue;
      Places& places = found->second;
      const Shape& shape = inst->shape();
      places.all = places.all || !shape.IsArray();
      if (!places.all) {
        MakeAscending(places.at, shape.NumElements());
        places.all = std::ssize(*places.at) == shape.NumElements();
      }
      if (places.all && shape.IsArray() && TakesAFew(*inst)) {
        std::vector<int64_t> each(shape.NumElements());
        std::iota(each.begin(), each.end(), 0);
        places = {.all = false, .at = Shared(std::move(each))};
        plan_.made_whole.insert(inst);
      }
      if (places.all) places.at = nullptr;
      TRY(WantOperands(*inst, places));
    }
    return {};
  }

 private:
  void Want(const Instruction& inst, const Indices& at) { plan_.places[&inst].Add(at); }
  void WantAll(const Instruction& inst) { plan_.places[&inst] = {.all = true}; }
  void WantLines(const Instruction& operand, const DotLines::Side& side) {
    if (side.all) WantAll(operand);
    else Want(operand, Shared(side.at));
  }

  Status WantOperands(const Instruction& inst, Places& places) {
    const int64_t count = inst.shape().IsArray() ? inst.shape().NumElements() : 0;
    const int64_t wanted = places.all ? count : std::ssize(*places.at);
    plan_.steps += StepsOf(inst, wanted);
    if (!places.all && TRY(WantElements(inst, places.at))) return {};
    const bool made = inst.Is(Opcode::kParameter) || inst.Is(Opcode::kConstant) || inst.Is(Opcode::kIota);
    const bool masked =
        IsPlainContraction(inst) && std::ranges::all_of(inst.operands(), IsFloatArray) && IsFloatArray(&inst);
    if (masked && !places.all && WantLinesOf(inst, *places.at)) return {};
    if (!made && !masked && !places.all) {
      plan_.steps += StepsOf(inst, count) - StepsOf(inst, wanted);
      places = {.all = true};
    }
    for (const Instruction* operand : inst.operands()) WantAll(*operand);
    return {};
  }

  // False if all elements of the operands are needed.
  Result<bool> WantElements(const Instruction& inst, const Indices& at) {
    if (HasSameIndex(inst)) {
      for (const Instruction* operand : inst.operands()) {
        if (operand->shape().NumElements() == inst.shape().NumElements()) Want(*operand, at);
        else WantAll(*operand);
      }
      return true;
    }
    if (IsMovement(inst)) {
      if (auto origins = TRY(OriginsAt(inst, at, known_))) {
        for (size_t i = 0; i < origins->from.size(); ++i) {
          if (!origins->from[i]->empty()) Want(inst.operand(static_cast<int64_t>(i)), origins->from[i]);
        }
        plan_.origins[&inst] = std::move(*origins);
        return true;
      }
    }
    if (IsPlainReduce(inst)) {
      const Indices terms = plan_.terms[&inst] = Shared(TermsOf(inst, *at));
      // Each term is gathered by its index.
      constexpr int64_t kStepsOfTaking = 20;
      plan_.steps += kStepsOfTaking * std::ssize(*terms);
      Want(inst.operand(0), terms);
      WantAll(inst.operand(1));
      return true;
    }
    if (inst.Is(Opcode::kScatter)) {
      if (auto landings = TRY(LandingsOn(inst, *at, known_))) {
        Want(inst.operand(0), at);
        if (!landings->update->empty()) Want(inst.operand(2), landings->update);
        plan_.landings[&inst] = std::move(*landings);
        return true;
      }
    }
    return false;
  }

  bool WantLinesOf(const Instruction& inst, const std::vector<int64_t>& at) {
    auto lines = inst.Is(Opcode::kDot) ? LinesOf(inst, at) : std::nullopt;
    // Results are computed one by one from packed columns.
    const int64_t results = lines ? Shape(inst.shape().type(), lines->dims).NumElements() : inst.shape().NumElements();
    const bool all_columns = !lines || lines->right.all;
    const int64_t packed = all_columns ? inst.operand(1).shape().NumElements() : std::ssize(lines->right.at);
    plan_.steps += 3 * StepsOf(inst, std::ssize(at)) + results + packed;
    if (!lines) return false;
    WantLines(inst.operand(0), lines->left);
    WantLines(inst.operand(1), lines->right);
    plan_.lines[&inst] = std::move(*lines);
    return true;
  }

  KnownIntegers known_;
  SlicePlan& plan_;
};

}  // namespace

void Places::Add(const Indices& more) {
  if (all) return;
  if (at == nullptr) {
    at = more;
  } else if (at != more && *at != *more) {
    std::vector<int64_t> both = *at;
    both.insert(both.end(), more->begin(), more->end());
    at = Shared(std::move(both));
  }
}

void MakeAscending(Indices& at, int64_t count) {
  if (std::ranges::adjacent_find(*at, std::greater_equal<>()) == at->end()) return;
  std::vector<int64_t> sorted = *at;
  SortUnique(sorted, count);
  at = Shared(std::move(sorted));
}

bool HasSameIndex(const Instruction& inst) {
  if (!inst.Is(kElementwise) && !inst.Is(Opcode::kMap)) return false;
  return std::ranges::all_of(inst.operands(), [&](const Instruction* operand) {
    return operand->shape().IsArray() &&
           (operand->shape().rank() == 0 || operand->shape().dims() == inst.shape().dims());
  });
}

bool IsPlainReduce(const Instruction& inst) {
  return inst.Is(Opcode::kReduce) && inst.shape().IsArray() && inst.operand_count() == 2;
}

std::vector<const Instruction*> OutputsOf(const Cone& cone) {
  const Instruction& root = cone.module->entry().root();
  if (!root.Is(Opcode::kTuple)) return {&root};
  return {root.operands().begin(), root.operands().end()};
}

Result<SlicePlan> PlanSlice(const Cone& cone, std::vector<std::vector<int64_t>> points) {
  SlicePlan plan{.cone = &cone,
                 .points = std::move(points),
                 .outputs = OutputsOf(cone),
                 .order = cone.module->entry().PostOrder()};
  TRY(Planner(cone, plan).Run());
  return plan;
}

}  // namespace hlo::shadow
