// Facts about a kernel for the host lowering: constants, types, lengths of loops.
#ifndef HLO_GPU_KERNEL_FACTS_H_
#define HLO_GPU_KERNEL_FACTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// Loops in thread bodies are unrolled up to this many instructions, to make the loop over lanes innermost.
constexpr int64_t kMostWrittenOut = 256;

struct HostFacts {
  explicit HostFacts(const Kernel& kernel);

  // Number of trips, or -1 if bounds or step are not constant.
  int64_t Steps(const Instruction& loop) const;
  // Number of instructions after unrolling loops with constant bounds.
  int64_t WrittenOut(const Region& region) const;
  bool IsWrittenOut(const Instruction& loop) const;

  const Kernel& kernel;
  std::vector<const Instruction*> constants;  // Indexed by value; null if not constant.
  std::vector<Type> types;                    // Indexed by value.

 private:
  void Find(const Region& region);
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_FACTS_H_
