// What an execution did, and when. A runner that is given a timeline (RunOptions::timeline) adds to it
// (timeline_writer.h): two looks at the clock for each event, and memory; of a device what its log tells.
#ifndef HLO_GPU_RUNTIME_TIMELINE_H_
#define HLO_GPU_RUNTIME_TIMELINE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hlo::gpu {

struct TimelineEvent {
  enum class Kind : uint8_t {
    kStep,    // The work of a step.
    kCopies,  // That the plan of the buffers asks for: before a step, into a loop, after a trip or a branch.
    // What decides how it goes on, the condition of a loop or the branch of a conditional: the host reads it, or, in a
    // graph, a kernel tells the device.
    kWait,
  };
  Kind kind;
  int step = -1;      // Into Executable::steps(); -1: none of them.
  int trip = -1;      // Into Timeline::trips, the innermost; -1: in no loop.
  int64_t bytes = 0;  // Of kCopies.
  int graph = -1;     // Of all that one launch of a graph did, the same number, from 0; -1: it was queued by itself.
  // Nanoseconds of the steady clock: the call that queued it (it, or its graph), and the work itself. On a host these
  // are one.
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

  // Why the device's log is not asked; empty: it is, where there is one. It comes out, too, where it fails.
  std::string no_log;
  std::string log;       // "CUPTI 13.0.1": what told the times. Empty: nothing did.
  bool is_lost = false;  // The log failed on the way: the events are none, and no_log says why.
  int64_t least_mhz = 0, most_mhz = 0, memory_mhz = 0;  // Clocks, as the log tells them; 0: it does not.

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TIMELINE_H_
