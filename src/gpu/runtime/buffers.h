// Assigns values to buffers, and buffers to offsets in the arena.
//
// If a value becomes another one (loop state, conditional results, in-place steps, copies), both share a buffer. If
// their lives conflict, the plan has a copy instead. If the sharing is optional, it is then omitted without a copy.
//
// - Two values that are live in the same unit (values.h) never share a byte, unless one becomes the other there.
// - Constants, and parameters that are not donated, are never written.
#ifndef HLO_GPU_RUNTIME_BUFFERS_H_
#define HLO_GPU_RUNTIME_BUFFERS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu/runtime/values.h"

namespace hlo::gpu {

enum class Area : uint8_t {
  kNothing,
  kParameter,
  kConstant,
  kOutput,
  kArena,
  kCounters,  // Counters of loops, and scratch that is zero before and after each kernel. Not shared.
  kPacked,    // Weights in a library's own order, valid until the next Bind.
};

struct Place {
  Area area = Area::kNothing;
  int64_t number = 0;  // Number of a leaf of the parameters or result, or index of a constant.
  int64_t offset = 0;  // A multiple of kBufferAlignment.

  bool operator==(const Place&) const = default;
};

// A copy between the places of two values (indices into Values::values).
struct PlannedCopy {
  int from, to;
};

struct BufferPlan {
  Values values;
  // Indexed by value. -1 for empty values, constants, and parameters that are not donated.
  std::vector<int> buffer_of;
  std::vector<Place> place_of;
  std::vector<const Instruction*> constants;  // Without duplicates.
  // Copies by position (values.h): before an in-place step, at the end of a branch or body, or at a loop's entry. In
  // order of execution.
  std::map<int64_t, std::vector<PlannedCopy>> copies;
  std::vector<int64_t> output_bytes;  // Indexed by leaf: its bytes in Area::kOutput, 0 if it is elsewhere.
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;

  const Place& PlaceOf(const Instruction& inst, int leaf) const {
    return place_of[values.of_instruction[inst.id()][leaf]];
  }
};

struct BufferOptions {
  // The memory of a donated parameter may be reused for other values.
  bool reuse_parameters = false;
  bool outputs_in_arena = false;
};

BufferPlan PlanBuffers(const Module& module, Values values, const BufferOptions& options = {});

std::string ToString(const BufferPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BUFFERS_H_
