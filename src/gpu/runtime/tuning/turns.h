// Who of two that ran by turns is faster.
#ifndef HLO_GPU_RUNTIME_TUNING_TURNS_H_
#define HLO_GPU_RUNTIME_TUNING_TURNS_H_

#include <span>

namespace hlo::gpu {

// The second is, by more than a tie (kTie) in the middle of the turns and in the fastest of them, and in two of three:
// what else the machine does falls on both.
bool IsFaster(std::span<const double> first, std::span<const double> second);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TURNS_H_
