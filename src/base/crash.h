// Reports a crash (SIGSEGV, SIGABRT, ... or a failed CHECK) with the verdict FAILED(crash), exit code 70, the pass or
// kernel at work, and the path of a file with details.
#ifndef HLO_BASE_CRASH_H_
#define HLO_BASE_CRASH_H_

#include <string>
#include <string_view>

namespace hlo {

// While the object lives, crash reports of this thread contain `kind` and `name`, such as "pass algsimp#2". Objects
// nest, and names must outlive them. Threads of ParallelFor inherit the caller's objects.
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

// Sets the stage in crash reports, such as "optimizing". Keeps the first 127 bytes.
void SetStageAtHand(std::string_view stage);

// False in builds with a sanitizer that reports crashes itself.
bool CrashesAreReported();

struct CrashOptions {
  std::string tool;
  std::string version;
  std::string command_line;
  std::string advice;      // Printed for crashes in a pass.
  bool says_json = false;  // The verdict also goes to stdout, as JSON.
};
void ReportCrashes(const CrashOptions& options);

// For a child process: crashes print no report, and the parent sees the signal. The signal's name and the thread's
// AtHand objects go to the descriptor `file`, if given.
void LeaveCrashesToParent(int file = -1);

namespace internal {
// Called after a CHECK failed at `line` of the file `place`. Reports the crash if ReportCrashes was called.
[[noreturn]] void EndAfterCheck(const char* place, int line);
}  // namespace internal

}  // namespace hlo

#endif  // HLO_BASE_CRASH_H_
