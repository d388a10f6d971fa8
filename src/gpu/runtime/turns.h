// Loop state that would be copied at the end of each trip, in loops that are recorded trip by trip: the next state is
// written where the last one does not lie, in two places by turns, and copied once, after the last trip.
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

// Of the planned copies at the end of the body of `loop` those that may be left out so, in ascending order, with what
// of the places `body` lies in the state's buffer and in the next one's. `value_at`: by place, the value that is meant;
// -1: none. A copy may go when nothing else is copied from or to its two buffers, and all that the body finds in them
// is the state itself or comes from the same trip.
std::vector<LoopNode::Turn> FindTurns(const Instruction& loop, const BufferPlan& buffers,
                                      std::span<const PlannedCopy> back, PlaceRange body,
                                      std::span<const int> value_at);

// State that goes by turns lies where trip `trip` finds it and leaves it, as long as this is there.
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
