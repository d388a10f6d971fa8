// reduction-splitter and gpu-tree-reduction-rewriter: split a reduce if one kernel would be slow.
#include <algorithm>
#include <cmath>

#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/reductions/reduction.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

// Smallest dimension that gets a separate reduce, as in XLA.
constexpr int64_t kSmallestSplit = 128;

// Most elements that a block of XLA sums without atomics: in rows 16 for each of 1024 threads, in up to 8 batches, in
// columns 128 for each of 32 threads.
constexpr int64_t kRowElements = 16 * 1024, kRowBatch = 8, kColumnElements = 128 * 32;

Shape Without(const Shape& shape, const std::vector<int64_t>& dimensions) {
  Dims dims;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    if (std::ranges::find(dimensions, d) == dimensions.end()) dims.push_back(shape.dim(d));
  }
  return shape.WithDims(dims);
}

Instruction* Reduced(Instruction& inst, Instruction* x, std::vector<int64_t> dimensions) {
  const Shape shape = Without(x->shape(), dimensions);
  ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
  attrs.dimensions = std::move(dimensions);
  return Step(inst, Opcode::kReduce, shape, {x, &inst.operand(1)}, attrs);
}

Instruction* InTwo(Instruction& inst, int64_t first) {
  std::vector<int64_t> rest;
  for (const int64_t d : inst.attrs<ReduceAttrs>().dimensions) {
    if (d != first) rest.push_back(d < first ? d : d - 1);
  }
  return Reduced(inst, Reduced(inst, &inst.operand(0), {first}), rest);
}

// Whether each group may use the initial value.
bool MaySplit(const Instruction& inst) {
  if (!IsPlainReduce(inst) || !IsRowMajor(inst) || inst.operand(0).shape().NumElements() == 0) return false;
  const auto op = ReducerOp(*inst.attrs<ReduceAttrs>().to_apply);
  return op && MayGroup(*op, inst.operand(1));
}

Result<Instruction*> LargestFirst(Instruction& inst, const PassContext&) {
  if (!MaySplit(inst)) return nullptr;
  const std::vector<int64_t>& reduced = inst.attrs<ReduceAttrs>().dimensions;
  ReductionShape parts;
  if (reduced.size() < 2 || IsRowOrColumnReduction(inst, &parts)) return nullptr;
  const Shape& x = inst.operand(0).shape();
  const int64_t largest = *std::ranges::max_element(reduced, {}, [&](int64_t d) { return x.dim(d); });
  return x.dim(largest) < kSmallestSplit ? nullptr : InTwo(inst, largest);
}

// The square root, rounded up.
int64_t SquareRoot(int64_t size) {
  int64_t root = static_cast<int64_t>(std::sqrt(static_cast<double>(size)));
  while (root * root < size) ++root;
  while ((root - 1) * (root - 1) >= size) --root;
  return root;
}

// [..., n, ...] => [..., q, m, ...], where m is the root of n. Pads with the initial value if m does not divide n.
Instruction* InRootRows(Instruction& inst, int64_t dim) {
  Instruction* x = &inst.operand(0);
  const int64_t size = x->shape().dim(dim), root = SquareRoot(size);
  const int64_t rows = size % root == 0 ? size / root : root;
  Dims dims = x->shape().dims();
  if (rows * root != size) {
    PadAttrs attrs;
    attrs.padding.dims.resize(dims.size());
    attrs.padding.dims[dim].high = rows * root - size;
    dims[dim] = rows * root;
    x = Step(inst, Opcode::kPad, x->shape().WithDims(dims), {x, &inst.operand(1)}, attrs);
  }
  std::vector<int64_t> split = dims;
  split[dim] = root;
  split.insert(split.begin() + dim, rows);
  return Step(inst, Opcode::kReshape, x->shape().WithDims(split), {x});
}

// Each of the two reduces has about the square root of the terms. Reduces by maximum or minimum stay, because blocks
// may combine these in any order.
Result<Instruction*> InTreeOfTwo(Instruction& inst, const PassContext& context) {
  if (!context.device->is_gpu || !MaySplit(inst)) return nullptr;
  const auto op = ReducerOp(*inst.attrs<ReduceAttrs>().to_apply);
  if (op == Opcode::kMaximum || op == Opcode::kMinimum) return nullptr;
  ReductionShape parts;
  if (!IsRowOrColumnReduction(inst, &parts)) return nullptr;
  std::vector<int64_t> reduced = inst.attrs<ReduceAttrs>().dimensions;
  std::ranges::sort(reduced);
  const bool batched = reduced.size() == 2 && reduced[0] == 0 && reduced[1] > 1;
  if (reduced.size() != 1 && !batched) return nullptr;  // Adjacent reduced dimensions were merged before.
  const int64_t dim = reduced.back();
  if (batched && parts.major > kRowBatch) return InTwo(inst, dim);
  if (parts.is_row ? parts.minor <= kRowElements : parts.middle <= kColumnElements) return nullptr;
  Instruction* const rows = InRootRows(inst, dim);
  // The first reduce of a row adds neighbours. For columns it adds along the outer dimension, to read whole rows of
  // memory.
  const int64_t inner = parts.is_row ? dim + 1 : dim;
  std::vector<int64_t> first = {inner};
  if (batched) first.insert(first.begin(), 0);
  Instruction* const partial = Reduced(inst, rows, first);
  return Reduced(inst, partial, {batched ? dim - 1 : dim});
}

// clang-format off: a table.
constexpr Rule kSplits[] = {
    {"R.red.4", Opcode::kReduce, LargestFirst, Preserves::kReassociates, "reduce(x) over dimensions that are not adjacent => reduce(reduce(x)), the largest first"},
};
constexpr Rule kTrees[] = {
    {"R.red.5", Opcode::kReduce, InTreeOfTwo, Preserves::kReassociates, "reduce(x) of n terms => reduce(reduce(x)) of about sqrt(n) each, when one block cannot reduce n terms"},
};
// clang-format on

}  // namespace

std::span<const Rule> ReductionSplitRules() { return kSplits; }
std::span<const Rule> TreeReductionRules() { return kTrees; }

Result<bool> SplitReductions(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kSplits);
}
Result<bool> RewriteTreeReductions(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kTrees);
}

}  // namespace hlo
