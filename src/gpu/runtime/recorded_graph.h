// What is in a recording, node after node, as the run time queued it: for dumps.
#ifndef HLO_GPU_RUNTIME_RECORDED_GRAPH_H_
#define HLO_GPU_RUNTIME_RECORDED_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "ir/instruction.h"

namespace hlo::gpu {

struct RecordedNode {
  // kTrips: a loop written out, `trips` times the same body. kLoop: its body again and again. kBranch: one of the
  // bodies.
  enum class Kind : uint8_t { kKernel, kLibrary, kCopy, kFill, kTrips, kLoop, kBranch };
  Kind kind;
  const Instruction* instruction = nullptr;  // Of Executable::module(); null: a copy of the buffer plan.
  std::string name;                          // A kernel's; empty: the instruction's.
  std::string how;                           // "loop, 3 blocks of 256", as the step's.
  int64_t bytes = 0;                         // Of a copy, of a fill.
  int64_t trips = 0;
  std::vector<std::vector<RecordedNode>> bodies = {};
  std::vector<int> after = {};  // Those of its list that it comes right after.
};

struct RecordedGraph {
  std::vector<RecordedNode> nodes;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_RECORDED_GRAPH_H_
