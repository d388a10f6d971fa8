// Assigns values to buffers, and buffers to offsets in the arena.
//
// Values share a buffer if one becomes the other (loop state, conditional results, in-place steps, copies) and their
// lives do not conflict. Otherwise the plan has a copy. Buffers with disjoint lives share memory. A test checks two
// invariants by brute force:
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
  kNothing,    // No bytes.
  kParameter,  // The number is a leaf of the parameters.
  kConstant,   // The number is an index in BufferPlan::constants.
  kOutput,     // The number is a leaf of the result.
  kArena,
  kCounters,  // Unshared scratch that kernels expect to be zero and leave zero. Assigned by compile.cpp.
  kPacked,    // Weights in a library's own order, valid until the next Bind. Assigned by compile.cpp.
};

struct Place {
  Area area = Area::kNothing;
  int64_t number = 0;
  int64_t offset = 0;  // For kArena, kCounters, kPacked: a multiple of kBufferAlignment.

  bool operator==(const Place&) const = default;
};

// A copy between two values (not places) of the plan.
struct PlannedCopy {
  int from, to;
};

struct BufferPlan {
  Values values;
  // Indexed by value: the number of its buffer; -1 for empty values, parameters and constants.
  std::vector<int> buffer_of;
  std::vector<Place> place_of;                // Indexed by value.
  std::vector<const Instruction*> constants;  // Without duplicates.
  // Keyed by position, in the order of execution: before an in-place step, at the end of a branch or body, or at the
  // entry of a loop.
  std::map<int64_t, std::vector<PlannedCopy>> copies;
  std::vector<int64_t> output_bytes;  // Indexed by leaf of the result; 0 if it is stored elsewhere.
  int64_t arena_bytes = 0;
  int64_t arena_lower_bound = 0;

  const Place& PlaceOf(const Instruction& inst, int leaf) const {
    return place_of[values.of_instruction[inst.id()][leaf]];
  }
};

struct BufferOptions {
  // Reuses the memory of parameters that the header donates (donors, input-output aliases).
  bool reuse_parameters = false;
  bool outputs_in_arena = false;
};

BufferPlan PlanBuffers(const Module& module, Values values, const BufferOptions& options = {});

// One line for each value, ordered by memory. For dumps.
std::string ToString(const BufferPlan& plan);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_BUFFERS_H_
