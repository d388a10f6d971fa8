// Which library takes a call, on which device.
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
  std::vector<std::string> search;  // Folders to look in first.
  bool allow_tf32 = false;
  std::string library, algorithm;  // What a plan names.
  bool list = false;               // Also LibraryCall::algorithms().
  // Gets what a library would have done and does not, because a call of its own failed. Null: nobody is told.
  std::vector<std::string>* notes = nullptr;
};

// One library's.
struct LibraryAnswer {
  std::unique_ptr<LibraryCall> call;  // Null: it does not take it.
  std::string why_not;
};

// A library that was asked, and why it does not take the call.
struct Refusal {
  std::string_view library;
  std::string why;
};

struct LibraryChoice {
  std::unique_ptr<LibraryCall> call;  // Null: no library takes it.
  KernelPlan plan;                    // What was taken: library, algorithm, workspace.
  std::vector<Refusal> refusals;      // Of those before it, in the order of preference.
  std::vector<std::string> notes;     // Of OpenLibraryCalls: what LibraryOptions::notes is for.
};

// `fusion` is kCustom and holds a dot or a convolution with its epilogue, or is of any kind and planned as an
// attention. Of that a kernel of ours is asked about by rule (WhyNotByRule). Obeys what `plan` says: that library, that
// algorithm, no more workspace; errors (C001) where that does not take it.
Result<LibraryChoice> OpenLibraryCall(const Instruction& fusion, const KernelPlan& plan, Device& device,
                                      const LibraryOptions& options);

// Several, a result for each. On a GPU on all threads, different ones at the same time: cuDNN compiles some of what it
// makes, for a second each.
struct LibraryRequest {
  const Instruction* fusion;
  const KernelPlan* plan;
};
std::vector<Result<LibraryChoice>> OpenLibraryCalls(std::span<const LibraryRequest> requests, Device& device,
                                                    const LibraryOptions& options);
// Whether it is planned as an attention kernel of ours alone, which a library may take instead; where that is decided,
// its plan says that it is ours (kOwnLibrary). Whether it may be planned as a library's.
constexpr std::string_view kOwnLibrary = "hlokit";
bool IsOwnAttention(const FusionPlan& plan);
bool HasAttention(const Instruction& fusion);
// Whether a plan of a library's call leaves part of it to a kernel of ours, which is launched behind the library's.
bool HasOwnPart(const KernelPlan& plan);
// The plan of an attention, or of a convolution with sums of its result, that a library takes by rule; nothing where
// none does. `may_measure`: what does with sums is measured later, so that any way will do; else the sums are to be
// part of the library's own work.
std::optional<FusionPlan> LibraryPlanOfRegion(const Instruction& fusion, Device& device, const LibraryOptions& options,
                                              bool may_measure);

// What could be taken for it, by library and algorithm, in the order of preference; of each library `most` at most. For
// who measures: what OpenLibraryCall takes where nothing is said is among them.
Result<std::vector<KernelPlan>> LibraryPlans(const Instruction& fusion, KernelKind kind, Device& device,
                                             const LibraryOptions& options, int most);

// Each library of such a device, with the reason why it does not take `fusion`, as far as that is known without opening
// it; empty where it would be tried. Where no library is named, the fusion is nothing that libraries know.
std::vector<Refusal> AskLibraries(const Instruction& fusion, bool on_host);

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_OPEN_H_
