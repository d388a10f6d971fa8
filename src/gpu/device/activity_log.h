// The times of kernels, copies and fills on a device, for profiles. Nodes of replayed recordings are logged
// individually.
#ifndef HLO_GPU_DEVICE_ACTIVITY_LOG_H_
#define HLO_GPU_DEVICE_ACTIVITY_LOG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

// A kernel, copy or fill.
struct Activity {
  int64_t begin = 0, end = 0;  // Nanoseconds of the steady clock.
  uint64_t launch = 0;         // The number passed to Enter, or 0.
  uint64_t node = 0;           // Id of the graph node; 0 outside of graphs.
  int64_t piece = -1;          // The number passed to NameRecorded, or -1.
};

struct Activities {
  std::vector<Activity> all;
  uint64_t dropped = 0;                 // Records lost when buffers were full.
  int64_t least_mhz = 0, most_mhz = 0;  // Sampled clock of the multiprocessors; 0 if unknown.
  int64_t memory_mhz = 0;
};

// A process can use only one log at a time.
class ActivityLog {
 public:
  virtual ~ActivityLog() = default;

  virtual std::string name() const = 0;

  // End returns the log since Begin. The queued work must have ended.
  virtual Status Begin() = 0;
  virtual Result<Activities> End() = 0;

  // Work queued by this thread between Enter and Leave gets the number `launch`, not 0.
  virtual Status Enter(uint64_t launch) = 0;
  virtual Status Leave() = 0;
  // Assigns `piece` to nodes recorded since the previous call or the start of the recording.
  virtual Status NameRecorded(int64_t piece) = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_ACTIVITY_LOG_H_
