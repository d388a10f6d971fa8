// The emitter of stitched rows: a block or a warp goes through its row several times, with the reductions of each pass
// known to the next. What the plan keeps of a row stays in shared memory, so that it is loaded and computed once.
#include "gpu/plan/rows_space.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/reducers.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using Hero = RowsSpace::Hero;
using Store = RowsSpace::Store;

class RowsKernel {
 public:
  RowsKernel(RowsSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        width_(static_cast<int>(plan_.vector)),
        row_(space.minor().size),
        rows_(space.Size(Role::kKept)),
        by_warp_(plan_.tile[0] > 1),
        step_(plan_.tile[1]),
        frame_(space.graph, space.Needed(), LaunchOf(space, RowAxes(space), plan_), request),
        k_(frame_.k()),
        emission_(frame_.emission()) {
    k_.CountsTo(space.Size());
    emission_.SetLane(space.minor().e);
    for (const Store& store : space.elements) elements_.push_back(frame_.Output(*store.root));
    for (const Store& store : space.whole) whole_.push_back(frame_.Output(*store.root));
    for (const RowsSpace::Kept& kept : space.KeptOf(plan_.kept))
      kept_.push_back({kept, k_.Shared(Str("kept", kept_.size()), kept.type, plan_.tile[0] * row_)});
  }

  EmittedKernel Emit() && {
    if (!by_warp_) {
      EmitRow(k_.block(), k_.Index(0));
      return Finish("rows, a block for each");
    }
    k_.Warps([&] {
      const Value index = k_.block() * plan_.tile[0] + k_.warp();
      k_.If(index < rows_, [&] { EmitRow(index, k_.warp() * row_); });
    });
    return Finish("rows, a warp for each");
  }

 private:
  struct KeptArray {
    RowsSpace::Kept value;
    Array array;
  };

  // `kept_at`: where the row begins in shared arrays.
  void EmitRow(Value index, Value kept_at) {
    const Emission::Scope scope(emission_);
    for (size_t i = space_.variables.size() - 1; i-- > 0;) {
      const RowsSpace::Variable& variable = space_.variables[i];
      emission_.Bind(variable.e, i == 0 ? index : index % variable.size);
      if (i > 0) index = index / variable.size;
    }
    for (int pass = 0; pass < space_.passes; ++pass) {
      StoreWhole(pass);
      EmitPass(pass, kept_at);
    }
    StoreWhole(space_.passes);
  }

  void EmitPass(int pass, Value kept_at) {
    std::vector<const ReducedHero*> heroes;
    for (const Hero& hero : space_.heroes) {
      if (hero.pass == pass) heroes.push_back(&hero);
    }
    Reducers reducers(k_, emission_, frame_.fault(), std::move(heroes));
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
              for (const KeptArray& kept : read)
                emission_.Bind(kept.value.node, {kept.array.Load(kept_at + begin + i)});
              sums = EmitElement(pass, reducers, sums, begin + i, kept_at);
            }
            for (size_t j = 0; j < slots.size(); ++j) slots[j].Set(sums[j]);
          });
        },
        plan_.unroll == 1 ? 4 : 1);
    if (reducers.empty()) return;
    reducers.Give(by_warp_ ? k_.WarpReduce(slots, reducers.Combiner()) : k_.BlockReduce(slots, reducers.Combiner()));
  }

  void Hoist(int pass) {
    emission_.Hoist(space_.InPass(pass));
    for (const Store& store : space_.elements) {
      if (store.pass == pass) emission_.Hoist(store.offset);
    }
  }

  // What a pass reads of earlier ones, instead of what that is made of.
  std::vector<KeptArray> KeptFor(int pass) const {
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

  // One more element of the row: what is stored of it, and the sums with it.
  std::vector<Value> EmitElement(int pass, Reducers& reducers, const std::vector<Value>& sums, Value element,
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
    if (reducers.empty()) return {};
    std::vector<Value> combined = reducers.Combine(sums, terms);
    if (frame_.fault() != "dropped_term") return combined;
    for (size_t i = 0; i < sums.size(); ++i) combined[i] = Select(element == row_ - 1, sums[i], combined[i]);
    return combined;
  }

  // Results of one element for each row, which need what the passes before this one gave.
  void StoreWhole(int pass) {
    for (size_t i = 0; i < whole_.size(); ++i) {
      const Store& store = space_.whole[i];
      if (store.pass == pass) whole_[i].Store(emission_.Lower(store.offset), emission_.Emit(store.value));
    }
  }

  EmittedKernel Finish(std::string_view how) {
    EmittedKernel kernel = std::move(frame_).Finish(how);
    const int64_t chain = CeilDiv(row_, step_) + width_ + 5 + (by_warp_ ? 0 : plan_.threads / 32) + 1;
    for (const Hero& hero : space_.heroes) AddChain(hero, chain, row_, kernel.precision);
    return kernel;
  }

  RowsSpace& space_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t row_, rows_;
  const bool by_warp_;
  const int64_t step_;
  KernelFrame frame_;
  KernelBuilder& k_;
  Emission& emission_;
  std::vector<Array> elements_, whole_;
  std::vector<KeptArray> kept_;
};

}  // namespace

Result<EmittedKernel> EmitRows(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  for (const Instruction* hero : heroes)
    TRY(request.Require(hero->Is(Opcode::kReduce), Str("'", hero->name(), "' is no reduce")));
  TRY(request.Require(heroes[0]->operand(0).shape().NumElements() > 0, "it reduces no elements"));
  std::string why_not;
  const auto space = TRY(RowsSpaceOf(request.body, heroes, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  TRY(request.RequireBlock(2));
  const int64_t row = space->minor().size, warps = plan.threads / 32, step = plan.tile[1];
  TRY(request.Require(row % plan.vector == 0,
                      Str("rows of ", row, " elements are no multiple of vector, ", plan.vector)));
  TRY(request.Require((plan.tile[0] == 1 || plan.tile[0] == warps) && plan.tile[0] * step == plan.threads * plan.vector,
                      Str("a tile of ", plan.threads, " threads of ", plan.vector, " is [1,",
                          plan.threads * plan.vector, "] or [", warps, ",", 32 * plan.vector, "]")));
  TRY(request.Require(plan.unroll == 1 || row % (step * plan.unroll) == 0,
                      Str("a row of ", row, " elements is no multiple of ", plan.unroll, " steps of ", step)));
  for (const std::string& name : plan.kept) {
    TRY(request.Require(!space->KeptOf({name}).empty(),
                        Str("'", Escaped(name), "' is nothing that several passes need")));
  }
  return RowsKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
