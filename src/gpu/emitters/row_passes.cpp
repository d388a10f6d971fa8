#include "gpu/emitters/row_passes.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace hlo::gpu {

using Hero = RowsSpace::Hero;
using Store = RowsSpace::Store;

RowPasses::RowPasses(RowsSpace& space, KernelFrame& frame, const KernelPlan& plan, bool by_warp, int64_t step)
    : space_(space),
      frame_(frame),
      k_(frame.k()),
      emission_(frame.emission()),
      plan_(plan),
      width_(static_cast<int>(plan.vector)),
      row_(space.minor().size),
      step_(step),
      by_warp_(by_warp) {
  for (const Store& store : space.elements) elements_.push_back(frame.Output(*store.root));
  for (const Store& store : space.whole) whole_.push_back(frame.Output(*store.root));
}

void RowPasses::KeepRows(int64_t rows) {
  for (const RowsSpace::Kept& kept : space_.KeptOf(plan_.kept))
    kept_.push_back({kept, k_.Shared(Str("kept", kept_.size()), kept.type, rows * row_)});
}

void RowPasses::Emit(Value kept_at) {
  for (int pass = 0; pass < space_.passes; ++pass) {
    StoreWhole(pass);
    EmitPass(pass, kept_at);
  }
  StoreWhole(space_.passes);
}

void RowPasses::AddChains(PrecisionPlan& precision) const {
  const int64_t chain = CeilDiv(row_, step_) + width_ + 5 + (by_warp_ ? 0 : plan_.threads / 32) + 1;
  for (const Hero& hero : space_.heroes) AddChain(hero, chain, row_, precision);
}

void RowPasses::EmitPass(int pass, Value kept_at) {
  std::vector<const ReducedHero*> heroes;
  for (const Hero& hero : space_.heroes) {
    if (hero.pass == pass) heroes.push_back(&hero);
  }
  Reducers reducers(k_, emission_, std::move(heroes));
  Hoist(pass);
  const std::vector<KeptArray> read = KeptFor(pass);
  const std::vector<Slot> slots = reducers.MakeSlots(width_);
  k_.Loop(
      int64_t{0}, CeilDiv(row_, step_), plan_.unroll,
      [&](Value at) {
        std::vector<Value> begins;
        for (int64_t u = 0; u < plan_.unroll; ++u) begins.push_back((at + u) * step_);
        TileOver(k_, width_, row_, begins[0], step_, [&](Value i) {
          std::vector<Value> sums;
          for (const Slot& slot : slots) sums.push_back(slot.Get());
          for (const Value begin : begins) {
            const Emission::Scope in_tile(emission_);
            emission_.Bind(space_.minor().e, begin + i);
            BindElement(begin + i);
            for (const KeptArray& kept : read) emission_.Bind(kept.value.node, {kept.array.Load(kept_at + begin + i)});
            sums = EmitElement(pass, reducers, sums, begin + i, kept_at);
          }
          for (size_t j = 0; j < slots.size(); ++j) slots[j].Set(sums[j]);
        });
      },
      plan_.unroll == 1 ? 4 : 1);
  if (reducers.empty()) return;
  reducers.Give(by_warp_ ? k_.WarpReduce(slots, reducers.Combiner()) : k_.BlockReduce(slots, reducers.Combiner()));
}

void RowPasses::Hoist(int pass) {
  emission_.Hoist(space_.InPass(pass));
  for (const Store& store : space_.elements) {
    if (store.pass == pass) emission_.Hoist(store.offset);
  }
}

// Kept values of earlier passes that the pass reads.
std::vector<RowPasses::KeptArray> RowPasses::KeptFor(int pass) const {
  std::vector<KeptArray> read;
  std::vector<NodeId> stack = space_.InPass(pass);
  std::set<NodeId> seen;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second) continue;
    const auto kept = std::ranges::find(kept_, id, [](const KeptArray& each) { return each.value.node; });
    if (kept != kept_.end() && kept->value.first < pass) {
      read.push_back(*kept);
      continue;
    }
    for (const NodeId need : space_.graph.Needs(id)) stack.push_back(need);
  }
  return read;
}

std::vector<Value> RowPasses::EmitElement(int pass, Reducers& reducers, const std::vector<Value>& sums, Value element,
                                          Value kept_at) {
  const std::vector<Value> terms = reducers.Terms();
  std::vector<Value> results;
  for (const Store& store : space_.elements) {
    if (store.pass == pass) results.push_back(emission_.Emit(store.value));
  }
  for (const KeptArray& kept : kept_) {
    if (kept.value.first == pass) kept.array.Store(kept_at + element, emission_.Emit(kept.value.node));
  }
  size_t next = 0;
  for (size_t i = 0; i < elements_.size(); ++i) {
    const Store& store = space_.elements[i];
    if (store.pass == pass) elements_[i].Store(emission_.Lower(store.offset), results[next++]);
  }
  StoreElement(pass, element);
  if (reducers.empty()) return {};
  return reducers.Combine(sums, terms);
}

void RowPasses::StoreWhole(int pass) {
  for (size_t i = 0; i < whole_.size(); ++i) {
    const Store& store = space_.whole[i];
    if (store.pass == pass) whole_[i].Store(emission_.Lower(store.offset), emission_.Emit(store.value));
  }
}

}  // namespace hlo::gpu
