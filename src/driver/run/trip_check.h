// A loop that is one kernel, judged as loops of kernels are: by single trips, each from the state that it began with.
// The kernel itself goes there: it stops where it is told to (gpu::RunOptions::stop_loops_after).
#ifndef HLO_DRIVER_RUN_TRIP_CHECK_H_
#define HLO_DRIVER_RUN_TRIP_CHECK_H_

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "interp/compare/compare.h"

namespace hlo {

// The first trip, the last and `seeded` others, ascending; all of them where there are no more. None of 0 trips.
std::set<int64_t> TripsToJudge(int64_t trips, int64_t seeded, uint64_t seed);

// A kernel that holds a loop and more, as a kernel for the loop, of the same plan, and others for the rest: one each,
// or with `same_plan` two, what the loop is computed from and what is not. Null where it is no such kernel, or they do
// not compile. Errors: those of the device.
Result<std::unique_ptr<gpu::Executable>> CompileAroundLoop(const gpu::StepInfo& step, gpu::Device& device,
                                                           const RunOptions& options, bool same_plan);

class TripCheck {
 public:
  // Null where the step is more than one loop of what it is given, or does not compile alone.
  static Result<std::unique_ptr<TripCheck>> Of(const gpu::StepInfo& step, gpu::Device& device,
                                               const RunOptions& options);

  // Of each judged trip. An error ends the check.
  using Judge = std::function<Status(const Comparison&, std::span<const gpu::LoopStep>)>;
  // The trips of TripsToJudge: what the body made of the state, and whether the condition was right
  // to go on or to end. Then whether all trips together gave `output`, by the bits.
  Status Run(std::span<const Literal> inputs, const Literal& output, int64_t seeded, const LocalOptions& local,
             const Judge& judge);
  // CompareWhereDecided for one trip from a made-up state.
  Result<std::optional<Comparison>> WithRandomArguments(LocalOptions local, const std::set<ShapeIndex>& open);

 private:
  TripCheck(const gpu::StepInfo& step, const Instruction& loop) : step_(step), loop_(loop) {}

  Result<Literal> Value(const Instruction& inst, std::span<const Literal> inputs, const Literal* result) const;
  Result<Literal> Go(const Literal& state, int64_t trips, int64_t* made);

  const gpu::StepInfo& step_;
  const Instruction& loop_;
  std::unique_ptr<gpu::Executable> alone_;  // The state after the loop, from that before.
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TRIP_CHECK_H_
