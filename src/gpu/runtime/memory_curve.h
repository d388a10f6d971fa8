// The memory in use over time according to the buffer plan, and the values that use it. A pure function of the program.
#ifndef HLO_GPU_RUNTIME_MEMORY_CURVE_H_
#define HLO_GPU_RUNTIME_MEMORY_CURVE_H_

#include <cstdint>
#include <vector>

#include "gpu/runtime/buffers.h"

namespace hlo::gpu {

struct Program;

// The bytes in use at a position; in the arena multiples of kBufferAlignment. Memory for the whole run (arguments,
// constants, counters, packed weights) is not included; see MemoryReport.
struct MemoryPoint {
  int64_t temporaries = 0;  // In the arena: computed values, loop state, scratch.
  int64_t outputs = 0;      // Results outside the arena.
  int64_t bytes() const { return temporaries + outputs; }
};

// A buffer that is in use at a position.
struct HeldBuffer {
  const Value* value;  // The value that it holds at that position.
  int64_t bytes;
  bool is_output;
  int64_t first, last;  // The interval of positions in which it is in use without a gap.
};

struct MemoryCurve {
  std::vector<MemoryPoint> at;            // Indexed by position.
  std::vector<int64_t> position_of_step;  // Indexed by Program::steps.
  int64_t peak = 0;                       // The first position with the maximum.
  std::vector<HeldBuffer> at_peak;        // The largest first. Pointers into the program.
};

MemoryCurve CurveOf(const BufferPlan& plan);  // Without steps.
MemoryCurve CurveOf(const Program& program);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_MEMORY_CURVE_H_
