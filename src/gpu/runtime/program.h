// A compiled program: steps, loops and branches over places in memory. It is immutable and contains no addresses, which
// a Binding provides.
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

struct PlaceUse {
  Place place;
  int64_t bytes;
};
using PlaceNumber = int32_t;  // Index in Program::places.

// A range of place numbers. Pointers to a kernel's arguments are adjacent in memory.
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
  // The trip counters (KernelBuffer::kTrips), or 0 for a kernel without loops.
  PlaceNumber trips = 0;
  std::vector<const Instruction*> loops = {};
};

struct LibraryWork {
  int call;  // Index in Program::calls.
  PlaceRange operands, results;
  PlaceNumber scratch = 0, packed = 0;
  bool pack_once = false;  // Packs the operand once after Bind, not in each run.
  bool waits = false;      // The call waits for the device and cannot be recorded.
};

struct FillWork {
  PlaceNumber to;
  uint64_t pattern;
  int width;
  int64_t count;
};

struct HostWork {  // Runs CompileOptions::host.
  PlaceRange operands, results;
};

using Work = std::variant<KernelWork, LibraryWork, FillWork, HostWork>;

// Work that needs the host cannot be recorded.
inline bool NeedsHost(const Work& work) {
  const auto* const call = std::get_if<LibraryWork>(&work);
  return std::holds_alternative<HostWork>(work) || (call != nullptr && call->waits);
}

struct Step {
  const Instruction* instruction;
  int info = -1;                 // Index in Executable::steps().
  std::vector<CopyWork> copies;  // Copies that are made first, of operands that `work` updates in place.
  std::vector<Work> work;
  // Estimated seconds (shares.h), and blocks of the largest launch, 0 if unknown. A library call counts a block for
  // each 128x128 elements of its result.
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
  // Replaces the copy back[copy] (turns.h). `state` and `next` are the body's places in the buffers of the state and of
  // the next state. `places`: the two places of the next state.
  struct Turn {
    int copy;
    std::vector<PlaceNumber> state = {}, next = {};
    PlaceNumber places[2] = {};
  };
  std::vector<Turn> turns = {};
  int64_t known_trips = -1;  // From the loop's text (ir/analysis/trip_count.h). -1 if unknown.
  int64_t most_trips = -1;   // Limit of a planted fault (fault.h). -1 for none.
  // Kernels in Program::code by which the device decides whether there is another trip (conditions.h): `first` runs
  // before the first trip, `next` after each trip. -1 if the host decides this.
  struct Decided {
    int first = -1, next = -1;
    PlaceRange arguments = {};
    PlaceNumber trips = 0;  // The place of the counters (TripField).
    PlaceRange next_arguments = {};
    size_t handle_at = 0;        // Number of arguments of `next` before the condition.
    bool computes = false;       // `next` computes the condition itself.
    const Step* last = nullptr;  // A step whose last work `next` does too, or null.
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
    int set = -1;  // The kernel in Program::code that sets the conditions, or -1.
    PlaceRange arguments = {};
    std::vector<int> asked = {};  // Branches that each have a condition. If empty, one condition is the branch number.
  };
  Decided decided = {};
};

struct ConstantData {
  Literal literal;  // In row-major order.
  Shape shape;      // With the layout in memory.
};

struct Program {
  std::shared_ptr<const Module> module;  // PlannedModule::module().
  CompileOptions options;
  std::string target;  // Device::target of code and calls.
  BufferPlan buffers;
  // Constants of the buffer plan, then literals of kernels. Indexed by Place::number.
  std::vector<ConstantData> constants;
  int64_t counter_bytes = 0;
  int64_t packed_bytes = 0;
  std::vector<PlaceUse> places;  // Number 0 means that there is no place.
  std::vector<std::shared_ptr<const KernelCode>> code;
  std::vector<std::shared_ptr<const LibraryCall>> calls;
  Block block;
  std::vector<StepInfo> steps;
  CompileReport report;
  MemoryReport memory;
};

// Calls f(const Step&) for each step, also in loops and branches.
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

// Calls f(const LoopNode&) for each loop, also for nested ones.
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
