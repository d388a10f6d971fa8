// Planted faults "KIND:NAME:FAULT", to test the comparison. NAME is an instruction of the optimized module, or "*":
//
//   kernel:fusion.3:dropped_term    in a kernel: a kernel::Mutation, or a Mutation of the instructions in it
//   library:*:bit                   in the result of a library call
//   runtime:while.5:early           in the steps around kernels and library calls
//
// Library calls: "bit" flips one bit, "zero" makes the last element 0, "scale" multiplies all by 1 + 2^-6. Run time:
// "early" ends a loop after one iteration, "branch" reverses the branches of a conditional, "copies" omits the copies
// before a step or at the end of a body or branch, "late" runs a step after the next one, "place" lets a result
// overwrite a value that is still needed.
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
  std::string kind, name, what;  // Empty for no fault.

  bool MeantFor(std::string_view a_kind, std::string_view instruction) const {
    return kind == a_kind && (name == "*" || name == instruction);
  }
};

struct FaultKind {
  std::string_view name;
  std::string_view what;  // The part that has the fault.
  std::span<const std::string_view> faults;
  bool takes_mutations = false;  // Also accepts the mutations of ir/mutation.h.
};
std::span<const FaultKind> FaultKinds();

// An empty text gives no fault. Errors: F004 with the possible values.
Result<Fault> ParseFault(std::string_view text);

// Plants the fault in each kernel that it fits. False if there is none.
bool PlantInKernels(const kernel::Mutation& mutation, std::vector<EmittedKernel>& kernels);

// Wraps a library call so that its first result has the fault.
std::shared_ptr<const LibraryCall> WithFault(std::shared_ptr<const LibraryCall> call, std::string fault,
                                             const Shape& result);

// Plant the fault in the plan or in the steps, and return the number of planted faults.
int PlantInBuffers(const Fault& fault, BufferPlan& plan);
int PlantInBlock(const Fault& fault, Block& block);

// The error if no fault could be planted. `names` are the instructions of its kind.
Error NothingPlanted(const Fault& fault, const std::vector<std::string_view>& names);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_FAULT_H_
