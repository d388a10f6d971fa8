// A recording's nodes in the order of queueing, for dumps.
#ifndef HLO_GPU_RUNTIME_RECORDED_GRAPH_H_
#define HLO_GPU_RUNTIME_RECORDED_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

struct RecordedNode {
  // kTrips: `trips` copies of a loop's body. kLoop repeats its body. kBranch runs one of its bodies.
  enum class Kind : uint8_t { kKernel, kLibrary, kCopy, kFill, kTrips, kLoop, kBranch };
  Kind kind;
  const Instruction* instruction = nullptr;  // In Executable::module(). Null for the buffer plan's copies.
  std::string name;                          // The kernel's name. If empty, the instruction's name is shown.
  std::string how;                           // As in StepInfo.
  int64_t bytes = 0;                         // For copies and fills.
  int64_t trips = 0;
  std::vector<std::vector<RecordedNode>> bodies = {};
  std::vector<int> after = {};  // Indices of the direct predecessors.
};

struct RecordedGraph {
  std::vector<RecordedNode> nodes;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RECORDED_GRAPH_H_
