// Reports a crash (SIGSEGV, SIGABRT, ... or a failed CHECK) with the verdict FAILED(crash), exit code 70, the pass or
// kernel at work, and the path of a file with details.
#ifndef HLO_BASE_CRASH_H_
#define HLO_BASE_CRASH_H_

#include <string>
#include <string_view>

namespace hlo {

// While the object lives, crash reports of this thread name its work, such as "pass algsimp#2". Objects nest. The name
// must live as long as the object. Threads of ParallelFor inherit the caller's AtHand.
class AtHand {
 public:
  AtHand(const char* kind, std::string_view name) : kind_(kind), name_(name), outer_(innermost) { innermost = this; }
  ~AtHand() { innermost = outer_; }
  AtHand(const AtHand&) = delete;

  const char* kind() const { return kind_; }
  std::string_view name() const { return name_; }
  const AtHand* outer() const { return outer_; }

  static const AtHand* Innermost() { return innermost; }
  static void SetInnermost(const AtHand* at_hand) { innermost = at_hand; }

 private:
  static thread_local constinit inline const AtHand* innermost = nullptr;

  const char* kind_;
  std::string_view name_;
  const AtHand* outer_;
};

// Names the stage for crash reports, such as "optimizing". Keeps the first 127 bytes.
void SetStageAtHand(std::string_view stage);

// False in builds with a sanitizer that reports crashes itself.
bool CrashesAreReported();

struct CrashOptions {
  std::string tool;
  std::string version;
  std::string command_line;
  std::string advice;      // Printed if the crash happened in a pass.
  bool says_json = false;  // The verdict also goes to stdout, as JSON.
};
// Installs signal handlers that report a crash and end the process.
void ReportCrashes(const CrashOptions& options);

// For a child process: its crashes print no report, and the parent sees the signal. If the file descriptor `file` is
// given, the handler first writes the name of the signal and the thread's AtHand objects to it.
void LeaveCrashesToParent(int file = -1);

namespace internal {
// Ends the process after a CHECK failed at `line` of the file `place`. Prints the crash report if ReportCrashes was
// called.
[[noreturn]] void EndAfterCheck(const char* place, int line);
}  // namespace internal

}  // namespace hlo

#endif  // HLO_BASE_CRASH_H_
