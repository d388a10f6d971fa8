// A fusion's plan in the words of a lock file (lock.h): "row_reduction heroes=2 tile=1x256 vector=4 threads=64".
// Kernels are parted by " + ". Instructions are numbers, their places in the fused computation, so that equal fusions
// have equal words whatever their instructions are called.
#ifndef HLO_GPU_RUNTIME_TUNING_CHOICE_H_
#define HLO_GPU_RUNTIME_TUNING_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Words between blanks; what stands in double quotes is part of one, without them: `library="oneDNN matmul"`.
std::vector<std::string> WordsOf(std::string_view text);

std::string ChoiceText(const FusionPlan& plan, const Instruction& fusion);

// The plan of `fusion` that the words say, for the device `target`. Errors (A026, without a place): no such word, a
// number that is none, a kind or an instruction that there is not. Whether it fits the fusion, emitters tell.
Result<FusionPlan> ReadChoice(std::string_view text, const Instruction& fusion, std::string_view target);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_CHOICE_H_
