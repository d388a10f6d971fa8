// Schedules the emulator's threads. Clusters run one after another, and a cluster's threads take turns.
#ifndef HLO_GPU_CODEGEN_EMULATOR_MACHINE_H_
#define HLO_GPU_CODEGEN_EMULATOR_MACHINE_H_

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "gpu/codegen/sanitizer.h"
#include "gpu/kernel/kernel.h"

namespace hlo::kernel {

enum class Wait : int32_t {
  kNothing,
  kClusterBarrier,
  kBarrier,
  kWarpBarrier,
  kShuffleDown,
  kShuffleUp,
  kShuffleXor,
  kShuffleIndexed,
  kBallot,
  kLoadMatrices,
  kMultiply,
  kDone
};

class Machine {
 public:
  explicit Machine(const Kernel& kernel);

  std::vector<AccessSite> sites;
  std::function<void(uint64_t handle, uint32_t value)> set_condition;

  // The emulated code calls the next functions. `thread` is the number within the current block.
  void* Frame(int64_t bytes);
  void Suspend(int thread, Wait wait, int site, uint32_t value, uint32_t operand);
  uint32_t Shuffled(int thread) { return Own(thread).received; }
  // GiveWord sets a word of a thread's input to the next matrix operation. TakeWord returns a word of the result.
  void GiveWord(int thread, int which, uint64_t word) { Own(thread).words[which] = word; }
  uint32_t TakeWord(int thread, int which) { return static_cast<uint32_t>(Own(thread).words[which]); }
  // Returns the address that the access must use (Sanitizer::Access).
  void* Access(int site, int thread, void* address, const void* member, int rank);
  void* InBlock(void* shared, int rank);
  void Fence();
  // Asynchronous copies are executed as late as possible. A kernel without the needed wait then reads old values.
  void Copy(int thread, void* to, const void* from) { Own(thread).copies.push_back({to, from}); }
  void EndGroup(int thread);
  void WaitForCopies(int thread, int on_their_way);

  using Start = void* (*)(void* const* arguments, int32_t thread, int32_t block);

  // `shared` has the address and bytes of each shared array. `sanitizer` may be null.
  void Run(Start start, std::span<void* const> arguments, std::span<const int64_t> blocks, Sanitizer* sanitizer,
           const std::vector<std::pair<char*, int64_t>>& shared);

 private:
  static constexpr int kAsyncBytes = 16;
  static constexpr int kMostWords = 10;
  struct AsyncCopy {
    void* to;
    const void* from;
  };
  struct Thread {
    void* frame = nullptr;
    Wait wait = Wait::kNothing;
    int site = 0;
    uint32_t value = 0, operand = 0, received = 0;
    std::array<uint64_t, kMostWords> words = {};
    std::vector<AsyncCopy> copies;              // Not in a group yet.
    std::deque<std::vector<AsyncCopy>> groups;  // Unfinished.
  };

  std::span<Thread> Block() { return std::span(threads_).subspan(rank_ * kernel_.threads, kernel_.threads); }
  Thread& Own(int thread) { return threads_[rank_ * kernel_.threads + thread]; }
  static void NoteEnd(Thread& thread);
  static void Resume(Thread& thread);
  void RunCluster(Start start, int64_t first);
  void Enter(int rank);
  void PassClusterBarrier();
  bool Step();
  bool StepWarp(int warp);
  static int SourceLane(const Thread& thread, int lane);
  static void Ballot(std::span<Thread> lanes);
  static void LoadMatrices(std::span<Thread> lanes);
  static void MultiplyMatrices(std::span<Thread> lanes);

  const Kernel& kernel_;
  std::span<void* const> arguments_;
  std::vector<Thread> threads_;
  std::vector<char> frames_;
  std::vector<std::pair<char*, int64_t>> shared_;
  // Indexed by rank and array: the shared memory of blocks that are not running.
  std::vector<std::vector<std::vector<char>>> kept_;
  int rank_ = 0;
  int current_ = 0;  // The thread that is being started.
  Sanitizer* sanitizer_ = nullptr;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_EMULATOR_MACHINE_H_
