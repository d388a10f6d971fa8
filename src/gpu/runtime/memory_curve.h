// How much memory is in use when, and by whom, as the plan of the buffers says: a pure function of the program.
#ifndef HLO_GPU_RUNTIME_MEMORY_CURVE_H_
#define HLO_GPU_RUNTIME_MEMORY_CURVE_H_

#include <cstdint>
#include <vector>

#include "gpu/runtime/buffers.h"

namespace hlo::gpu {

struct Program;

// Bytes that hold something while the step at a position runs; in the arena multiples of kBufferAlignment. What stays
// for the whole run (arguments, constants, counters, packed weights) is none of them: MemoryReport has it.
struct MemoryPoint {
  int64_t temporaries = 0;  // In the arena: what is computed, state of loops, scratch of steps.
  int64_t outputs = 0;      // Results in memory of their own.
  int64_t bytes() const { return temporaries + outputs; }
};

// A buffer that holds something at a position.
struct HeldBuffer {
  const Value* value;  // Of those that take turns in it, the one that it holds then.
  int64_t bytes;
  bool is_output;
  int64_t first, last;  // Positions from which and to which it holds something without a break.
};

struct MemoryCurve {
  std::vector<MemoryPoint> at;            // By position.
  std::vector<int64_t> position_of_step;  // By index into Program::steps.
  int64_t peak = 0;                       // The first position with the most bytes.
  std::vector<HeldBuffer> at_peak;        // The largest first. Points into the program.
};

MemoryCurve CurveOf(const BufferPlan& plan);  // Without steps.
MemoryCurve CurveOf(const Program& program);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_MEMORY_CURVE_H_
