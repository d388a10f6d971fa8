// Runs the finished NVPTX code of a kernel on the host, thread by thread, and watches it.
//
// The LLVM IR is the one that PTX is written from, after the GPU passes. Every thread of a block is an LLVM coroutine;
// barriers and shuffles suspend it. So what is tested is the emitted kernel: its indices, vector widths, barriers and
// shuffles, not a second lowering of the same recording.
//
// The sanitizer remembers for every element of shared and global memory who last wrote and read it, and in which epoch:
// the number of barriers passed. Two accesses of one epoch by two threads, one of them a write, are a race in whatever
// order the threads ran; so reports are deterministic.
#ifndef HLO_GPU_KERNEL_EMULATOR_H_
#define HLO_GPU_KERNEL_EMULATOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/kernel/kernel.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::kernel {

enum class Finding : uint8_t {
  kSharedRace,
  kGlobalRace,      // Two threads of one block.
  kCrossBlockRace,  // Two blocks.
  kOutOfBounds,
  kMisaligned,
  kUninitialisedShared,
  kDivergentBarrier,  // Some threads of the block wait where others never come.
  kDivergentShuffle,
  kEarlyExit,  // A block may have left its cluster when another one reads its shared memory.
};
std::string_view ToString(Finding finding);

struct SanitizerFinding {
  Finding finding;
  std::string array;   // Parameter or shared array; empty for divergence.
  std::string source;  // The HLO instruction it belongs to; empty when unknown.
  int64_t element = 0;
  int64_t block = 0;
  int thread = 0;
  int64_t other_block = 0;  // Races: who was there before.
  int other_thread = -1;    // -1: several.
  int64_t count = 1;        // How often this finding came, at this array and source.

  std::string ToString() const;
};

struct SanitizerReport {
  std::string kernel;
  std::vector<SanitizerFinding> findings;  // The first of each kind, array and source; in the order they came.

  bool clean() const { return findings.empty(); }
  std::string ToString() const;
};

struct EmulateOptions {
  bool sanitize = true;
  std::vector<int64_t> blocks;  // Only these (and those of their clusters) run, in this order; empty: all.
  NvptxOptions nvptx;
};

// What a kernel's SetCondition is to do.
using SetCondition = std::function<void(uint64_t handle, uint32_t value)>;

// A kernel made ready once, to be run often, by one at a time.
class EmulatedCode {
 public:
  static Result<EmulatedCode> Make(const Kernel& kernel, const EmulateOptions& options = {});
  EmulatedCode(EmulatedCode&& other) noexcept;
  ~EmulatedCode();

  // `arguments`: as Kernel::Arguments, of as many elements as the kernel says. With `sanitize`, accesses out of
  // bounds are reported and not made.
  SanitizerReport Run(std::span<void* const> arguments, const SetCondition& set_condition = {});

 private:
  struct Parts;
  explicit EmulatedCode(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// The same for a kernel that runs once.
Result<SanitizerReport> Emulate(const Kernel& kernel, std::span<void* const> arguments,
                                const EmulateOptions& options = {});

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_EMULATOR_H_
