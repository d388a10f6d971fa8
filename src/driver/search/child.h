// A child process, so that the parent survives a crash or endless loop. The child answers in lines, and receives
// letters as commands.
#ifndef HLO_DRIVER_SEARCH_CHILD_H_
#define HLO_DRIVER_SEARCH_CHILD_H_

#include <sys/types.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace hlo {

struct ChildOptions {
  double seconds = 0;        // Wall time until the child is killed. 0 is unlimited.
  bool keeps_words = false;  // Captures stderr for ChildEnd.
};

struct ChildEnd {
  bool timed_out = false;
  int signal = 0, exit = 0;
  std::string words;  // The start of the first line of stderr.

  std::string ToString() const;  // "Aborted", "exit code 70", "no exit within the time limit"
};

class ChildProcess {
 public:
  // The process ends when the body returns.
  using Body = std::function<void(int commands, std::FILE* answers)>;
  explicit ChildProcess(const Body& body, const ChildOptions& options = {});
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool Send(char command) const;
  // Waits for the next answer. nullopt if the child ended.
  std::optional<std::string> ReadLine();
  // Does not wait. nullopt also if there is no line yet.
  std::optional<std::string> TakeLine();
  bool ended() const { return end_.has_value(); }
  const ChildEnd& end() const { return *end_; }

  // Waits until a child has written something or ended.
  static void WaitForAny(std::span<ChildProcess* const> children);

 private:
  int MillisecondsLeft() const;  // -1 without a limit.
  void Read();
  void SeeEnd(bool timed_out);
  std::string WordsText() const;

  const ChildOptions options_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  pid_t child_ = -1;
  int commands_ = -1, answers_ = -1;
  std::FILE* words_ = nullptr;
  std::string pending_;
  std::optional<ChildEnd> end_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_CHILD_H_
