// Arguments for a kernel alone, and what two runs of it wrote.
#ifndef HLO_TESTS_KERNEL_BUFFERS_H_
#define HLO_TESTS_KERNEL_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

// One for each of Kernel::Arguments.
struct Buffers {
  std::vector<std::shared_ptr<std::vector<char>>> storage;
  std::vector<void*> arguments;

  // Has its own copies of what the kernel may write and shares the rest.
  Buffers CopyWritten(const Kernel& kernel) const;
};

// Inputs, and what is read and written: small numbers, a quarter of them negative, some zeros; integers of all sizes.
// Outputs: 0x55. Counters of arriving blocks: zero. The same bytes each time.
Buffers MakeBuffers(const Kernel& kernel);
// So often a loop that blocks of a cluster share goes round, at most.
void SetMostTrips(const Kernel& kernel, const Buffers& buffers, int64_t trips);

struct Written {
  int64_t elements = 0;     // That `a` has otherwise than `before`.
  int64_t nan = 0;          // Of them.
  std::string differences;  // A line for each array in which `a` and `b` differ. NaN equals NaN.
};
Written CompareWritten(const Kernel& kernel, const Buffers& before, const Buffers& a, const Buffers& b);

// Its blocks need each other: the last one to arrive finishes the work of all.
bool BlocksMeet(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_TESTS_KERNEL_BUFFERS_H_
