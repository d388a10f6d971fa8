#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/crash.h"
#include "base/processors.h"

namespace hlo {
namespace {

int g_threads = 0;
thread_local bool t_inside = false;

// Threads that share one loop at a time. Helpers spin between loops, then sleep. A loop does not wait for helpers that
// wake up after its last piece is taken.
class WorkerPool {
 public:
  explicit WorkerPool(int helpers) {
    for (int i = 0; i < helpers; ++i) helpers_.emplace_back([this] { Help(); });
  }

  ~WorkerPool() {
    stop_.store(true);
    Announce(0);
    for (std::thread& helper : helpers_) helper.join();
  }

  void Run(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    const std::lock_guard one_loop(loop_mutex_);
    body_ = &body;
    at_hand_ = AtHand::Innermost();
    count_ = count;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    Announce(kOpen);
    TakePieces();
    state_.fetch_and(~kOpen, std::memory_order_relaxed);
    const auto done = [&] { return (state_.load(std::memory_order_acquire) & kInside) == 0; };
    if (!SpunUntil(done)) {
      while (!done()) std::this_thread::yield();
    }
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  // `state_` holds the number of helpers inside the loop, whether more may join, and the number of the loop.
  static constexpr uint64_t kInside = 0x7fff, kOpen = 0x8000;
  static constexpr int kNumberShift = 16;

  void Announce(uint64_t open) {
    const uint64_t number = (state_.load(std::memory_order_relaxed) >> kNumberShift) + 1;
    state_.store(number << kNumberShift | open);
    // Sequential consistency: either this thread sees the sleeping helper, or the helper sees the new loop.
    if (asleep_.load() == 0) return;
    {
      const std::lock_guard lock(mutex_);
    }
    wake_.notify_all();
  }

  template <class Condition>
  static bool SpunUntil(const Condition& holds) {
    for (int spin = 0; spin < 2000; ++spin) {
      if (holds()) return true;
      __builtin_ia32_pause();
    }
    return false;
  }

  void TakePieces() {
    t_inside = true;
    try {
      for (int64_t begin; (begin = next_.fetch_add(grain_, std::memory_order_relaxed)) < count_;) {
        (*body_)(begin, std::min(count_, begin + grain_));
      }
    } catch (...) {
      next_.store(count_, std::memory_order_relaxed);
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
    t_inside = false;
  }

  void Help() {
    for (uint64_t seen = 0;;) {
      const auto announced = [&] { return state_.load() >> kNumberShift != seen; };
      if (!SpunUntil(announced)) {
        std::unique_lock lock(mutex_);
        asleep_.fetch_add(1);
        wake_.wait(lock, announced);
        asleep_.fetch_sub(1);
      }
      if (stop_.load()) return;
      uint64_t state = state_.load();
      seen = state >> kNumberShift;
      while ((state & kOpen) != 0 && state >> kNumberShift == seen) {
        if (!state_.compare_exchange_weak(state, state + 1)) continue;
        AtHand::SetInnermost(at_hand_);
        TakePieces();
        AtHand::SetInnermost(nullptr);
        state_.fetch_sub(1, std::memory_order_release);
        break;
      }
    }
  }

  std::mutex loop_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<int> asleep_ = 0;
  std::atomic<bool> stop_ = false;
  std::exception_ptr thrown_;
  // `next_`, which every piece changes, has a cache line of its own.
  alignas(64) std::atomic<uint64_t> state_ = 0;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  const AtHand* at_hand_ = nullptr;
  int64_t count_ = 0;
  int64_t grain_ = 1;
  alignas(64) std::atomic<int64_t> next_ = 0;
  std::vector<std::thread> helpers_;
};

}  // namespace

void SetThreads(int threads) { g_threads = std::max(1, threads); }

int Threads() {
  if (g_threads == 0) g_threads = UsableProcessors();
  return g_threads;
}

void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  if (t_inside || Threads() == 1 || count <= grain) {
    for (int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
    return;
  }
  static WorkerPool pool(Threads() - 1);
  pool.Run(count, grain, body);
}

}  // namespace hlo
