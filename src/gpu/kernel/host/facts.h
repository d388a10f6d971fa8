// What the passes of the host lowering ask about a kernel: its constants, types, and how long its loops are.
#ifndef HLO_GPU_KERNEL_HOST_FACTS_H_
#define HLO_GPU_KERNEL_HOST_FACTS_H_

#include <cstdint>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// A loop in a thread body that is no more than this many instructions when written out is written out, so that the loop
// over the lanes is the innermost.
constexpr int64_t kMostWrittenOut = 256;

struct HostFacts {
  explicit HostFacts(const Kernel& kernel);

  // The steps of a loop with constant bounds; -1 for others.
  int64_t Steps(const Instruction& loop) const;
  // Instructions when every loop in it with constant bounds is written out.
  int64_t WrittenOut(const Region& region) const;
  bool IsWrittenOut(const Instruction& loop) const;

  const Kernel& kernel;
  std::vector<const Instruction*> constants;  // By value; null: none.
  std::vector<Type> types;                    // By value.

 private:
  void Find(const Region& region);
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_HOST_FACTS_H_
