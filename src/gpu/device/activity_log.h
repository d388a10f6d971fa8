// What a device tells of work after it was done: when kernels, copies and fills ran, in a recording too, where nothing
// is waited for between them. For profiles.
#ifndef HLO_GPU_DEVICE_ACTIVITY_LOG_H_
#define HLO_GPU_DEVICE_ACTIVITY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

// One kernel, copy or fill.
struct Activity {
  int64_t begin = 0, end = 0;  // Nanoseconds of the steady clock.
  uint64_t launch = 0;         // Of Enter; 0: none.
  uint64_t node = 0;           // Of a recording: which of its nodes; 0: it was queued by itself.
  int64_t piece = -1;          // Of NameRecorded; -1: none.
};

struct Activities {
  std::vector<Activity> all;
  uint64_t dropped = 0;                 // There was no room for them.
  int64_t least_mhz = 0, most_mhz = 0;  // Of the multiprocessors' clock, as sampled meanwhile; 0: not told.
  int64_t memory_mhz = 0;
};

// One at a time in a process. After an error it tells nothing more.
class ActivityLog {
 public:
  virtual ~ActivityLog() = default;

  virtual std::string name() const = 0;  // "CUPTI 13.0.1".

  // What is queued from here on is told of, until End, before which all of it must be done.
  virtual Status Begin() = 0;
  virtual Result<Activities> End() = 0;

  // What this thread queues between the two is of that number, which is not 0.
  virtual Status Enter(uint64_t launch) = 0;
  virtual Status Leave() = 0;
  // While something is recorded: what was since the last time, or since it began, is that piece.
  virtual Status NameRecorded(int64_t piece) = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_ACTIVITY_LOG_H_
