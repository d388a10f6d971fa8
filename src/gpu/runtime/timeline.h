// The events of an execution with their times (timeline_writer.h).
#ifndef HLO_GPU_RUNTIME_TIMELINE_H_
#define HLO_GPU_RUNTIME_TIMELINE_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace hlo::gpu {

struct TimelineEvent {
  enum class Kind : uint8_t {
    kStep,
    kCopies,  // Before a step, at a loop's entry, or after a trip or branch.
    // A loop's or branch's decision: the host reads a predicate, or a kernel in a graph sets a condition.
    kWait,
  };
  Kind kind;
  int step = -1;      // Index in Executable::steps(), or -1.
  int trip = -1;      // Index in `trips` of the innermost trip. -1 outside loops.
  int64_t bytes = 0;  // For kCopies.
  int graph = -1;     // Number of the graph launch, or -1.
  // Nanoseconds of the steady clock. The event or its graph is queued from `queued` to `queue_end`, and works from
  // `begin` to `end`. On a host both intervals are equal.
  int64_t queued = 0, queue_end = 0, begin = 0, end = 0;
};

// One evaluation of a loop condition and its trip.
struct TimelineTrip {
  int loop;  // Id of the `while` in Executable::module().
  int64_t number;
  int parent;       // The enclosing loop's trip, or -1.
  bool ran = true;  // If false, the condition ended the loop.
  int64_t begin = 0, end = 0;
};

struct Timeline {
  size_t most_events = size_t{1} << 22;  // Limits events, and also trips.

  std::vector<TimelineEvent> events;  // In the order of queueing.
  std::vector<TimelineTrip> trips;
  int64_t dropped = 0;
  // Whether the run waited for each step, because it had no log. Gaps then say nothing about normal runs.
  bool waits_for_each = false;
  int64_t begin = 0, end = 0;

  // Why the device's log is not used or failed. Set before the run, it disables the log.
  std::string no_log;
  std::string log;                                      // Such as "CUPTI 13.0.1". Empty for none.
  bool is_lost = false;                                 // The log failed: there are no events.
  int64_t least_mhz = 0, most_mhz = 0, memory_mhz = 0;  // Clock rates of the device during the log. 0 if unknown.

  static int64_t Now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TIMELINE_H_
