// Avoids copying the state at the end of each trip, if trips are recorded one by one. Trips write the next state
// alternately to two places. One copy follows the last trip.
#ifndef HLO_GPU_RUNTIME_TURNS_H_
#define HLO_GPU_RUNTIME_TURNS_H_

#include <span>
#include <utility>
#include <vector>

#include "gpu/runtime/binding.h"
#include "gpu/runtime/buffers.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

// Fewer trips are not worth the memory.
constexpr int64_t kLeastTripsInTurns = 3;

// The avoidable copies in `back`, ascending, with the affected places of `body`. Their two buffers have no other copy,
// and the body uses these buffers only for the state and for values of the same trip. `value_at` is the value of each
// place, or -1.
std::vector<LoopNode::Turn> FindTurns(const Instruction& loop, const BufferPlan& buffers,
                                      std::span<const PlannedCopy> back, PlaceRange body,
                                      std::span<const int> value_at);

// Until its destruction, places of alternating state point to the memory for `trip`.
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
