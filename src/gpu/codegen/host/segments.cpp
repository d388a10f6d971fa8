#include "gpu/codegen/host/segments.h"

#include <algorithm>

namespace hlo::kernel {
namespace {

class Finder {
 public:
  Finder(const HostFacts& facts, SegmentPlan& plan)
      : facts_(facts), plan_(plan), line_(facts.kernel.values), fixed_(facts.kernel.values) {
    plan_.inside[plan_.index] = line_[plan_.index] = true;
  }

  void Walk(const Region& region) {
    for (const Instruction& instruction : region.body) {
      if (instruction.op == Op::kIf) VisitBranch(instruction);
      for (int i = 0; i < Results(instruction); ++i) plan_.inside[instruction.result + i] = true;
      for (const Region& inner : instruction.regions) {
        for (const int32_t argument : inner.arguments) plan_.inside[argument] = true;
        Walk(inner);
      }
      if (instruction.result >= 0 && instruction.type == Type::kIndex) Visit(instruction);
      if (instruction.op == Op::kLess) plan_.definition[instruction.result] = &instruction;
    }
  }

  void KeepLongPieces(int64_t elements) {
    for (const Instruction* cut : plan_.cuts) {
      if (cut->op != Op::kLess) elements = std::min(elements, facts_.constants[cut->operands[1]]->imm);
    }
    const auto is_comparison = [](const Instruction* cut) { return cut->op == Op::kLess; };
    if (elements / (1 + std::ranges::count_if(plan_.cuts, is_comparison)) < kLeastBetweenComparisons)
      std::erase_if(plan_.cuts, is_comparison);
  }

 private:
  bool Fixed(int32_t id) const { return !plan_.inside[id] || fixed_[id]; }

  void Visit(const Instruction& instruction) {
    const int32_t id = instruction.result;
    plan_.definition[id] = &instruction;
    if (instruction.op == Op::kConstant) fixed_[id] = true;
    if (instruction.operands.size() != 2 || instruction.op > Op::kRem) return;
    const int32_t a = instruction.operands[0], b = instruction.operands[1];
    fixed_[id] = Fixed(a) && Fixed(b);
    if (instruction.op == Op::kAdd) line_[id] = (line_[a] && Fixed(b)) || (line_[b] && Fixed(a));
    if (instruction.op == Op::kSub) line_[id] = line_[a] && Fixed(b);
    if (instruction.op != Op::kDiv && instruction.op != Op::kRem) return;
    if (!line_[a] || !facts_.constants[b] || facts_.constants[b]->imm < kLeastSegment) return;
    plan_.cuts.push_back(&instruction);
    (instruction.op == Op::kDiv ? fixed_ : line_)[id] = true;
  }

  void VisitBranch(const Instruction& branch) {
    const Instruction* const condition = plan_.definition[branch.operands[0]];
    if (!condition || condition->op != Op::kLess || plan_.IsCut(*condition)) return;
    if (line_[condition->operands[0]] && Fixed(condition->operands[1])) plan_.cuts.push_back(condition);
  }

  const HostFacts& facts_;
  SegmentPlan& plan_;
  // Indexed by value: whether it grows by 1 with the index (line_) or is constant (fixed_) within a segment.
  std::vector<bool> line_, fixed_;
};

}  // namespace

bool SegmentPlan::IsCut(const Instruction& instruction) const {
  return std::ranges::find(cuts, &instruction) != cuts.end();
}

bool SegmentPlan::IsFixed(const Instruction& instruction) const {
  return instruction.op != Op::kRem && IsCut(instruction);
}

SegmentPlan PlanSegments(const HostFacts& facts, const Region& tile, int64_t elements) {
  SegmentPlan plan{.cuts = {},
                   .inside = std::vector<bool>(facts.kernel.values),
                   .definition = std::vector<const Instruction*>(facts.kernel.values),
                   .index = tile.arguments[0]};
  Finder finder(facts, plan);
  finder.Walk(tile);
  finder.KeepLongPieces(elements);
  return plan;
}

}  // namespace hlo::kernel
