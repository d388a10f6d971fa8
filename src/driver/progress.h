// What a person sees while long work goes on: one line on a terminal, rewritten, once it has taken more than two
// seconds. Nothing when stderr is no terminal.
#ifndef HLO_DRIVER_PROGRESS_H_
#define HLO_DRIVER_PROGRESS_H_

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace hlo {

class Progress {
 public:
  // `title` stands before each stage.
  explicit Progress(bool quiet = false, std::string title = "");
  ~Progress();
  Progress(const Progress&) = delete;

  // "interpreting": shown with the time since the stage began, as soon as all has taken two seconds.
  void Stage(std::string name);
  // Within the stage: "kernel 12 of 61". Cheap enough for an inner loop: looks at the clock and mostly returns.
  void Step(int64_t done, int64_t total, const std::string& what);
  // As Step, in words of its own, which are made where they are shown alone.
  template <class MakeText>
  void Detail(MakeText&& make_text) {
    if (IsDue()) SetDetail(make_text());
  }
  // Takes the line away, before anything else is printed, until the next stage begins.
  void Clear();

 private:
  bool IsDue();  // Again after a tenth of a second.
  void SetDetail(std::string text);
  void Watch();
  void Show();

  const bool enabled_;
  const std::string title_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_step_;
  std::mutex mutex_;  // Of all that follows. A stage that says nothing is shown by a thread of its own.
  std::condition_variable ended_;
  bool shown_ = false, end_ = false;
  std::string stage_, detail_;
  std::chrono::steady_clock::time_point stage_begin_;
  std::thread watcher_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROGRESS_H_
