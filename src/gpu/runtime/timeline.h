// What an execution did, and when. A runner that is given a timeline (RunOptions::timeline) adds to it: two looks at
// the clock for each event, and memory.
#ifndef HLO_GPU_RUNTIME_TIMELINE_H_
#define HLO_GPU_RUNTIME_TIMELINE_H_

#include <chrono>
#include <cstdint>
#include <vector>

namespace hlo::gpu {

struct TimelineEvent {
  enum class Kind : uint8_t {
    kStep,    // The work of a step.
    kCopies,  // That the plan of the buffers asks for: before a step, into a loop, after a trip or a branch.
    kWait,    // The host reads what decides how it goes on: the condition of a loop, the branch of a conditional.
  };
  Kind kind;
  int step = -1;      // Into Executable::steps(); -1: none of them.
  int trip = -1;      // Into Timeline::trips, the innermost; -1: in no loop.
  int64_t bytes = 0;  // Of kCopies.
  // Nanoseconds of the steady clock: the call that queued it, and the work itself. On a host these are one.
  int64_t queued = 0, queue_end = 0, begin = 0, end = 0;
};

// One time that a loop was asked whether it goes on, and what it did then.
struct TimelineTrip {
  int loop;         // The id of its instruction in Executable::module().
  int64_t number;   // From 0.
  int parent;       // The trip of a loop around it; -1: none.
  bool ran = true;  // False: the condition ended it.
  int64_t begin = 0, end = 0;
};

struct Timeline {
  size_t most_events = size_t{1} << 22;  // Of events, and of trips; what comes later is counted.

  std::vector<TimelineEvent> events;  // In the order in which they were queued.
  std::vector<TimelineTrip> trips;
  int64_t dropped = 0;  // Events.
  // Each step was waited for, since the device tells no other time: the sum of the steps holds, gaps say nothing.
  bool waits_for_each = false;
  int64_t begin = 0, end = 0;  // Of the execution.

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TIMELINE_H_
