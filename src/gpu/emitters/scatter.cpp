// Updates are made in the order of the indices, so the bits are the same each time, even for equal indices. Threads
// share a window's elements, blocks share window starts.
#include "gpu/plan/scatter_space.h"

#include <functional>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

constexpr int64_t kIndicesOfThread = 8;

class Scatter {
 public:
  Scatter(ScatterSpace& space, const EmitRequest& request)
      : space_(space),
        root_(request.body.roots()[0]),
        plan_(request.plan),
        window_(space.window().size),
        count_(space.indices().size),
        needed_(space.Needed()),
        frame_(space.graph, needed_, LaunchOf(space, plan_), request),
        out_(frame_.WrittenOutput(root_, plan_.in_place ? space.outputs[0].in_place_leaf : -1)),
        k_(frame_.k()),
        emission_(frame_.emission()) {}

  EmittedKernel Emit() && {
    if (plan_.splits > 1) EmitShare();
    else k_.Loop(int64_t{0}, count_, 1, [&](Value i) { Update(i); });
    EmittedKernel kernel = std::move(frame_).Finish(
        plan_.splits > 1 ? Str("scatter, in the order of the indices, elements divided among ", plan_.splits, " blocks")
                         : "scatter, in the order of the indices");
    if (IsFloat(root_.inst->shape().type())) {
      kernel.precision.instructions[root_.inst->id()].sum =
          SumPlan{.accumulator = root_.inst->shape().type(), .longest_chain = space_.indices().size};
    }
    return kernel;
  }

 private:
  struct Place {
    // Whether the window fits. Other windows are left out.
    Value fits;
    // Offset of the window in the result.
    Value start;
  };

  Place PlaceOf(Value i) {
    emission_.Bind(space_.indices().e, i);
    Place place{k_.Constant(Type::kPred, int64_t{1}), k_.Index(0)};
    for (const auto& each : space_.starts) {
      const Value index = Convert(emission_.Emit(each.index), Type::kS64);
      place.fits = place.fits & (index >= 0) & (index <= each.most);
      place.start = place.start + Convert(index, Type::kIndex) * each.stride;
    }
    return place;
  }

  void Update(Value i) {
    Emission::Scope scope(emission_);
    emission_.SetLane(space_.window().e);
    const Place place = PlaceOf(i);
    k_.If(place.fits, [&] { UpdateAt(place.start); });
  }

  void UpdateAt(Value start) {
    Emission::Scope inner(emission_);
    if (space_.windows_overlap || window_ == 1) {
      k_.Loop(int64_t{0}, window_, 1, [&](Value at) {
        k_.Tile(1, k_.Index(1), [&](Value) {
          Emission::Scope in_tile(emission_);
          UpdateElement(start, at);
        });
      });
      return;
    }
    const Value begin = k_.block() / plan_.splits * plan_.threads;
    emission_.Hoist(needed_);
    emission_.Hoist(space_.outputs[0].offset);
    TileOver(k_, 1, window_, begin, plan_.threads, [&](Value j) {
      Emission::Scope in_tile(emission_);
      UpdateElement(start, begin + j);
    });
  }

  void UpdateElement(Value start, Value at) {
    const ScatterSpace::Output& output = space_.outputs[0];
    emission_.Bind(space_.window().e, at);
    const Value offset = start + emission_.Lower(output.offset);
    std::vector<Value> arguments = LoadElement(out_, offset, ComponentCount(root_.shape->type()));
    emission_.EmitParts(output.value, &arguments);
    const Computation& update = *root_.inst->attrs<ScatterAttrs>().to_apply;
    StoreElement(out_, offset, EmitScalarComputation(k_, update, arguments));
  }

  // Windows that never overlap have no common element if their starts differ, so each block updates the windows of some
  // starts. Its threads find the block's indices in a chunk of all indices and store them in order.
  void EmitShare() {
    const int64_t chunk = plan_.threads * kIndicesOfThread;
    const Array own = k_.Shared("own", Type::kU32, chunk);
    const Slot found = k_.MakeSlot(Type::kU32), before = k_.MakeSlot(Type::kU32);
    const Value part = Convert(k_.block() % plan_.splits, Type::kU32);
    k_.Loop(int64_t{0}, count_, chunk, [&](Value first) {
      Emission::Scope in_chunk(emission_);
      emission_.SetLane(space_.indices().e);
      const auto for_each_own = [&](const std::function<void(Value)>& f) {
        const Value from = Min(first + k_.thread() * kIndicesOfThread, k_.Index(count_));
        k_.Loop(from, Min(from + kIndicesOfThread, k_.Index(count_)), 1, [&](Value i) {
          Emission::Scope scope(emission_);
          const Place place = PlaceOf(i);
          k_.If(place.fits & (OwnerOf(place.start) == part), [&] { f(i); });
        });
      };
      k_.Phase([&] {
        const Variable count = k_.MakeVariable(k_.Constant(Type::kU32, 0));
        for_each_own([&](Value) { count.Set(count.Get() + 1); });
        found.Set(count.Get());
        before.Set(count.Get());
      });
      const Slot slots[] = {before};
      const Value all = k_.BlockScan(slots, kernel::Lift([](Value a, Value b) { return a + b; }))[0];
      k_.Phase([&] {
        const Variable place = k_.MakeVariable(before.Get() - found.Get());
        for_each_own([&](Value i) {
          own.Store(Convert(place.Get(), Type::kIndex), Convert(i, Type::kU32));
          place.Set(place.Get() + 1);
        });
      });
      k_.Loop(k_.Index(0), Convert(all, Type::kIndex), 1, [&](Value n) { Update(Convert(own.Load(n), Type::kIndex)); });
    });
  }

  // Knuth's multiplicative hash spreads neighbouring starts over blocks, whatever their distance.
  Value OwnerOf(Value start) const {
    const Value mixed = Convert(start, Type::kU32) * k_.Constant(Type::kU32, int64_t{2654435761});
    return ShiftRightLogical(mixed, k_.Constant(Type::kU32, 8)) % k_.Constant(Type::kU32, plan_.splits);
  }

  ScatterSpace& space_;
  const FusionBody::Root& root_;
  const KernelPlan& plan_;
  const int64_t window_, count_;
  const std::vector<NodeId> needed_;
  KernelFrame frame_;
  const Array out_;
  KernelBuilder& k_;
  Emission& emission_;
};

}  // namespace

Result<EmittedKernel> EmitScatter(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& inst = *request.body.roots()[0].inst;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  TRY(request.Require(inst.Is(Opcode::kScatter) && heroes == std::vector{&inst},
                      Str("'", heroes.empty() ? "" : heroes[0]->name(), "' is not the scatter at the root")));
  TRY(request.Require(inst.operand_count() == 3 && inst.operand(2).shape().NumElements() > 0,
                      "the scatter has several operands, or no updates"));
  TRY(request.RequireBlock(0));
  const auto space = TRY(ScatterSpaceOf(request.body));
  TRY(request.Require(!plan.in_place || space->outputs[0].in_place_leaf >= 0,
                      "its operand cannot be updated in place"));
  TRY(request.Require(plan.splits == 1 || !space->windows_overlap,
                      "one block must make all updates, because windows may overlap"));
  return Scatter(*space, request).Emit();
}

}  // namespace hlo::gpu
