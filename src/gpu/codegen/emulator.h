// Runs the final NVPTX code of a kernel on the host, thread by thread, and checks it.
//
// The code is the LLVM IR from which PTX is generated, after the GPU passes. Each thread of a block is an LLVM
// coroutine that barriers and shuffles suspend.
//
// The sanitizer stores the last write and read of every element of shared and global memory with their epoch: the
// number of barriers that the block passed before. Accesses of an element by two threads in one epoch, one of them a
// write, are a race, in whatever order the threads ran.
#ifndef HLO_GPU_CODEGEN_EMULATOR_H_
#define HLO_GPU_CODEGEN_EMULATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

enum class Finding : uint8_t {
  kSharedRace,
  kGlobalRace,
  kCrossBlockRace,
  kOutOfBounds,
  kMisaligned,
  kUninitialisedShared,
  kDivergentBarrier,  // Some threads wait at a barrier that others never reach.
  kDivergentShuffle,
  kEarlyExit,  // A block may have ended when another block of its cluster reads its shared memory.
};
std::string_view ToString(Finding finding);

struct SanitizerFinding {
  Finding finding;
  std::string array;   // Empty for divergence.
  std::string source;  // Empty if unknown.
  int64_t element = 0;
  int64_t block = 0;
  int thread = 0;
  int64_t other_block = 0;  // For races.
  int other_thread = -1;    // -1 for several threads.
  int64_t count = 1;        // Number of such findings.

  std::string ToString() const;
};

struct SanitizerReport {
  std::string kernel;
  std::vector<SanitizerFinding> findings;  // The first of each kind, array and source.

  bool clean() const { return findings.empty(); }
  std::string ToString() const;
};

struct EmulateOptions {
  bool sanitize = true;
  // Blocks to run, in this order, each with its whole cluster. If empty, all blocks run.
  std::vector<int64_t> blocks;
  NvptxOptions nvptx;
};

using SetCondition = std::function<void(uint64_t handle, uint32_t value)>;

// A prepared kernel that can run many times, but not concurrently.
class EmulatedCode {
 public:
  static Result<EmulatedCode> Make(const Kernel& kernel, const EmulateOptions& options = {});
  EmulatedCode(EmulatedCode&& other) noexcept;
  ~EmulatedCode();

  // `arguments` as in Kernel::Arguments. With `sanitize`, reports accesses out of bounds and skips them.
  SanitizerReport Run(std::span<void* const> arguments, const SetCondition& set_condition = {});

 private:
  struct Parts;
  explicit EmulatedCode(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

Result<SanitizerReport> Emulate(const Kernel& kernel, std::span<void* const> arguments,
                                const EmulateOptions& options = {});

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_EMULATOR_H_
