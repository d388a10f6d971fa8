// What an executable does, in order: steps, loops and branches over places in memory. Made by compile.cpp, run by
// executable.cpp.
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

// A pointer that is known once arguments are bound.
struct Reference {
  Place place;
  void* pointer = nullptr;
};

struct CopyWork {
  Reference from, to;
  int64_t bytes;
};

struct KernelWork {
  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<Reference> arguments;
  std::vector<void*> pointers;  // Of the arguments.
};

struct LibraryWork {
  std::unique_ptr<LibraryCall> call;
  std::vector<Reference> operands;
  std::vector<void*> pointers;
  Reference result, scratch, packed;
  bool pack_once = false;  // After Bind, not in each run.
};

struct FillWork {
  Reference to;
  uint64_t pattern;
  int width;
  int64_t count;
};

struct HostWork {};  // CompileOptions::host on the step's instruction.

struct Step {
  const Instruction* instruction;
  int info = -1;                 // Into Executable::steps(); -1: a copy that nobody watches.
  std::vector<CopyWork> copies;  // First: what the work expects in its result already.
  std::vector<std::variant<KernelWork, LibraryWork, FillWork, HostWork>> work;
  std::string fault;  // CompileOptions::inject, when it is meant for this one.
};

struct LoopNode;
struct BranchNode;
using Node = std::variant<Step, std::unique_ptr<LoopNode>, std::unique_ptr<BranchNode>>;
using Block = std::vector<Node>;

struct LoopNode {
  const Instruction* loop;
  std::vector<CopyWork> enter;
  Block condition;
  Reference predicate;
  Block body;
  std::vector<CopyWork> back;
  bool planted_early = false;  // A planted fault: see fault.h.
};

struct BranchNode {
  const Instruction* conditional;
  Reference selector;
  struct Branch {
    Block block;
    std::vector<CopyWork> end;
  };
  std::vector<Branch> branches;
};

// A constant of the module, or of a kernel.
struct ConstantData {
  Literal literal;  // Row-major.
  Shape shape;      // With the layout it has in memory.
};

struct Program {
  std::unique_ptr<Module> module;
  CompileOptions options;
  BufferPlan buffers;
  std::vector<ConstantData> constants;  // By number of Area::kConstant: those of the plan, then those of kernels.
  int64_t counter_bytes = 0;            // Area::kCounters.
  int64_t packed_bytes = 0;             // Area::kPacked.
  Block block;
  std::vector<StepInfo> steps;
  CompileReport report;
  MemoryReport memory;
};

Result<std::unique_ptr<Executable>> MakeExecutable(Program program, Device& device);

// f(Reference&) for each reference of the block and of what it holds.
template <class F>
void ForEachReference(Block& block, const F& f) {
  const auto copies = [&](std::vector<CopyWork>& list) {
    for (CopyWork& copy : list) {
      f(copy.from);
      f(copy.to);
    }
  };
  for (Node& node : block) {
    if (auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
      copies((*loop)->enter);
      ForEachReference((*loop)->condition, f);
      f((*loop)->predicate);
      ForEachReference((*loop)->body, f);
      copies((*loop)->back);
      continue;
    }
    if (auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
      f((*branch)->selector);
      for (BranchNode::Branch& one : (*branch)->branches) {
        ForEachReference(one.block, f);
        copies(one.end);
      }
      continue;
    }
    Step& step = std::get<Step>(node);
    copies(step.copies);
    for (auto& work : step.work) {
      if (auto* kernel = std::get_if<KernelWork>(&work)) {
        for (size_t i = 0; i < kernel->arguments.size(); ++i) {
          f(kernel->arguments[i]);
          kernel->pointers[i] = kernel->arguments[i].pointer;
        }
      } else if (auto* call = std::get_if<LibraryWork>(&work)) {
        for (size_t i = 0; i < call->operands.size(); ++i) {
          f(call->operands[i]);
          call->pointers[i] = call->operands[i].pointer;
        }
        f(call->result);
        f(call->scratch);
        f(call->packed);
      } else if (auto* fill = std::get_if<FillWork>(&work)) {
        f(fill->to);
      }
    }
  }
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_PROGRAM_H_
