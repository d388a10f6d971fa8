#include "driver/progress.h"

#include <unistd.h>

#include <cstdio>

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
      stage_begin_(begin_),
      last_shown_(begin_) {}

Progress::~Progress() { Clear(); }

void Progress::Stage(std::string name) {
  stage_ = std::move(name);
  stage_begin_ = Clock::now();
  if (enabled_ && Seconds(stage_begin_ - begin_) > 2) Show("");
}

void Progress::Step(int64_t done, int64_t total, const std::string& what) {
  if (!enabled_) return;
  const auto now = Clock::now();
  if (Seconds(now - begin_) < 2 || Seconds(now - last_shown_) < 0.1) return;
  Show(total > 0 ? Format(" %s %lld of %lld", what.c_str(), static_cast<long long>(done), static_cast<long long>(total))
                 : Format(" %s %lld", what.c_str(), static_cast<long long>(done)));
}

void Progress::Show(const std::string& detail) {
  last_shown_ = Clock::now();
  std::fprintf(stderr, "\r\033[K%s%s%s (%.0f s)", title_.c_str(), stage_.c_str(), detail.c_str(),
               Seconds(last_shown_ - stage_begin_));
  std::fflush(stderr);
  shown_ = true;
}

void Progress::Clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

}  // namespace hlo
