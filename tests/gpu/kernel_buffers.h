// Arguments for running a kernel alone, and the comparison of the results of two runs.
#ifndef HLO_TESTS_GPU_KERNEL_BUFFERS_H_
#define HLO_TESTS_GPU_KERNEL_BUFFERS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

struct Buffers {
  std::vector<std::shared_ptr<std::vector<char>>> storage;
  std::vector<void*> arguments;

  // Copies the arrays that the kernel may write and shares the others.
  Buffers CopyWritten(const Kernel& kernel) const;
};

// Inputs and arrays that are also written have small numbers, a quarter of them negative, and some zeros. Integers have
// all sizes. Outputs are filled with 0x55. Counters of arriving blocks are zero. Each call makes equal bytes.
Buffers MakeBuffers(const Kernel& kernel);
// Sets the largest number of trips of a loop that the blocks of a cluster share.
void SetMostTrips(const Kernel& kernel, const Buffers& buffers, int64_t trips);

struct Written {
  int64_t elements = 0;     // Elements in which `a` differs from `before`.
  int64_t nan = 0;          // The number of these elements that are NaN.
  std::string differences;  // A line for each array in which `a` and `b` differ. NaN equals NaN.
};
Written CompareWritten(const Kernel& kernel, const Buffers& before, const Buffers& a, const Buffers& b);

// True if the blocks depend on each other: the last block to arrive finishes the work of all blocks.
bool BlocksMeet(const Kernel& kernel);

}  // namespace hlo::kernel

#endif  // HLO_TESTS_GPU_KERNEL_BUFFERS_H_
