#include "base/crash.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/files.h"

extern "C" const char __executable_start __attribute__((weak)), _end __attribute__((weak));

namespace hlo {
namespace {

#if defined(__has_feature)
#define HLO_HAS_FEATURE(feature) __has_feature(feature)
#else
#define HLO_HAS_FEATURE(feature) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || HLO_HAS_FEATURE(address_sanitizer) || \
    HLO_HAS_FEATURE(thread_sanitizer) || HLO_HAS_FEATURE(memory_sanitizer)
constexpr bool kSanitizerReports = true;
#else
constexpr bool kSanitizerReports = false;
#endif

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};
constexpr int kExit = 70;

// Text in a fixed buffer, because a signal handler may not allocate memory.
struct Line {
  char bytes[3072];
  size_t size = 0;

  Line& Add(std::string_view text) {
    const size_t count = std::min(text.size(), sizeof bytes - size);
    std::memcpy(bytes + size, text.data(), count);
    size += count;
    return *this;
  }
  // Adds at most 200 bytes of an untrusted name. Quotes, backslashes and bytes that are not printable ASCII become `?`.
  Line& AddName(std::string_view name) {
    constexpr size_t kMost = 200;
    for (const char c : name.substr(0, kMost)) {
      const bool is_plain = c >= 0x20 && c < 0x7F && c != '"' && c != '\\';
      Add(is_plain ? std::string_view(&c, 1) : "?");
    }
    return *this;
  }
  Line& AddNumber(uint64_t number, unsigned base) {
    char digits[24];
    size_t begin = sizeof digits;
    do digits[--begin] = "0123456789abcdef"[number % base];
    while ((number /= base) > 0);
    return Add({digits + begin, sizeof digits - begin});
  }
  std::string_view text() const { return {bytes, size}; }
};

enum class Mode : uint8_t { kSilent, kReports, kChild };

struct Kept {
  Mode mode = Mode::kSilent;
  char tool[32], version[64], command_line[2048], advice[512], stage[128];
  bool says_json = false;
  int parent = -1;
};
Kept g_kept;
std::atomic_flag g_crashed;
thread_local bool t_reports = false;

template <size_t N>
void Keep(std::string_view text, char (&kept)[N]) {
  const size_t count = std::min(text.size(), N - 1);
  std::copy_n(text.begin(), count, kept);
  kept[count] = '\0';
}

std::string_view NameOf(int signal) {
  switch (signal) {
    case SIGSEGV: return "Segmentation fault";
    case SIGBUS: return "Bus error";
    case SIGILL: return "Illegal instruction";
    case SIGFPE: return "Arithmetic exception";
    default: return "Aborted";
  }
}

// Adds text such as " in instruction 'add.3' of pass 'algsimp#2', while optimizing".
void AddAtHand(Line* line) {
  constexpr int kMost = 8;
  const char* before = " in ";
  const AtHand* at_hand = AtHand::Innermost();
  for (int i = 0; i < kMost && at_hand != nullptr; ++i, at_hand = at_hand->outer()) {
    line->Add(before).Add(at_hand->kind()).Add(" '").AddName(at_hand->name()).Add("'");
    before = " of ";
  }
  if (g_kept.stage[0] != '\0') line->Add(", while ").AddName(g_kept.stage);
}

bool PassIsAtHand() {
  const AtHand* at_hand = AtHand::Innermost();
  while (at_hand != nullptr && std::strcmp(at_hand->kind(), "pass") != 0) at_hand = at_hand->outer();
  return at_hand != nullptr;
}

// Writes one stack frame: "program+0x1f00", which a build with symbols can look up, or an address outside the program.
_Unwind_Reason_Code AddFrame(_Unwind_Context* context, void* file) {
  const auto address = reinterpret_cast<const char*>(_Unwind_GetIP(context));
  const bool is_ours = address >= &__executable_start && address < &_end;
  Line line;
  line.Add(is_ours ? "  program+0x" : "  0x");
  line.AddNumber(static_cast<uint64_t>(is_ours ? address - &__executable_start : address - static_cast<char*>(nullptr)),
                 16);
  line.Add("\n");
  return WriteAll(*static_cast<int*>(file), line.text()) ? _URC_NO_REASON : _URC_END_OF_STACK;
}

// Writes hlo-crash.txt, or hlo-crash-N.txt if it exists. Returns false if no file can be created.
bool WriteReport(std::string_view what, Line* path) {
  constexpr int kMost = 100;
  int file = -1;
  for (int number = 1; number <= kMost && file < 0; ++number) {
    path->size = 0;
    path->Add("hlo-crash");
    if (number > 1) path->Add("-").AddNumber(static_cast<uint64_t>(number), 10);
    path->Add(".txt");
    path->bytes[path->size] = '\0';
    file = open(path->bytes, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0 && errno != EEXIST) return false;
  }
  if (file < 0) return false;
  Line head;
  head.Add("version  ").Add(g_kept.version).Add("\ncommand  ").Add(g_kept.command_line);
  head.Add("\ncrash    ").Add(what).Add("\nstack\n");
  WriteAll(file, head.text());
  _Unwind_Backtrace(AddFrame, &file);
  close(file);
  return true;
}

void PrintReport(std::string_view what) {
  Line path, line;
  const bool is_reported = WriteReport(what, &path);
  line.Add("FAILED(crash)  ").Add(what).Add("\n");
  if (is_reported) line.Add("  report: ").Add(path.text()).Add("\n");
  if (PassIsAtHand() && g_kept.advice[0] != '\0') line.Add("  next: ").Add(g_kept.advice).Add("\n");
  line.Add("please report this with the module that caused it").Add(is_reported ? " and that file\n" : "\n");
  WriteAll(STDERR_FILENO, line.text());
  if (!g_kept.says_json) return;
  const std::string_view tool = g_kept.tool;
  Line json;
  json.Add("{\"schema\":\"hlo.").Add(tool.starts_with("hlo-") ? tool.substr(4) : tool);
  json.Add("/1\",\"verdict\":\"FAILED(crash)\",\"exit\":70,\"detail\":\"").Add(what).Add("\"}\n");
  WriteAll(STDOUT_FILENO, json.text());
}

// Makes other threads wait for the end of the process. A crash while a report is written ends the process.
void LetOneReport() {
  if (t_reports) _exit(kExit);
  t_reports = true;
  while (g_crashed.test_and_set()) pause();
}

void OnCrash(int number) {
  LetOneReport();
  Line what;
  what.Add(NameOf(number));
  AddAtHand(&what);
  if (g_kept.mode == Mode::kChild) {
    if (g_kept.parent >= 0) WriteAll(g_kept.parent, what.text());
    signal(number, SIG_DFL);
    raise(number);
    return;
  }
  Line first;
  first.Add(g_kept.tool).Add(": internal error: [I014] ").Add(what.text()).Add("\n");
  WriteAll(STDERR_FILENO, first.text());
  PrintReport(what.text());
  _exit(kExit);
}

}  // namespace

bool CrashesAreReported() { return !kSanitizerReports; }

void SetStageAtHand(std::string_view stage) { Keep(stage, g_kept.stage); }

void ReportCrashes(const CrashOptions& options) {
  Keep(options.tool, g_kept.tool);
  Keep(options.version, g_kept.version);
  Keep(options.command_line, g_kept.command_line);
  Keep(options.advice, g_kept.advice);
  g_kept.says_json = options.says_json;
  g_kept.mode = Mode::kReports;
  if (kSanitizerReports) return;
  // Handlers need their own stack after a stack overflow.
  alignas(16) static char stack[1 << 16];
  const stack_t on = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof stack};
  sigaltstack(&on, nullptr);
  struct sigaction action{};
  action.sa_handler = OnCrash;
  action.sa_flags = SA_ONSTACK;
  for (const int signal : kSignals) sigaction(signal, &action, nullptr);
}

void LeaveCrashesToParent(int file) {
  g_kept.mode = Mode::kChild;
  g_kept.parent = file;
  if (file >= 0 || kSanitizerReports) return;
  for (const int number : kSignals) signal(number, SIG_DFL);
}

namespace internal {

void EndAfterCheck(const char* place, int line) {
  if (g_kept.mode == Mode::kReports) {
    LetOneReport();
    Line what;
    what.Add("check at ").Add(place).Add(":").AddNumber(static_cast<uint64_t>(line), 10);
    AddAtHand(&what);
    PrintReport(what.text());
  } else {
    constexpr std::string_view kAsk = "please report this with the module that caused it\n";
    WriteAll(STDERR_FILENO, kAsk);
  }
  _exit(kExit);
}

}  // namespace internal
}  // namespace hlo
