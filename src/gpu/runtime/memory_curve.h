// The buffer plan's memory in use over time.
#ifndef HLO_GPU_RUNTIME_MEMORY_CURVE_H_
#define HLO_GPU_RUNTIME_MEMORY_CURVE_H_

#include <cstdint>
#include <vector>

#include "gpu/runtime/buffers.h"

namespace hlo::gpu {

struct Program;

// Bytes at a position (values.h), without arguments, constants, counters and packed weights.
struct MemoryPoint {
  int64_t temporaries = 0;  // In the arena. A multiple of kBufferAlignment.
  int64_t outputs = 0;      // Outside the arena.
  int64_t bytes() const { return temporaries + outputs; }
};

struct HeldBuffer {
  const BufferedValue* value;
  int64_t bytes;
  bool is_output;
  int64_t first, last;  // Positions between which the buffer is in use.
};

struct MemoryCurve {
  std::vector<MemoryPoint> at;
  std::vector<int64_t> position_of_step;  // Indexed by Program::steps.
  int64_t peak = 0;                       // First position with the largest bytes().
  std::vector<HeldBuffer> at_peak;        // The largest first.
};

MemoryCurve CurveOf(const BufferPlan& plan);
MemoryCurve CurveOf(const Program& program);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_MEMORY_CURVE_H_
