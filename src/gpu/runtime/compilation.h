// The state of a compilation, and its phases: one function and one file each, called by compile.cpp in this order.
#ifndef HLO_GPU_RUNTIME_COMPILATION_H_
#define HLO_GPU_RUNTIME_COMPILATION_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/emitters/emitter.h"
#include "gpu/runtime/fault.h"
#include "gpu/runtime/planned.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/shares.h"

namespace hlo {
struct Mutation;
}

namespace hlo::gpu {

// A library call's keys in CompiledStep::scratch and CompiledStep::scratch_value.
constexpr int kCallScratch = 0, kCallPacked = 1;

struct CompiledStep {
  const PlannedStep& planned;
  const Instruction& inst;
  StepKind kind;    // kHostCall also for steps that have no kernel.
  FusionPlan plan;  // The planned one, or the plan of a mutated instruction.
  std::vector<EmittedKernel> kernels = {};
  int first_code = 0;  // Index of the first kernel in Program::code.
  StepShare share = {};
  std::map<int, Place> scratch = {};      // Zeroed scratch, and weights that are packed once.
  std::map<int, int> scratch_value = {};  // Other scratch, as indices into Values.
  Place trips = {};
  bool is_planted = false;  // By PlantInKernels.
};

struct Compilation {
  const PlannedModule& planned;
  Device& device;
  Program program = {};
  Fault fault = {};
  std::vector<CompiledStep> steps = {};

  const CompileOptions& options() const { return program.options; }
  CompileReport& report() { return program.report; }
};

// In emit_kernels.cpp. With CompileOptions::host, steps without a kernel become host calls.
Status EmitKernels(Compilation& compilation);
// In plan_memory.cpp.
void PlanMemory(Compilation& compilation);
// In make_block.cpp.
void MakeBlock(Compilation& compilation);

// In plant.cpp. Returns the fault for the step, or "".
std::string FaultOf(const Compilation& compilation, const CompiledStep& step);
// Emits kernels with a mutation of ir/mutation.h in the first instruction that it fits, and plans these anew.
Result<std::vector<EmittedKernel>> EmitMutated(const Compilation& compilation, const Mutation& mutation,
                                               CompiledStep& step);
// Counts the planted faults. Fails if there is none, because such a run would test nothing.
Status CountPlanted(Compilation& compilation);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_COMPILATION_H_
