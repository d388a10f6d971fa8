// What a person sees while long work goes on: one line on a terminal, rewritten, once it has taken more than two
// seconds. Nothing when stderr is no terminal.
#ifndef HLO_DRIVER_PROGRESS_H_
#define HLO_DRIVER_PROGRESS_H_

#include <chrono>
#include <string>

namespace hlo {

class Progress {
 public:
  // `title` stands before each stage.
  explicit Progress(bool quiet = false, std::string title = "");
  ~Progress();

  // "interpreting": shown with the time since the stage began, as soon as anything has taken two seconds.
  void Stage(std::string name);
  // Within the stage: "kernel 12 of 61". Cheap enough for an inner loop: looks at the clock and mostly returns.
  void Step(int64_t done, int64_t total, const std::string& what);
  // Takes the line away, before anything else is printed.
  void Clear();

 private:
  void Show(const std::string& detail);

  bool enabled_;
  bool shown_ = false;
  std::string title_, stage_;
  std::chrono::steady_clock::time_point begin_, stage_begin_, last_shown_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROGRESS_H_
