// Lets a loop that reads slices of a transposed array, such as weights stacked by layer, read the array before the
// transpose:
//
//   dynamic-slice(transpose(x, p), i) => reshape(dynamic-slice(x, i by p))
//
// p must only move dimensions in which the slice has size 1, which keeps the order of elements. The slices of all trips
// together must not have more elements than the array.
#include <algorithm>

#include "ir/analysis/dynamic_indices.h"
#include "ir/analysis/trip_count.h"
#include "ir/module.h"
#include "passes/control/loop.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// The dynamic-slices of element i in the body. Empty if other instructions read the element.
std::vector<Instruction*> SlicesOf(const Loop& loop, int64_t i) {
  const auto is_it = [&](const Instruction* element) { return element->tuple_index() == i && !element->IsDead(); };
  if (std::ranges::any_of(loop.in_condition, is_it) || std::ranges::any_of(loop.outside, is_it)) return {};
  std::vector<Instruction*> slices;
  for (const Instruction* element : loop.in_body) {
    if (element->tuple_index() != i) continue;
    for (Instruction* user : element->users()) {
      if (user == &loop.body->root()) continue;  // The loop below finds other uses by the root.
      const bool reads = user->Is(Opcode::kDynamicSlice) && &user->operand(0) == element;
      if (!reads || !HasScalarIndices(*user)) return {};
      slices.push_back(user);
    }
  }
  const Instruction& root = loop.body->root();
  for (int64_t k = 0; k < root.operand_count(); ++k) {
    if (k != i && loop.ElementInBody(root.operand(k)) == i) return {};
  }
  return slices;
}

bool KeepsOrder(const Instruction& slice, const std::vector<int64_t>& p) {
  int64_t last = -1;
  for (size_t d = 0; d < p.size(); ++d) {
    if (slice.shape().dim(static_cast<int64_t>(d)) == 1) continue;
    if (p[d] < last) return false;
    last = p[d];
  }
  return true;
}

bool ReadNoMoreThan(const std::vector<Instruction*>& slices, const Shape& whole, int64_t trips) {
  double elements = 0;
  for (const Instruction* slice : slices) elements += static_cast<double>(slice->shape().NumElements());
  return elements * static_cast<double>(trips) <= static_cast<double>(whole.NumElements());
}

// Reorders a list by dimensions of the transposed array to one by dimensions of its operand.
template <class T>
std::vector<T> BeforeTranspose(const std::vector<T>& of_result, const std::vector<int64_t>& p) {
  std::vector<T> before(of_result);
  for (size_t d = 0; d < p.size(); ++d) before[p[d]] = of_result[d];
  return before;
}

void SliceBefore(Instruction& slice, Instruction& whole, const std::vector<int64_t>& p) {
  const std::vector<int64_t> sizes = BeforeTranspose(slice.attrs<DynamicSliceAttrs>().sizes, p);
  const std::vector<Instruction*> starts(slice.operands().begin() + 1, slice.operands().end());
  std::vector<Instruction*> operands = BeforeTranspose(starts, p);
  operands.insert(operands.begin(), &whole);
  Computation& body = slice.computation();
  Instruction& part = body.AddLike(slice, Opcode::kDynamicSlice, Shape(slice.shape().type(), sizes), operands,
                                   DynamicSliceAttrs{.sizes = sizes});
  slice.ReplaceAllUses(body.AddLike(slice, Opcode::kReshape, slice.shape(), {&part}));
  body.Remove(slice);
}

bool Sink(Loop& loop, const PassContext& context) {
  const auto trips = TripCount(*loop.loop);
  if (!trips || loop.init->UseCount() != 1) return false;
  bool changed = false;
  for (int64_t i = 0, size = loop.Size(); i < size; ++i) {
    const Instruction& transpose = loop.init->operand(i);
    if (!transpose.Is(Opcode::kTranspose) || !loop.IsInvariant(i)) continue;
    Instruction& whole = transpose.operand(0);
    if (!whole.shape().HasDefaultLayout() || !transpose.shape().HasDefaultLayout() || whole.shape().HasDynamicDims())
      continue;
    const std::vector<Instruction*> slices = SlicesOf(loop, i);
    const std::vector<int64_t>& p = transpose.dimensions();
    const auto keeps_order = [&](const Instruction* slice) { return KeepsOrder(*slice, p); };
    if (slices.empty() || !std::ranges::all_of(slices, keeps_order) || !ReadNoMoreThan(slices, whole.shape(), *trips))
      continue;
    const auto needs_it = [&](const Instruction* user) { return user != loop.init && !user->IsDead(); };
    if (std::ranges::any_of(transpose.users(), needs_it) || !context.ConsumeFuel()) continue;
    Instruction& inside = AddInvariantElement(loop, whole);
    for (Instruction* slice : slices) SliceBefore(*slice, inside, p);
    changed = true;
  }
  return changed;
}

}  // namespace

Result<bool> SinkLoopTransposes(Module& module, const PassContext& context) {
  return ForEachOwnLoop(module, context, Sink);
}

}  // namespace hlo
