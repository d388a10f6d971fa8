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
  std::vector<std::string> search;  // Folders to search first.
  bool allow_tf32 = false;
  std::string library, algorithm;  // From the plan.
  bool list = false;               // Also LibraryCall::algorithms().
  // Receives the parts that a library skipped because one of its calls failed. May be null.
  std::vector<std::string>* notes = nullptr;
};

struct LibraryAnswer {
  std::unique_ptr<LibraryCall> call;  // Null if it refuses.
  std::string why_not;
};

// A library that refused the call, with the reason.
struct Refusal {
  std::string_view library;
  std::string why;
};

struct LibraryChoice {
  std::unique_ptr<LibraryCall> call;  // Null if all libraries refuse.
  KernelPlan plan;                    // The library, algorithm and workspace.
  std::vector<Refusal> refusals;      // Libraries before it, in the order of preference.
  std::vector<std::string> notes;     // Set by OpenLibraryCalls; see LibraryOptions::notes.
};

// `fusion` is kCustom with a dot or convolution and its epilogue, or is planned as an attention, which WhyNotByRule may
// give to our own kernel. Uses the library and algorithm of `plan`, and no more workspace. Errors: C001 if they refuse
// the call.
Result<LibraryChoice> OpenLibraryCall(const Instruction& fusion, const KernelPlan& plan, Device& device,
                                      const LibraryOptions& options);

// Opens several calls and returns a result for each. On a GPU all threads are used, because cuDNN compiles some
// engines, which takes a second each.
struct LibraryRequest {
  const Instruction* fusion;
  const KernelPlan* plan;
};
std::vector<Result<LibraryChoice>> OpenLibraryCalls(std::span<const LibraryRequest> requests, Device& device,
                                                    const LibraryOptions& options);
// IsOwnAttention tells whether the plan is one attention kernel of ours that a library may replace. A decided plan for
// our kernel names the library kOwnLibrary. HasAttention tells whether `fusion` may be planned as a library's
// attention.
constexpr std::string_view kOwnLibrary = "hlokit";
bool IsOwnAttention(const FusionPlan& plan);
bool HasAttention(const Instruction& fusion);
// Whether the plan of a library call leaves a part to our kernel, which is launched after it.
bool HasOwnPart(const KernelPlan& plan);
// The plan of an attention, or of a convolution with sums of its result, that a library accepts by rule; otherwise
// nullopt. With `may_measure`, the way to compute sums is measured later. Otherwise the library itself must compute the
// sums.
std::optional<FusionPlan> LibraryPlanOfRegion(const Instruction& fusion, Device& device, const LibraryOptions& options,
                                              bool may_measure);

// The possible plans by library and algorithm in the order of preference, at most `most` for each library. Includes the
// default choice of OpenLibraryCall. For autotuning.
Result<std::vector<KernelPlan>> LibraryPlans(const Instruction& fusion, KernelKind kind, Device& device,
                                             const LibraryOptions& options, int most);

// The libraries for such a device, each with the reason for its refusal as far as known without opening it. The reason
// is empty if it would be tried. Returns no libraries for a fusion of an unsupported kind.
std::vector<Refusal> ConsultLibraries(const Instruction& fusion, bool on_host);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OPEN_H_
