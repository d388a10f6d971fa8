// Compares two programs that run alternately.
#ifndef HLO_GPU_RUNTIME_TUNING_TURNS_H_
#define HLO_GPU_RUNTIME_TUNING_TURNS_H_

#include <span>

namespace hlo::gpu {

// Takes the times of both programs. The second is faster if it wins at least two thirds of the pairs, and also by more
// than kTie in the median of the ratios and in the fastest run.
bool IsFaster(std::span<const double> first, std::span<const double> second);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_TURNS_H_
