// Facts about a kernel for the passes of the host lowering: constants, types, lengths of loops.
#ifndef HLO_GPU_KERNEL_HOST_FACTS_H_
#define HLO_GPU_KERNEL_HOST_FACTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// A loop in a thread body with at most this many instructions after unrolling is unrolled, so that the loop over lanes
// is innermost.
constexpr int64_t kMostWrittenOut = 256;

struct HostFacts {
  explicit HostFacts(const Kernel& kernel);

  // The number of steps of a loop with constant bounds, -1 for others.
  int64_t Steps(const Instruction& loop) const;
  // The number of instructions after unrolling all loops with constant bounds.
  int64_t WrittenOut(const Region& region) const;
  bool IsWrittenOut(const Instruction& loop) const;

  const Kernel& kernel;
  std::vector<const Instruction*> constants;  // Indexed by value; null if it is not constant.
  std::vector<Type> types;                    // Indexed by value.

 private:
  void Find(const Region& region);
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_FACTS_H_
