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

namespace hlo {
namespace {

int g_threads = 0;  // 0: not set yet.
thread_local bool t_inside = false;

// One loop at a time; workers sleep between loops after a short spin.
class Pool {
 public:
  explicit Pool(int helpers) {
    for (int i = 0; i < helpers; ++i) workers_.emplace_back([this] { Work(); });
  }

  ~Pool() {
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  void Run(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
    const std::lock_guard one_loop(loop_mutex_);
    body_ = &body;
    at_hand_ = AtHand::Innermost();
    count_ = count;
    grain_ = grain;
    next_.store(0, std::memory_order_relaxed);
    running_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex_);
      generation_.fetch_add(1, std::memory_order_release);
    }
    wake_.notify_all();
    TakePieces();
    while (running_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

  int helpers() const { return static_cast<int>(workers_.size()); }

 private:
  void TakePieces() {
    t_inside = true;
    try {
      for (int64_t begin; (begin = next_.fetch_add(grain_, std::memory_order_relaxed)) < count_;) {
        (*body_)(begin, std::min(count_, begin + grain_));
      }
    } catch (...) {
      next_.store(count_, std::memory_order_relaxed);  // Nobody starts another piece.
      const std::lock_guard lock(mutex_);
      if (!thrown_) thrown_ = std::current_exception();
    }
    t_inside = false;
  }

  void Work() {
    for (uint64_t seen = 0;;) {
      for (int spin = 0; spin < 2000 && generation_.load(std::memory_order_acquire) == seen; ++spin)
        __builtin_ia32_pause();
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_acquire) != seen; });
        seen = generation_.load(std::memory_order_acquire);
        if (stop_) return;
      }
      AtHand::SetInnermost(at_hand_);
      TakePieces();
      AtHand::SetInnermost(nullptr);
      running_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::mutex loop_mutex_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::atomic<uint64_t> generation_ = 0;
  bool stop_ = false;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  const AtHand* at_hand_ = nullptr;  // Of who waits for the loop.
  int64_t count_ = 0;
  int64_t grain_ = 1;
  std::atomic<int64_t> next_ = 0;
  std::atomic<int> running_ = 0;
  std::exception_ptr thrown_;  // The first of the loop that runs.
  std::vector<std::thread> workers_;
};

}  // namespace

void SetThreads(int threads) { g_threads = std::max(1, threads); }

int Threads() {
  if (g_threads == 0) g_threads = std::max(1u, std::thread::hardware_concurrency());
  return g_threads;
}

void ParallelFor(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  grain = std::max<int64_t>(1, grain);
  if (t_inside || Threads() == 1 || count <= grain) {
    for (int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(count, begin + grain));
    return;
  }
  static Pool pool(Threads() - 1);
  pool.Run(count, grain, body);
}

}  // namespace hlo
