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
  Detail([&] { return total > 0 ? Str(" ", what, " ", done, " of ", total) : Str(" ", what, " ", done); });
}

bool Progress::IsDue() {
  if (!enabled_) return false;
  const auto now = Clock::now();
  if (Seconds(now - last_step_) < 0.1) return false;
  last_step_ = now;
  return true;
}

void Progress::SetDetail(std::string text) {
  const std::lock_guard lock(mutex_);
  detail_ = std::move(text);
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
