// A progress line on stderr after two seconds. Shows nothing if stderr is not a terminal.
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
  explicit Progress(bool quiet = false, std::string title = "");
  ~Progress();
  Progress(const Progress&) = delete;

  // The stage is shown two seconds after construction.
  void Stage(std::string name);
  // Shows progress such as "kernel 12 of 61". Cheap enough for inner loops.
  void Step(int64_t done, int64_t total, const std::string& what);
  // `make_text` is called only if its text is shown.
  template <class MakeText>
  void Detail(MakeText&& make_text) {
    if (IsDue()) SetDetail(make_text());
  }
  // Erases the line until the next stage.
  void Clear();

 private:
  bool IsDue();  // True at most every tenth of a second.
  void SetDetail(std::string text);
  void Watch();
  void Show();

  const bool enabled_;
  const std::string title_;
  const std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point last_step_;
  std::mutex mutex_;  // Guards the members below, which the watcher thread shows.
  std::condition_variable ended_;
  bool shown_ = false, end_ = false;
  std::string stage_, detail_;
  std::chrono::steady_clock::time_point stage_begin_;
  std::thread watcher_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROGRESS_H_
