// A plan as text in a lock file (lock.h): "row_reduction heroes=2 tile=1x256 vector=4 threads=64". Kernels are
// separated by " + ". Instructions are numbered by position in the fused computation, so the text is independent of
// names.
#ifndef HLO_GPU_RUNTIME_TUNING_CHOICE_H_
#define HLO_GPU_RUNTIME_TUNING_CHOICE_H_

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {

// Splits at blanks. Text in double quotes belongs to one word, without the quotes: `library="oneDNN matmul"`.
std::vector<std::string> WordsOf(std::string_view text);

std::string ChoiceText(const FusionPlan& plan, const Instruction& fusion);

// Errors (A026, without a place): an unknown word or instruction, or an invalid number. Emitters check whether the plan
// fits `fusion`.
Result<FusionPlan> ReadChoice(std::string_view text, const Instruction& fusion, std::string_view target);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_CHOICE_H_
