// Selects the library for a call on a device.
#ifndef HLO_GPU_LIBRARIES_OPEN_H_
#define HLO_GPU_LIBRARIES_OPEN_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"
#include "gpu/libraries/library.h"
#include "ir/fusion_plan.h"
#include "ir/instruction.h"

namespace hlo::gpu {

struct LibraryOptions {
  std::vector<std::string> search;  // Folders that are searched first.
  bool allow_tf32 = false;
  std::string library, algorithm;  // As in the plan. Empty for the library's choice.
  bool list = false;
  // Receives the parts that a library skipped because a call failed. May be null.
  std::vector<std::string>* notes = nullptr;
};

struct LibraryAnswer {
  std::unique_ptr<LibraryCall> call;  // Null if the library refuses.
  std::string why_not;
};

struct Refusal {
  std::string_view library;
  std::string why;
};

struct LibraryChoice {
  std::unique_ptr<LibraryCall> call;  // Null if all libraries refuse.
  KernelPlan plan;
  std::vector<Refusal> refusals;   // Libraries that refused, in the order of preference.
  std::vector<std::string> notes;  // See LibraryOptions::notes.
};

// Opens the first library that accepts the call, or the one that `plan` names. `fusion` is kCustom with a dot or
// convolution, or is planned as an attention. WhyNotByRule may leave an attention to our own kernel. Errors: C001 if
// the plan's library refuses.
Result<LibraryChoice> OpenLibraryCall(const Instruction& fusion, const KernelPlan& plan, Device& device,
                                      const LibraryOptions& options);

struct LibraryRequest {
  const Instruction* fusion;
  const KernelPlan* plan;
};
// Like OpenLibraryCall. On a GPU all threads open calls, because cuDNN takes about a second to compile some engines.
std::vector<Result<LibraryChoice>> OpenLibraryCalls(std::span<const LibraryRequest> requests, Device& device,
                                                    const LibraryOptions& options);
// Names our own kernels where a plan names a library.
constexpr std::string_view kOwnLibrary = "hlokit";
// Whether the plan is one attention kernel of ours that a library may replace.
bool IsOwnAttention(const FusionPlan& plan);
// Whether a library may compute `fusion` as an attention.
bool HasAttention(const Instruction& fusion);
// Whether kernels of ours complete the result or its sums.
bool HasOwnPart(const KernelPlan& plan);
// A plan for `fusion`, an attention or a convolution with sums, if a library accepts it by rule. Otherwise nullopt.
// Without `may_measure`, the library itself must compute the sums.
std::optional<FusionPlan> LibraryPlanOfRegion(const Instruction& fusion, Device& device, const LibraryOptions& options,
                                              bool may_measure);

// For autotuning: at most `most` plans for each library, its default choice first, in the order of preference.
Result<std::vector<KernelPlan>> LibraryPlans(const Instruction& fusion, KernelKind kind, Device& device,
                                             const LibraryOptions& options, int most);

// An entry for each library. The reason is "" if nothing is known against the call without opening the library. If
// `fusion` has no form for libraries, one entry without a library.
std::vector<Refusal> ConsultLibraries(const Instruction& fusion, bool on_host);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OPEN_H_
