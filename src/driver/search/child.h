// A function in a process of its own, so that whatever happens to it, a crash or a loop without end too, is something
// to tell. It answers line by line, and does more when it is sent a letter.
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
  double seconds = 0;        // Of wall time, after which it is ended; 0: as long as it takes.
  bool keeps_words = false;  // What it writes on stderr is for ChildEnd; else it goes where the parent's goes.
};

struct ChildEnd {
  bool timed_out = false;
  int signal = 0, exit = 0;  // No signal: `exit` is its exit code.
  std::string words;         // What it wrote on stderr, the beginning of it, on one line.

  std::string ToString() const;  // "Aborted", "it ended with exit 70", "no end after 60 s"
};

class ChildProcess {
 public:
  // Reads commands, writes answers. The process ends when it returns.
  using Body = std::function<void(int commands, std::FILE* answers)>;
  explicit ChildProcess(const Body& body, const ChildOptions& options = {});
  ~ChildProcess();  // Ends it.
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool Send(char command) const;
  // The next line of its answers; waits for it. Nothing: it ended.
  std::optional<std::string> ReadLine();
  // The same without waiting: nothing also where none has come yet.
  std::optional<std::string> TakeLine();
  bool ended() const { return end_.has_value(); }
  const ChildEnd& end() const { return *end_; }

  // Until one of them has written something, or ended.
  static void WaitForAny(std::span<ChildProcess* const> children);

 private:
  int MillisecondsLeft() const;  // -1: it has no limit.
  void Read();                   // What is there to be read; sees its end.
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
