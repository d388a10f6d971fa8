// Where each value lies: which values are one buffer, and where buffers lie in the arena.
//
// Values share a buffer when the program says that one becomes the other (loop state, conditional results, in-place
// steps, copies) and their lives do not conflict; where they do, the plan lists a copy. Buffers whose lives are
// disjoint share memory. Two invariants, which a test checks by brute force:
//
//   - two values that are live in the same unit never share a byte, but for an operand and the result of an in-place
//   step
//     while that step runs;
//   - what is a parameter or a constant is never written.
#ifndef HLO_GPU_RUNTIME_BUFFERS_H_
#define HLO_GPU_RUNTIME_BUFFERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu/runtime/values.h"

namespace hlo::gpu {

enum class Area : uint8_t {
  kNothing,    // No bytes.
  kParameter,  // number: leaf of the parameters.
  kConstant,   // number: of BufferPlan::constants.
  kOutput,     // number: leaf of the result.
  kArena,
  kCounters,  // Scratch that kernels expect zero and leave zero; not shared. Given out by compile.cpp.
  kPacked,    // Weights in a library's own order, from one Bind to the next. Given out by compile.cpp.
};

struct Place {
  Area area = Area::kNothing;
  int64_t number = 0;
  int64_t offset = 0;  // kArena, kCounters, kPacked: multiple of kBufferAlignment.

  bool operator==(const Place&) const = default;
};

// Values, not places: both lie in the plan.
struct PlannedCopy {
  int from, to;
};

struct BufferPlan {
  Values values;
  std::vector<int> buffer_of;                 // By value: the buffer's number. -1: no bytes, parameter or constant.
  std::vector<Place> place_of;                // By value.
  std::vector<const Instruction*> constants;  // The different ones.
  // In the order in which they are to be made: before the step at a position (in place), at the end of a branch or
  // body, on entry to a loop.
  std::map<int64_t, std::vector<PlannedCopy>> copies;
  std::vector<int64_t> output_bytes;  // By leaf of the result; 0 when it lies elsewhere.
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;

  const Place& PlaceOf(const Instruction& inst, int leaf) const {
    return place_of[values.of_instruction[inst.id()][leaf]];
  }
};

struct BufferOptions {
  bool reuse_parameters = false;  // Those that the header donates (donors, input-output aliases) lie in the arena.
  bool outputs_in_arena = false;
};

BufferPlan PlanBuffers(const Module& module, Values values, const BufferOptions& options = {});

// One line for each value, by memory; for dumps.
std::string ToString(const BufferPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BUFFERS_H_
