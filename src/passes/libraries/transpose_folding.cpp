#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {
namespace m = match;

// Replaces operand transpose(x) by x, if free dimensions keep their order and x is a batch of matrices.
bool FoldOperand(Instruction*& operand, std::vector<int64_t>& batch, std::vector<int64_t>& contracting) {
  if (!operand->Is(Opcode::kTranspose)) return false;
  const std::vector<int64_t>& order = operand->dimensions();
  std::vector<int64_t> free = FreeDimensions(operand->shape().rank(), batch, contracting);
  auto new_batch = batch, new_contracting = contracting;
  for (auto* dims : {&free, &new_batch, &new_contracting}) {
    for (int64_t& d : *dims) d = order[d];
  }
  if (!std::is_sorted(free.begin(), free.end())) return false;
  if (!IsBatchOfMatrices(operand->operand(0).shape(), new_batch, new_contracting)) return false;
  operand = &operand->operand(0);
  batch = new_batch;
  contracting = new_contracting;
  return true;
}

Result<Instruction*> FoldIntoDot(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDot) || inst.operand_count() != 2) return nullptr;
  auto attrs = inst.attrs<DotAttrs>();
  Instruction *lhs = &inst.operand(0), *rhs = &inst.operand(1);
  const bool left = FoldOperand(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const bool right = FoldOperand(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  if (!left && !right) return nullptr;
  return Replace(inst, Opcode::kDot, {lhs, rhs}, attrs);
}

// The transpose must move y's free dimensions before x's. Products commute, and the terms of each sum keep their order.
Result<Instruction*> SwapDot(Instruction& inst, const PassContext&) {
  Instruction* dot;
  if (!m::Transpose(m::OneUse(m::Dot(&dot)))(&inst) || dot->operand_count() != 2) return nullptr;
  const auto& attrs = dot->attrs<DotAttrs>();
  const int64_t batch = static_cast<int64_t>(attrs.lhs_batch.size());
  const int64_t rows = dot->operand(0).shape().rank() - batch - static_cast<int64_t>(attrs.lhs_contracting.size());
  std::vector<int64_t> swapped;
  for (int64_t d = 0; d < batch; ++d) swapped.push_back(d);
  for (int64_t d = batch + rows; d < dot->shape().rank(); ++d) swapped.push_back(d);
  for (int64_t d = batch; d < batch + rows; ++d) swapped.push_back(d);
  if (inst.dimensions() != swapped) return nullptr;
  DotAttrs other = attrs;
  std::swap(other.lhs_batch, other.rhs_batch);
  std::swap(other.lhs_contracting, other.rhs_contracting);
  if (other.precision.size() == 2) std::swap(other.precision[0], other.precision[1]);
  return Replace(inst, Opcode::kDot, {&dot->operand(1), &dot->operand(0)}, other);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"F.dot.1",   Opcode::kDot,       FoldIntoDot, Preserves::kExact, "dot(transpose(x), y) => dot(x, y), under other dimension numbers"},
    {"A.trans.2", Opcode::kTranspose, SwapDot,     Preserves::kExact, "transpose(dot(x, y)) => dot(y, x)"},
};
// clang-format on

}  // namespace

std::span<const Rule> TransposeFoldingRules() { return kRules; }

Result<bool> FoldTransposes(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
