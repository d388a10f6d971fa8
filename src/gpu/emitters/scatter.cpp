// The emitter of scatters: updates in the order of the indices, so the same bits each time, also where indices meet.
// Threads share the elements of a window; each walks all indices.
#include "gpu/plan/scatter_space.h"

#include <algorithm>

#include "base/text.h"
#include "gpu/emitters/frame.h"
#include "gpu/emitters/scalar.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::KernelBuilder;
using kernel::Type;
using kernel::Value;

}  // namespace

Result<EmittedKernel> EmitScatter(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const FusionBody::Root& root = request.body.roots()[0];
  const Instruction& inst = *root.inst;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  TRY(request.Require(inst.Is(Opcode::kScatter) && heroes == std::vector{&inst},
                      Str("'", heroes.empty() ? "" : heroes[0]->name(), "' is no scatter at the root")));
  TRY(request.Require(inst.operand_count() == 3 && inst.operand(2).shape().NumElements() > 0,
                      "the scatter has several operands, or no updates"));
  TRY(request.RequireBlock(0));
  const auto space = TRY(ScatterSpaceOf(request.body));
  TRY(request.Require(!plan.in_place || space->outputs[0].in_place_leaf >= 0,
                      "its operand cannot be updated in place"));
  const ScatterSpace::Output& output = space->outputs[0];
  const int64_t window = space->window().size, count = space->indices().size;
  const std::vector<NodeId> needed = space->Needed();
  KernelFrame frame(space->graph, needed, LaunchOf(*space, plan), request);
  const Array out = frame.WrittenOutput(root, plan.in_place ? output.in_place_leaf : -1);
  KernelBuilder& k = frame.k();
  Emission& emission = frame.emission();
  emission.SetLane(space->window().e);
  const Value begin = k.block() * plan.threads;
  const auto update = [&](Value start, Value at) {
    emission.Bind(space->window().e, at);
    const Value offset = start + emission.Lower(output.offset);
    std::vector<Value> arguments = LoadElement(out, offset, PartsOf(root.shape->type()));
    emission.EmitParts(output.value, &arguments);
    StoreElement(out, offset, EmitScalarComputation(k, *inst.attrs<ScatterAttrs>().to_apply, arguments, frame.fault()));
  };
  k.Loop(int64_t{0}, frame.fault() == "dropped_term" ? count - 1 : count, 1, [&](Value i) {
    Emission::Scope scope(emission);
    emission.Bind(space->indices().e, i);
    // A window that does not fit is left out altogether.
    Value fits = k.Constant(Type::kPred, int64_t{1}), start = k.Index(0);
    for (const auto& each : space->starts) {
      const Value index = Convert(emission.Emit(each.index), Type::kS64);
      fits = fits & (index >= 0) & (index <= each.most);
      start = start + Convert(index, Type::kIndex) * each.stride;
    }
    k.If(fits, [&] {
      Emission::Scope inner(emission);
      if (space->windows_overlap) {
        k.Loop(int64_t{0}, window, 1, [&](Value at) {
          k.Tile(1, k.Index(1), [&](Value) {
            Emission::Scope in_tile(emission);
            update(start, at);
          });
        });
        return;
      }
      emission.Hoist(needed);
      emission.Hoist(output.offset);
      TileOver(k, 1, window, begin, plan.threads, [&](Value j) {
        Emission::Scope in_tile(emission);
        update(start, begin + j);
      });
    });
  });
  EmittedKernel kernel = std::move(frame).Finish("scatter, in the order of the indices");
  if (IsFloat(inst.shape().type())) {
    kernel.precision.instructions[inst.id()].sum = SumPlan{.accumulator = inst.shape().type(), .longest_chain = count};
  }
  return kernel;
}

}  // namespace hlo::gpu
