// What an executable does, in order: steps, loops and branches over places in memory. Made by compile.cpp; nothing
// changes it afterwards, and it knows neither pointers nor a device. A Binding (binding.h) puts it on one device, as
// many of them as there are devices or sets of arguments; a runner (runner.h) executes it there.
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

// Where some bytes of a step's work lie. A number into Program::places stands for it: a binding has a pointer for each.
struct PlaceUse {
  Place place;
  int64_t bytes;
};
using PlaceNumber = int32_t;

// Consecutive numbers: the pointers of one work's arguments lie side by side.
struct PlaceRange {
  PlaceNumber first = 0;
  int32_t count = 0;
};

struct CopyWork {
  PlaceNumber from, to;
  int64_t bytes;
};

struct KernelWork {
  int code;  // Into Program::code.
  PlaceRange arguments;
  std::vector<bool> writes;  // By argument.
  // Of a kernel with loops: where KernelBuffer::kTrips lies, and the loops.
  PlaceNumber trips = 0;
  std::vector<const Instruction*> loops = {};
};

struct LibraryWork {
  int call;  // Into Program::calls.
  PlaceRange operands, results;
  PlaceNumber scratch = 0, packed = 0;
  bool pack_once = false;  // After Bind, not in each run.
  bool waits = false;      // For the device, so that it cannot be recorded.
};

struct FillWork {
  PlaceNumber to;
  uint64_t pattern;
  int width;
  int64_t count;
};

struct HostWork {  // CompileOptions::host on the step's instruction.
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
  int info = -1;                 // Into Executable::steps(); -1: a copy that nobody watches.
  std::vector<CopyWork> copies;  // First: what the work expects in its result already.
  std::vector<Work> work;
  // As modelled (shares.h), and how many blocks its largest launch has; of a library call tiles of 128x128 of what it
  // computes. 0: that is not known.
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
  // See turns.h. Of `back` the copy of that number, places of the body, and where the state lies by turns instead.
  struct Turn {
    int copy;
    std::vector<PlaceNumber> state = {}, next = {};
    PlaceNumber places[2] = {};
  };
  std::vector<Turn> turns = {};
  int64_t known_trips = -1;  // As its form or its text says (ir/trip_count.h); -1: the condition decides.
  int64_t most_trips = -1;   // The loop ends after so many trips, whatever its condition says; -1: no bound.
  // What the device needs to decide about it in a recording (conditions.h): kernels in Program::code that set its
  // condition, before the first trip and at the end of each; their arguments. -1: the host decides.
  struct Decided {
    int first = -1, next = -1;
    PlaceRange arguments = {};
    PlaceNumber trips = 0;  // Where it counts (TripField).
    // Of `next`: so many of its arguments come before the handle of the condition. Where it computes the condition
    // itself, that is not run in the body; where it is the last work of a step, too, that is not.
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
    int set = -1;  // -1: nothing is to be done in any branch.
    PlaceRange arguments = {};
    std::vector<int> asked = {};  // Branches with conditions of their own; empty: one condition is the number.
  };
  Decided decided = {};
};

// A constant of the module, or of a kernel.
struct ConstantData {
  Literal literal;  // Row-major.
  Shape shape;      // With the layout it has in memory.
};

struct Program {
  std::unique_ptr<const Module> module;
  CompileOptions options;
  std::string target;  // Device::target that code and calls are made for.
  BufferPlan buffers;
  std::vector<ConstantData> constants;  // By number of Area::kConstant: those of the plan, then those of kernels.
  int64_t counter_bytes = 0;            // Area::kCounters.
  int64_t packed_bytes = 0;             // Area::kPacked.
  std::vector<PlaceUse> places;         // 0: of what a work has none of.
  std::vector<std::shared_ptr<const KernelCode>> code;
  std::vector<std::unique_ptr<LibraryCall>> calls;
  Block block;
  std::vector<StepInfo> steps;
  CompileReport report;
  MemoryReport memory;
};

// f(const Step&) for each step, in loops and branches too.
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

// f(const LoopNode&) for each loop, in loops and branches too.
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
