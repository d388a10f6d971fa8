// Kept values stay in shared memory, so they are computed once.
#include "gpu/plan/rows_space.h"

#include "base/text.h"
#include "gpu/emitters/row_passes.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {
namespace {

class RowsKernel {
 public:
  RowsKernel(RowsSpace& space, const EmitRequest& request)
      : space_(space),
        plan_(request.plan),
        row_(space.minor().size),
        by_warp_(plan_.tile[0] > 1),
        frame_(space.graph, space.Needed(), LaunchOf(space, RowAxes(space), plan_), request),
        k_(frame_.k()),
        passes_(space, frame_, plan_, by_warp_, plan_.tile[1]) {
    k_.CountsTo(space.Size());
    frame_.emission().SetLane(space.minor().e);
    passes_.KeepRows(plan_.tile[0]);
  }

  EmittedKernel Emit() && {
    if (!by_warp_) {
      EmitRow(k_.block(), k_.Index(0));
      return Finish("rows, a block for each");
    }
    k_.Warps([&] {
      const Value index = k_.block() * plan_.tile[0] + k_.warp();
      k_.If(index < space_.Size(Role::kKept), [&] { EmitRow(index, k_.warp() * row_); });
    });
    return Finish("rows, a warp for each");
  }

 private:
  void EmitRow(Value index, Value kept_at) {
    const Emission::Scope scope(frame_.emission());
    BindAll(space_, frame_.emission(), Role::kKept, index);
    passes_.Emit(kept_at);
  }

  EmittedKernel Finish(std::string_view how) {
    EmittedKernel kernel = std::move(frame_).Finish(how);
    passes_.AddChains(kernel.precision);
    return kernel;
  }

  RowsSpace& space_;
  const KernelPlan& plan_;
  const int64_t row_;
  const bool by_warp_;
  KernelFrame frame_;
  KernelBuilder& k_;
  RowPasses passes_;
};

}  // namespace

Result<EmittedKernel> EmitRows(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const std::vector<const Instruction*> heroes = TRY(request.Heroes());
  for (const Instruction* hero : heroes)
    TRY(request.Require(hero->Is(Opcode::kReduce), Str("'", hero->name(), "' is not a reduce")));
  TRY(request.Require(heroes[0]->operand(0).shape().NumElements() > 0, "it reduces no elements"));
  std::string why_not;
  const auto space = TRY(RowsSpaceOf(request.body, heroes, &why_not));
  TRY(request.Require(space != nullptr, why_not));
  TRY(request.RequireBlock(2));
  const int64_t row = space->minor().size, warps = plan.threads / 32, step = plan.tile[1];
  TRY(request.Require(row % plan.vector == 0,
                      Str("rows of ", row, " elements are not a multiple of vector, ", plan.vector)));
  TRY(request.Require((plan.tile[0] == 1 || plan.tile[0] == warps) && plan.tile[0] * step == plan.threads * plan.vector,
                      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must be [1,",
                          plan.threads * plan.vector, "] or [", warps, ",", 32 * plan.vector, "]")));
  TRY(request.Require(plan.unroll == 1 || row % (step * plan.unroll) == 0,
                      Str("a row of ", row, " elements is not a multiple of ", plan.unroll, " steps of ", step)));
  for (const std::string& name : plan.kept) {
    TRY(request.Require(!space->KeptOf({name}).empty(),
                        Str("'", Escaped(name), "' is not a value that several passes need")));
  }
  return RowsKernel(*space, request).Emit();
}

}  // namespace hlo::gpu
