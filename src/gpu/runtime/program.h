// The actions of an executable in order: steps, loops and branches over places in memory. compile.cpp makes it; it is
// immutable and contains no pointers and no device. A Binding (binding.h) provides a device and arguments, and a runner
// (runner.h) executes it.
#ifndef HLO_GPU_RUNTIME_PROGRAM_H_
#define HLO_GPU_RUNTIME_PROGRAM_H_

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "gpu/device/device.h"
#include "gpu/libraries/library.h"
#include "gpu/runtime/buffers.h"
#include "gpu/runtime/executable.h"

namespace hlo::gpu {

// The place of some bytes. Its index in Program::places identifies it, and each binding has a pointer for it.
struct PlaceUse {
  Place place;
  int64_t bytes;
};
using PlaceNumber = int32_t;

// Consecutive place numbers, so that the pointers of a kernel's arguments are adjacent.
struct PlaceRange {
  PlaceNumber first = 0;
  int32_t count = 0;
};

struct CopyWork {
  PlaceNumber from, to;
  int64_t bytes;
};

struct KernelWork {
  int code;  // Index in Program::code.
  PlaceRange arguments;
  std::vector<bool> writes;  // Indexed by argument.
  // For a kernel with loops: the place of KernelBuffer::kTrips, and the loops.
  PlaceNumber trips = 0;
  std::vector<const Instruction*> loops = {};
};

struct LibraryWork {
  int call;  // Index in Program::calls.
  PlaceRange operands, results;
  PlaceNumber scratch = 0, packed = 0;
  bool pack_once = false;  // Packs after Bind instead of in each run.
  bool waits = false;      // Waits for the device, so it cannot be recorded.
};

struct FillWork {
  PlaceNumber to;
  uint64_t pattern;
  int width;
  int64_t count;
};

struct HostWork {  // Runs CompileOptions::host for the step's instruction.
  PlaceRange operands, results;
};

using Work = std::variant<KernelWork, LibraryWork, FillWork, HostWork>;

// Whether the host takes part in the work, so that it cannot be recorded.
inline bool NeedsHost(const Work& work) {
  const auto* const call = std::get_if<LibraryWork>(&work);
  return std::holds_alternative<HostWork>(work) || (call != nullptr && call->waits);
}

struct Step {
  const Instruction* instruction;
  int info = -1;                 // Index in Executable::steps(); -1 for copies that are not reported.
  std::vector<CopyWork> copies;  // Copies before the work, for values that its result must contain already.
  std::vector<Work> work;
  // Estimated seconds (shares.h) and blocks of the largest launch; for a library call the 128x128 tiles of its result.
  // 0 if unknown.
  double seconds = 0;
  int64_t blocks = 0;
};

struct LoopNode;
struct BranchNode;
using Node = std::variant<Step, std::unique_ptr<LoopNode>, std::unique_ptr<BranchNode>>;
using Block = std::vector<Node>;

struct LoopNode {
  const Instruction* loop;
  std::vector<CopyWork> enter;
  Block condition;
  PlaceNumber predicate;
  Block body;
  std::vector<CopyWork> back;
  // See turns.h. The number of the copy in `back`, the affected places of the body, and the two alternating places of
  // the state.
  struct Turn {
    int copy;
    std::vector<PlaceNumber> state = {}, next = {};
    PlaceNumber places[2] = {};
  };
  std::vector<Turn> turns = {};
  int64_t known_trips = -1;  // From its form or its text (ir/trip_count.h); -1 if only the condition tells.
  int64_t most_trips = -1;   // The loop ends after this number of trips regardless of its condition; -1 for no limit.
  // Data for a device that decides the loop in a recording (conditions.h). The kernels `first` and `next` in
  // Program::code set the condition before the first trip and at the end of each trip. -1 if the host decides.
  struct Decided {
    int first = -1, next = -1;
    PlaceRange arguments = {};
    PlaceNumber trips = 0;  // The place of the counters (TripField).
    // For `next`: the number of arguments before the handle of the condition. If it computes the condition itself, the
    // body does not run the condition. If it replaces the last work of a step, the body does not run that work either.
    PlaceRange next_arguments = {};
    size_t handle_at = 0;
    bool computes = false;
    const Step* last = nullptr;
  };
  Decided decided = {};
};

struct BranchNode {
  const Instruction* conditional;
  PlaceNumber selector;
  struct Branch {
    Block block;
    std::vector<CopyWork> end;
  };
  std::vector<Branch> branches;
  struct Decided {
    bool by_device = false;
    int set = -1;  // -1 if all branches are empty.
    PlaceRange arguments = {};
    std::vector<int> asked = {};  // Branches with their own conditions. If empty, one condition is the branch number.
  };
  Decided decided = {};
};

// A constant of the module or of a kernel.
struct ConstantData {
  Literal literal;  // In row-major order.
  Shape shape;      // With its layout in memory.
};

struct Program {
  std::unique_ptr<const Module> module;
  CompileOptions options;
  std::string target;  // The Device::target of code and calls.
  BufferPlan buffers;
  // Indexed by the number of Area::kConstant: constants of the plan, then of kernels.
  std::vector<ConstantData> constants;
  int64_t counter_bytes = 0;     // Size of Area::kCounters.
  int64_t packed_bytes = 0;      // Size of Area::kPacked.
  std::vector<PlaceUse> places;  // Number 0 is used for absent places.
  std::vector<std::shared_ptr<const KernelCode>> code;
  std::vector<std::unique_ptr<LibraryCall>> calls;
  Block block;
  std::vector<StepInfo> steps;
  CompileReport report;
  MemoryReport memory;
};

// Calls f(const Step&) for each step, including those in loops and branches.
template <class F>
void ForEachStep(const Block& block, const F& f) {
  for (const Node& node : block) {
    if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
      ForEachStep((*loop)->condition, f);
      ForEachStep((*loop)->body, f);
    } else if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
      for (const BranchNode::Branch& one : (*branch)->branches) ForEachStep(one.block, f);
    } else {
      f(std::get<Step>(node));
    }
  }
}

// Calls f(const LoopNode&) for each loop, including nested ones.
template <class F>
void ForEachLoop(const Block& block, const F& f) {
  for (const Node& node : block) {
    if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
      f(**loop);
      ForEachLoop((*loop)->condition, f);
      ForEachLoop((*loop)->body, f);
    } else if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
      for (const BranchNode::Branch& one : (*branch)->branches) ForEachLoop(one.block, f);
    }
  }
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PROGRAM_H_
