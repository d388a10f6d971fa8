// Assigns values to buffers, and buffers to offsets in the arena.
//
// Values share a buffer if one becomes the other (loop state, conditional results, in-place steps, copies) and their
// lives do not conflict. Otherwise the plan has a copy. Invariants:
//
//   - Two values that are live in the same unit never share a byte, except the operand and the result of an in-place
//     step while that step runs.
//   - Parameters and constants are never written.
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
  kCounters,  // Unshared scratch that kernels expect to be zero and leave zero.
  kPacked,    // Weights in a library's own order, valid until the next Bind.
};

struct Place {
  Area area = Area::kNothing;
  int64_t number = 0;  // A leaf of the parameters or the result, or the index of a constant.
  int64_t offset = 0;  // A multiple of kBufferAlignment.

  bool operator==(const Place&) const = default;
};

// The numbers of two values, not of places.
struct PlannedCopy {
  int from, to;
};

struct BufferPlan {
  Values values;
  // Indexed by value; -1 for empty values, parameters and constants.
  std::vector<int> buffer_of;
  std::vector<Place> place_of;
  std::vector<const Instruction*> constants;  // Without duplicates.
  // Copies before an in-place step, at the end of a branch or body, or at the entry of a loop, in order of execution.
  std::map<int64_t, std::vector<PlannedCopy>> copies;
  std::vector<int64_t> output_bytes;  // Indexed by leaf; 0 if it is stored elsewhere.
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;

  const Place& PlaceOf(const Instruction& inst, int leaf) const {
    return place_of[values.of_instruction[inst.id()][leaf]];
  }
};

struct BufferOptions {
  // Reuses donated parameters.
  bool reuse_parameters = false;
  bool outputs_in_arena = false;
};

BufferPlan PlanBuffers(const Module& module, Values values, const BufferOptions& options = {});

std::string ToString(const BufferPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BUFFERS_H_
