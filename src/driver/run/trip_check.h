// Judges a kernel that is a loop, one trip at a time. The kernel computes the state before each trip
// (gpu::RunOptions::stop_loops_after).
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
#include "judge/compare/compare.h"

namespace hlo {

// Numbers of the first, the last and `seeded` random trips, or of all trips if there are fewer.
std::set<int64_t> TripsToJudge(int64_t trips, int64_t seeded, uint64_t seed);

// Splits a kernel with a loop and other instructions. The loop keeps the plan. The others get their own plans or, with
// `same_plan`, become at most two kernels with the same plan: the instructions on which the loop depends, and the rest.
// Null for other kernels, or if parts do not compile. Errors: failures of the device.
Result<std::unique_ptr<gpu::Executable>> CompileAroundLoop(const gpu::StepInfo& step, gpu::Device& device,
                                                           const RunOptions& options, bool same_plan);

class TripCheck {
 public:
  // Null if the step is not a single loop over its operands, or does not compile alone.
  static Result<std::unique_ptr<TripCheck>> Of(const gpu::StepInfo& step, gpu::Device& device,
                                               const RunOptions& options);

  // Receives each comparison with its trip. An error ends the check.
  using Judge = std::function<Status(const Comparison&, std::span<const gpu::LoopStep>)>;
  // Judges state and condition of each of TripsToJudge, then checks that all trips together give the bits of `output`.
  Status Run(std::span<const Literal> inputs, const Literal& output, int64_t seeded, const LocalOptions& local,
             const Judge& judge);
  // Judges one trip of the loop from made-up states (CompareWhereDecided).
  Result<std::optional<Comparison>> WithRandomArguments(LocalOptions local, const std::set<ShapeIndex>& open);

 private:
  TripCheck(const gpu::StepInfo& step, const Instruction& loop) : step_(step), loop_(loop) {}

  Result<Literal> Value(const Instruction& inst, std::span<const Literal> inputs, const Literal* result) const;
  Result<Literal> Go(const Literal& state, int64_t trips, int64_t* made);

  const gpu::StepInfo& step_;
  const Instruction& loop_;
  std::unique_ptr<gpu::Executable> alone_;  // Maps the state before the loop to the state after it.
};

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_TRIP_CHECK_H_
