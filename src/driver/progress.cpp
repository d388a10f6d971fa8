#include "driver/progress.h"

#include <unistd.h>

#include <cstdio>

#include "base/crash.h"
#include "base/text.h"

namespace hlo {
namespace {

using Clock = std::chrono::steady_clock;

double Seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

Progress::Progress(bool quiet, std::string title)
    : enabled_(!quiet && isatty(STDERR_FILENO) != 0),
      title_(std::move(title)),
      begin_(Clock::now()),
      last_step_(begin_),
      stage_begin_(begin_) {
  if (enabled_) watcher_ = std::thread([this] { Watch(); });
}

Progress::~Progress() {
  Clear();
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  ended_.notify_one();
  watcher_.join();
}

void Progress::Stage(std::string name) {
  SetStageAtHand(name);
  if (!enabled_) return;
  const std::lock_guard lock(mutex_);
  stage_ = std::move(name);
  detail_.clear();
  stage_begin_ = Clock::now();
}

void Progress::Step(int64_t done, int64_t total, const std::string& what) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (Seconds(now - last_step_) < 0.1) return;
  last_step_ = now;
  const std::lock_guard lock(mutex_);
  detail_ = total > 0
                ? Format(" %s %lld of %lld", what.c_str(), static_cast<long long>(done), static_cast<long long>(total))
                : Format(" %s %lld", what.c_str(), static_cast<long long>(done));
}

void Progress::Watch() {
  constexpr auto kPause = std::chrono::milliseconds(200);
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPause, [this] { return end_; })) {
    if (!stage_.empty() && Seconds(Clock::now() - begin_) > 2) Show();
  }
}

void Progress::Show() {
  std::fprintf(stderr, "\r\033[K%s%s%s (%.0f s)", title_.c_str(), stage_.c_str(), detail_.c_str(),
               Seconds(Clock::now() - stage_begin_));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  const std::lock_guard lock(mutex_);
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
  stage_.clear();
}

}  // namespace hlo
