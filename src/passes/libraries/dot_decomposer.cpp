// Transposes operands of a dot to batches of matrices: lhs to [batch, free, contracting], rhs to [batch, contracting,
// free]. Free dimensions keep their order, because the result depends on it.
#include <algorithm>

#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/libraries/dot_dimensions.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Transposes the operand, and renumbers `batch` and `contracting`.
Instruction* Transposed(Instruction& dot, Instruction& operand, const std::vector<int64_t>& order,
                        std::vector<int64_t>* batch, std::vector<int64_t>* contracting) {
  std::vector<int64_t> sizes;
  for (const int64_t d : order) sizes.push_back(operand.shape().dim(d));
  const auto renumber = [&](std::vector<int64_t>* dims) {
    for (int64_t& d : *dims) d = std::find(order.begin(), order.end(), d) - order.begin();
  };
  renumber(batch);
  renumber(contracting);
  return Step(dot, Opcode::kTranspose, operand.shape().WithDims(sizes), {&operand}, DimensionsAttrs{order});
}

Result<Instruction*> CanonicalDot(Instruction& inst, const PassContext&) {
  if (!inst.Is(Opcode::kDot) || inst.operand_count() != 2) return nullptr;
  auto attrs = inst.attrs<DotAttrs>();
  Instruction *lhs = &inst.operand(0), *rhs = &inst.operand(1);
  const bool lhs_fits = IsBatchOfMatrices(lhs->shape(), attrs.lhs_batch, attrs.lhs_contracting);
  const bool rhs_fits = IsBatchOfMatrices(rhs->shape(), attrs.rhs_batch, attrs.rhs_contracting);
  if (lhs_fits && rhs_fits) return nullptr;
  const auto append = [](std::vector<int64_t>& to, const std::vector<int64_t>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  if (!lhs_fits) {
    std::vector<int64_t> order = attrs.lhs_batch;
    append(order, FreeDimensions(lhs->shape().rank(), attrs.lhs_batch, attrs.lhs_contracting));
    append(order, attrs.lhs_contracting);
    lhs = Transposed(inst, *lhs, order, &attrs.lhs_batch, &attrs.lhs_contracting);
  }
  if (!rhs_fits) {
    std::vector<int64_t> order = attrs.rhs_batch;
    append(order, attrs.rhs_contracting);
    append(order, FreeDimensions(rhs->shape().rank(), attrs.rhs_batch, attrs.rhs_contracting));
    rhs = Transposed(inst, *rhs, order, &attrs.rhs_batch, &attrs.rhs_contracting);
  }
  return Replace(inst, Opcode::kDot, {lhs, rhs}, attrs);
}

// clang-format off: a table.
constexpr Rule kRules[] = {
    {"D.dot.1", Opcode::kDot, CanonicalDot, Preserves::kExact, "dot(x, y) => dot(transpose(x), transpose(y)), a product of batches of matrices"},
};
// clang-format on

}  // namespace

std::span<const Rule> DotDecomposerRules() { return kRules; }

bool IsBatchOfMatrices(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting) {
  // Numbers dimensions larger than 1.
  std::vector<int64_t> position(shape.rank(), -1);
  int64_t count = 0;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (shape.dim(d) != 1) position[d] = count++;
  }
  int64_t minor = -1;
  const auto is_run = [&](const std::vector<int64_t>& group) {
    minor = -1;
    for (const int64_t d : group) {
      if (position[d] < 0) continue;
      if (minor >= 0 && position[d] != minor + 1) return false;
      minor = position[d];
    }
    return true;
  };
  if (!is_run(contracting) || !is_run(FreeDimensions(shape.rank(), batch, contracting)) || !is_run(batch)) return false;
  // `minor` is the last batch dimension here.
  return minor != count - 1 || std::ranges::count_if(batch, [&](int64_t d) { return position[d] >= 0; }) == count;
}

bool IsMatrixProduct(const Instruction& dot) {
  if (!dot.Is(Opcode::kDot) || dot.operand_count() != 2) return false;
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape &lhs = dot.operand(0).shape(), &rhs = dot.operand(1).shape();
  const PrimitiveType type = dot.shape().type();
  const bool is_number = type == PrimitiveType::kF16 || type == PrimitiveType::kBF16 || type == PrimitiveType::kF32 ||
                         type == PrimitiveType::kF64 || IsComplex(type);
  const bool is_sum_of_bytes =
      type == PrimitiveType::kS32 && lhs.type() == PrimitiveType::kS8 && rhs.type() == PrimitiveType::kS8;
  const int64_t rank = static_cast<int64_t>(attrs.lhs_batch.size()) + 2;
  return (is_number || is_sum_of_bytes) && attrs.lhs_contracting.size() == 1 && lhs.rank() == rank &&
         rhs.rank() == rank && lhs.NumElements() != 0 && rhs.NumElements() != 0;
}

bool HasLeadingBatch(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  for (int64_t i = 0; i < std::ssize(attrs.lhs_batch); ++i) {
    if (attrs.lhs_batch[i] != i || attrs.rhs_batch[i] != i) return false;
  }
  return true;
}

Result<bool> DecomposeDots(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kRules);
}

}  // namespace hlo
