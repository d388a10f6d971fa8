// Faults that tests plant to see whether the comparison finds them. "KIND:NAME:FAULT", where NAME is that of an
// instruction of the optimized module, or "*" for each that the fault suits:
//
//   kernel:fusion.3:dropped_term    in a kernel: a kernel::Mutation of it, or a Mutation of the instructions it
//   computes library:*:bit                   in the result of a library call runtime:while.5:early           in the
//   steps around kernels and library calls
//
// Faults are planted in the compiled program before it runs. Emitters and runners do not know of them.
//
// Faults of library calls: "bit" (one bit of one element), "zero" (the last element is 0), "scale" (all elements by
// 1 + 2^-6). Faults of the run time: "early" (a loop ends after one iteration), "branch" (a conditional counts its
// branches from the other end), "copies" (those before a step, or at the end of a body or branch, are left out),
// "late" (a step runs after the next one), "place" (a result lies where another value is still needed).
#ifndef HLO_GPU_RUNTIME_FAULT_H_
#define HLO_GPU_RUNTIME_FAULT_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/emitters/emitter.h"
#include "gpu/kernel/mutation.h"
#include "gpu/libraries/library.h"
#include "gpu/runtime/program.h"

namespace hlo::gpu {

struct Fault {
  std::string kind, name, what;  // All empty: no fault.

  bool MeantFor(std::string_view a_kind, std::string_view instruction) const {
    return kind == a_kind && (name == "*" || name == instruction);
  }
};

// What faults are planted in, by the word of --inject, and those that it has beside mutations.
struct FaultKind {
  std::string_view name;
  std::string_view what;  // One that faults are planted in.
  std::span<const std::string_view> faults;
  bool takes_mutations = false;  // Of ir/mutation.h, too.
};
std::span<const FaultKind> FaultKinds();

// Errors: F004 with what there is. "" is no fault.
Result<Fault> ParseFault(std::string_view text);

// Plants a fault in each kernel of one step that it fits. Returns whether there was one.
bool PlantInKernels(const kernel::Mutation& mutation, std::vector<EmittedKernel>& kernels);

// `call`, whose first result then has the fault.
std::unique_ptr<LibraryCall> WithFault(std::unique_ptr<LibraryCall> call, std::string fault, const Shape& result);

// Faults of the run time, in the plan before steps are made of it and in the steps. Returns how many were planted.
int PlantInBuffers(const Fault& fault, BufferPlan& plan);
int PlantInBlock(const Fault& fault, Block& block);

// There was nothing to plant the fault in. `names` are the instructions of its kind.
Error NothingPlanted(const Fault& fault, const std::vector<std::string_view>& names);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_FAULT_H_
