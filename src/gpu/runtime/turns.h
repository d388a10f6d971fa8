// Avoids copying loop state at the end of each trip in loops that are recorded trip by trip. The next state is written
// alternately to two places, and copied once after the last trip.
#ifndef HLO_GPU_RUNTIME_TURNS_H_
#define HLO_GPU_RUNTIME_TURNS_H_

#include <span>
#include <utility>
#include <vector>

#include "gpu/runtime/binding.h"
#include "gpu/runtime/buffers.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// Fewer trips do not justify the memory.
constexpr int64_t kLeastTripsInTurns = 3;

// The copies in `back` that can be avoided, ascending, with the affected places of `body`: their two buffers have no
// other copy, and the body uses the buffers only for the state and values of the same trip. `value_at` is the value of
// each place, or -1.
std::vector<LoopNode::Turn> FindTurns(const Instruction& loop, const BufferPlan& buffers,
                                      std::span<const PlannedCopy> back, PlaceRange body,
                                      std::span<const int> value_at);

// Points the places of alternating state to the memory for `trip`, until destruction.
class InTurns {
 public:
  InTurns(Binding& binding, const LoopNode& loop, int64_t trip);
  ~InTurns();
  InTurns(const InTurns&) = delete;

 private:
  void Move(PlaceNumber place, void* to);

  Binding& binding_;
  std::vector<std::pair<PlaceNumber, void*>> before_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TURNS_H_
