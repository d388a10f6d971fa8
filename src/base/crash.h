// What is said where the program dies of a fault of its own: a signal (SIGSEGV, SIGABRT, ...) or a CHECK. The verdict
// is FAILED(crash), the exit code 70; with it go what was at hand, and where a report for those who mend it lies.
#ifndef HLO_BASE_CRASH_H_
#define HLO_BASE_CRASH_H_

#include <string>
#include <string_view>

namespace hlo {

// "pass algsimp#2", "kernel fusion.3": what this thread works on as long as the object lives. What it names has to live
// as long, too: nothing is copied, so that it costs two stores. Threads of ParallelFor work on what its caller does.
class AtHand {
 public:
  AtHand(const char* kind, std::string_view name) : kind_(kind), name_(name), outer_(innermost) { innermost = this; }
  ~AtHand() { innermost = outer_; }
  AtHand(const AtHand&) = delete;

  const char* kind() const { return kind_; }
  std::string_view name() const { return name_; }
  const AtHand* outer() const { return outer_; }

  // Of this thread; null: nothing.
  static const AtHand* Innermost() { return innermost; }
  static void SetInnermost(const AtHand* at_hand) { innermost = at_hand; }

 private:
  static thread_local constinit inline const AtHand* innermost = nullptr;

  const char* kind_;
  std::string_view name_;
  const AtHand* outer_;
};

// What the whole program is about: "optimizing". The first bytes of it are kept.
void SetStageAtHand(std::string_view stage);

// False where a sanitizer tells of crashes in its own way.
bool CrashesAreReported();

struct CrashOptions {
  std::string tool;     // "hlo-run"
  std::string version;  // These two are for the report.
  std::string command_line;
  std::string advice;      // What to do where a pass was at hand; "": nothing.
  bool says_json = false;  // Whoever reads stdout waits for JSON, and gets the verdict.
};
// From now on signals end the process with exit code 70, and are told. Sanitizers keep handlers of their own.
void TellOfCrashes(const CrashOptions& options);

// Of a child process: whoever watches it sees the signal. With `file`, what was at hand is written there first.
void LeaveCrashesToParent(int file = -1);

namespace internal {
// Behind the line of a CHECK that failed at `place`: the lines of a crash.
[[noreturn]] void EndAfterCheck(const char* place, int line);
}  // namespace internal

}  // namespace hlo

#endif  // HLO_BASE_CRASH_H_
