// XLA's texts write a rotation and the choice of a row as slices.
#include "passes/sharding/preparation.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "ir/control_edges.h"
#include "ir/mesh/axes.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/module.h"
#include "passes/sharding/value_classes.h"

namespace hlo {
namespace {

bool IsRange(const Instruction& inst, const Instruction& array, int64_t dim, int64_t start, int64_t limit) {
  if (!inst.Is(Opcode::kSlice) || &inst.operand(0) != &array) return false;
  const std::vector<SliceDim>& ranges = inst.attrs<SliceAttrs>().slice.dims;
  for (int64_t d = 0; d < std::ssize(ranges); ++d) {
    const SliceDim all = d == dim ? SliceDim{start, limit, 1} : SliceDim{0, array.shape().dim(d), 1};
    if (ranges[d] != all) return false;
  }
  return true;
}

// concatenate(x[start:], x[:start]) => shuffle(x)
Instruction* AsRotation(Instruction& inst) {
  if (!inst.Is(Opcode::kConcatenate) || inst.operand_count() != 2 || !inst.operand(0).Is(Opcode::kSlice))
    return nullptr;
  Instruction& array = inst.operand(0).operand(0);
  const int64_t dim = inst.attrs<OneDimensionAttrs>().dimension.value;
  const int64_t size = inst.shape().dim(dim), start = inst.operand(1).shape().dim(dim);
  if (array.shape() != inst.shape() || !IsRange(inst.operand(0), array, dim, start, size) ||
      !IsRange(inst.operand(1), array, dim, 0, start))
    return nullptr;
  return &inst.computation().AddLike(inst, Opcode::kShuffle, inst.shape(), {&array},
                                     ShuffleAttrs{.dimensions = {dim}, .shifts = {start}});
}

// x[3:4, 0:5] => dynamic-slice(x, 3, 0), then the slice of other dimensions. A dynamic-slice finds a row on the device
// that has it.
Instruction* AsDynamicSlice(Instruction& inst) {
  if (!inst.Is(Opcode::kSlice)) return nullptr;
  Instruction& array = inst.operand(0);
  Computation& computation = inst.computation();
  SliceRanges rest = inst.attrs<SliceAttrs>().slice;
  Shape shape = array.shape();
  Operands operands = {&array};
  bool has_row = false;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) {
    int64_t start = 0;
    if (inst.shape().dim(dim) == 1 && shape.dim(dim) > 1) {
      start = rest.dims[dim].start;
      rest.dims[dim] = {0, 1, 1};
      shape.SetDim(dim, 1);
      has_row = true;
    }
    operands.push_back(&computation.AddConstant(Literal::Scalar(PrimitiveType::kS32, start)));
  }
  if (!has_row) return nullptr;
  std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
  Instruction& rows =
      computation.AddLike(inst, Opcode::kDynamicSlice, shape, std::move(operands), DynamicSliceAttrs{std::move(sizes)});
  if (SameDims(shape, inst.shape())) return &rows;
  return &computation.AddLike(inst, Opcode::kSlice, inst.shape(), {&rows}, SliceAttrs{.slice = std::move(rest)});
}

bool HasOtherSplit(const std::vector<ArraySplit>& stated, const std::optional<ArraySplit>& own) {
  return own && std::ranges::any_of(stated, [&](const ArraySplit& split) { return split != *own; });
}

// A copy, which has no sharding.
Instruction& CopyOf(Instruction& value) {
  return value.computation().AddLike(value, Opcode::kCopy, value.shape(), {&value});
}

// A root that only puts the results together, such as a tuple of the loop's values instead of the loop, with the
// root's statement. Null for nested tuples.
Instruction* SeparateRoot(Computation& entry) {
  Instruction& root = entry.root();
  if (root.Is(Opcode::kTuple)) return &root;
  Instruction* made = nullptr;
  if (root.shape().IsArray()) {
    made = &CopyOf(root);
  } else {
    Operands elements;
    for (int64_t i = 0; i < std::ssize(root.shape().elements()); ++i) {
      if (!root.shape().element(i).IsArray()) return nullptr;
      elements.push_back(&entry.AddGetTupleElement(root, i));
    }
    made = &entry.AddTuple(std::move(elements));
  }
  if (root.HasCommon()) {
    made->mutable_common().sharding = std::exchange(root.mutable_common().sharding, {});
    made->mutable_common().frontend_attributes = std::exchange(root.mutable_common().frontend_attributes, {});
  }
  entry.SetRoot(*made);
  return made;
}

}  // namespace

bool SeparateBorders(Module& module) {
  const Axes axes = Axes::Of(module);
  const ValueClasses classes(module);
  const auto splits_of = [&](const Instruction& inst) {
    std::vector<std::optional<ArraySplit>> splits;  // By leaf.
    const auto stated = StatedShardings(inst);
    ForEachLeaf(inst.shape(), [&](const ShapeIndex&, const Shape& shape) {
      const auto& own = stated[splits.size()];
      const bool is_stated = own && shape.IsArray() && own->sharding.kind != ShardingKind::kUnknown;
      const auto split = is_stated ? axes.Read(own->sharding, shape.rank()) : Result<ArraySplit>();
      splits.push_back(is_stated && split ? std::optional(*split) : std::nullopt);
    });
    return splits;
  };
  std::map<int, std::vector<ArraySplit>> stated;  // By class.
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->HasCommon()) continue;
      const auto splits = splits_of(*inst);
      for (size_t leaf = 0; leaf < splits.size(); ++leaf) {
        if (splits[leaf]) stated[classes.Of(*inst, static_cast<int64_t>(leaf))].push_back(*splits[leaf]);
      }
    }
  }
  bool changed = false;
  Computation& entry = module.entry();
  for (Instruction* parameter : entry.parameters()) {
    if (!parameter->shape().IsArray() || parameter->users().empty()) continue;
    if (!HasOtherSplit(stated[classes.Of(*parameter, 0)], splits_of(*parameter)[0])) continue;
    const std::vector<Instruction*> users(parameter->users().begin(), parameter->users().end());
    Instruction& copy = CopyOf(*parameter);
    for (Instruction* user : users) {
      for (int64_t i = 0; i < user->operand_count(); ++i) {
        if (&user->operand(i) == parameter) user->SetOperand(i, copy);
      }
    }
    changed = true;
  }
  const Instruction& result = entry.root();
  std::vector<int64_t> separate;  // Leaves of the result. Elements of the root may be tuples.
  const auto of_result = splits_of(result);
  int64_t leaf = 0;
  ForEachLeaf(result.shape(), [&](const ShapeIndex& index, const Shape&) {
    const int64_t number = leaf++;
    if (index.size() <= 1 && HasOtherSplit(stated[classes.Of(result, number)], of_result[number]))
      separate.push_back(index.empty() ? 0 : index[0]);
  });
  if (separate.empty()) return changed;
  Instruction* const root = SeparateRoot(entry);
  if (root == nullptr) return changed;
  for (const int64_t i : separate) {
    if (root->Is(Opcode::kTuple)) root->SetOperand(i, CopyOf(root->operand(i)));
  }
  return true;
}

bool PrepareForPropagation(Computation& computation) {
  Replacements gone;
  for (const auto rewritten : {AsRotation, AsDynamicSlice}) {
    for (Instruction* inst : computation.Instructions()) {
      if (!inst->shape().IsArray() || inst->shape().HasDynamicDims()) continue;
      Instruction* const value = rewritten(*inst);
      if (value == nullptr) continue;
      if (inst->HasCommon()) value->mutable_common() = inst->common();
      inst->ReplaceAllUses(*value);
      gone[inst] = RunsAfter(*inst);
      computation.RemoveDeadTree(*inst);
    }
  }
  CloseGaps(computation, gone);
  return !gone.empty();
}

}  // namespace hlo
