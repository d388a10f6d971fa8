#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/crash.h"
#include "base/files.h"
#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/fuzz/draw_passes.h"
#include "driver/fuzz/fuzz.h"
#include "driver/run/arguments.h"
#include "driver/search/reduce.h"
#include "driver/target.h"
#include "gpu/device/device.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

// Limits for one module, which usually takes far less.
constexpr int kCpuSeconds = 60, kWallSeconds = 600;
constexpr int64_t kChunk = 50;
// Larger modules take long to grow, and find only limits of memory and time.
constexpr int64_t kMostInstructions = 100'000;

struct FuzzFlags {
  GrowOptions grow;
  RunOptions run;
  PassFlags passes;  // Only --passes and --target are flags of this command.
  std::shared_ptr<const Target> host;
  bool random_passes = false;
  LogFlags log;
  std::string mode = "grow", save, input_profile;
  std::vector<InputProfile> profiles;
  std::vector<std::string> oracles;  // Empty means all.
  std::vector<std::string> inject;
  int64_t seed = 0, count = 100;
  bool print = false, stats = false, reduce = false;
};

FlagSet MakeFlags(FuzzFlags* f) {
  FlagSet flags(
      "hlo-fuzz", "[flags]",
      "Generates random valid modules and judges each by every oracle: the verifier, printing and reading, the "
      "interpreter with 1 and 2 threads, the bits of exact passes, and kernels with and without the passes. A third of "
      "the modules is planned for this machine unless --target names a device. The exit code is 1 if there is a "
      "finding.",
      {"hlo fuzz --count=1000 --seed=1", "hlo fuzz --oracles=bits --count=10000 --seed=1",
       "hlo fuzz --focus=scatter,gather --count=200 --stats", "hlo fuzz --passes=random --count=1000 --seed=5",
       "hlo fuzz --shardings --oracles=partition --count=1000 --seed=9",
       "hlo fuzz --seed=17 --count=1 --print | hlo-run -"});
  flags.Group("Generated modules");
  flags.Choice("mode", &f->mode, {"grow"}, "grow: generate new modules, op by op");
  flags.Int("seed", &f->seed, "seed of the first module; each further module has the next number");
  flags.Int("count", &f->count, "number of modules", 1);
  flags.String("ops", &f->grow.ops, "RE", "use only opcodes with a matching name, and the opcodes that they need");
  flags.List("focus", &f->grow.focus, "OP", "opcodes that are chosen twenty times as often as others");
  flags.Int("max_instructions", &f->grow.max_instructions, "approximate number of instructions of an entry computation",
            1, kMostInstructions);
  flags.Int("max_elems", &f->grow.max_elems, "largest number of elements of one value", 1);
  flags.Int("depth", &f->grow.depth, "largest nesting of loops, branches and calls");
  flags.Bool("shardings", &f->grow.shardings,
             "state random shardings over 2 to 8 partitions; the oracle 'partition' runs the program of one device on "
             "all devices, and compares the joined results with those of the whole module");
  flags.Group("Judging");
  flags.List("oracles", &f->oracles, "NAME",
             "judge only by the verifier and these oracles: print, threads, passes (of --passes), bits, optimized, "
             "unfused, partition; bits alone judges hundreds of modules a second");
  flags.String("input_profile", &f->input_profile, "LIST",
               "profiles of generated arguments, as in hlo-run; each module uses one of them; default: mostly normal");
  flags.String("passes", &f->passes.passes, "LIST|random",
               "passes to run instead of the pipeline; random: other passes for each module, in any order");
  AddTargetFlag(flags, &f->passes.target);
  flags.String("platform", &f->run.platform, "NAME", "platform of the kernels: cpu, cuda or cuda:N");
  flags.Bool("libraries", &f->run.libraries,
             "use libraries as hlo-run does; off: products and scatters run as hlokit's kernels, which are planned for "
             "the target device, even if they run on the host");
  flags.Group("Output");
  flags.Bool("print", &f->print, "print the modules instead of judging them");
  flags.String("save", &f->save, "DIR", "write findings to DIR/SEED/: module.hlo, cmd and log");
  flags.Bool("reduce", &f->reduce,
             "make the first finding of each kind as small as possible in a minute, and write it to "
             "DIR/SEED/small.ORACLE.hlo; DIR is hlo-out/fuzz without --save");
  flags.Bool("stats", &f->stats, "print a table of the generated instructions by opcode and element type");
  AddLogFlags(flags, &f->log);
  flags.Group("Testing hlokit itself");
  flags.Repeated("inject", &f->inject, "KIND:NAME:FAULT", "plant a fault, as in hlo-run; the judges should find it");
  return flags;
}

struct Finding {
  uint64_t seed = 0;
  FuzzFinding finding;
  std::string oracle;  // The oracle that found the fault, or the activity that crashed.
  std::string report;
};

struct Totals {
  int64_t modules = 0, instructions = 0, unsupported = 0, inconclusive = 0, limits = 0;
  std::set<uint64_t> unsupported_seeds, inconclusive_seeds;
  std::map<std::string, std::pair<int64_t, uint64_t>> reasons;  // Number of cases and first seed.
  FuzzCells cells;
  std::vector<Finding> findings;
};

GrowOptions OptionsOf(const FuzzFlags& f, uint64_t seed) {
  GrowOptions options = f.grow;
  options.seed = seed;
  return options;
}

// nullopt means the default pipeline.
std::optional<std::string> PassesOf(const FuzzFlags& f, uint64_t seed) {
  return f.random_passes ? DrawPasses(seed) : f.passes.passes;
}

// Every third group of eight seeds is for hosts, which have other kernels. Each group has all kinds of runs (JudgedAs).
bool IsForHost(const FuzzFlags& f, uint64_t seed) {
  return f.passes.target.empty() && f.run.platform == "cpu" && seed / 8 % 3 == 2;
}

RunOptions RunOf(const FuzzFlags& f, const Module& module, uint64_t seed) {
  RunOptions run = f.run;
  if (IsForHost(f, seed)) run.pipeline.device = &f.host->device;
  run.pipeline.passes = PassesOf(f, seed);
  return JudgedAs(module, seed, std::move(run), f.profiles);
}

RunOptions RunOf(const FuzzFlags& f, uint64_t seed) { return RunOf(f, *GrowModule(OptionsOf(f, seed)), seed); }

// Names random passes, so that the command keeps its meaning if hlokit gets more passes.
std::string SharedFlags(const FuzzFlags& f, uint64_t seed) {
  std::string shared;
  if (const auto passes = PassesOf(f, seed)) shared += Str(" '--passes=", *passes, "'");
  if (IsForHost(f, seed)) shared += " --target=host";
  if (!f.passes.target.empty()) shared += Str(" --target=", f.passes.target);
  for (const std::string& fault : f.inject) shared += Str(" '--inject=", fault, "'");
  if (!f.run.libraries) shared += " --libraries=false";
  if (!f.log.host_isa.empty()) shared += Str(" --host_isa=", f.log.host_isa);
  return shared;
}

std::string Replay(const FuzzFlags& f, uint64_t seed) {
  const std::string profile = f.profiles.empty() ? "" : Str(" --input_profile=", RunOf(f, seed).input_profile);
  const std::string oracles = f.oracles.empty() ? "" : Str(" --oracles=", Join(f.oracles, ","));
  return Str(ReplayCommand(OptionsOf(f, seed)), profile, oracles, SharedFlags(f, seed));
}

std::string ReportOf(const FuzzFlags& f, uint64_t seed, std::string_view oracle) {
  const std::string report = ReportCommand(oracle, RunOf(f, seed));
  if (report.empty()) return "";
  return Str(ReplayCommand(OptionsOf(f, seed)), " --print | ", report, SharedFlags(f, seed), " -");
}

std::string ModuleText(const FuzzFlags& f, uint64_t seed) {
  const GrowOptions options = OptionsOf(f, seed);
  const auto passes = PassesOf(f, seed);
  return Str(passes ? Str("// Passes: ", *passes, "\n") : "", GrownText(*GrowModule(options), options));
}

void Send(FILE* out, char kind, const std::string& text) {
  std::fprintf(out, "%c%s\n", kind, Escaped(text).c_str());
  std::fflush(out);
}

// The first signal ends the child, and the command prints its tally. The second one ends the process.
class Interruption {
 public:
  Interruption() {
    struct sigaction action{};
    action.sa_handler = [](int) {
      is_interrupted_ = true;
      if (const pid_t child = child_) kill(child, SIGKILL);
    };
    action.sa_flags = SA_RESETHAND;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~Interruption() { Restore(); }
  Interruption(const Interruption&) = delete;

  // The child restores the handlers, because a signal must end it at once.
  void Restore() const {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }
  explicit operator bool() const { return is_interrupted_; }
  // 0 means no child.
  void SetChild(pid_t child) const {
    child_ = child;
    if (is_interrupted_ && child != 0) kill(child, SIGKILL);
  }

 private:
  static inline std::atomic<bool> is_interrupted_ = false;
  static inline std::atomic<pid_t> child_ = 0;
  struct sigaction interrupt_{}, terminate_{};
};

// Signals of these timers end the child. The parent recognises them.
void SetTimeLimits() {
  itimerval cpu{};
  cpu.it_value.tv_sec = kCpuSeconds;
  setitimer(ITIMER_PROF, &cpu, nullptr);
  alarm(kWallSeconds);
}

[[noreturn]] void Child(const FuzzFlags& f, uint64_t first, uint64_t end, int to_parent) {
  FILE* const out = fdopen(to_parent, "w");
  for (uint64_t seed = first; seed < end; ++seed) {
    Send(out, 'B', Str(seed));
    SetTimeLimits();
    const GrowOptions options = OptionsOf(f, seed);
    const auto module = GrowModule(options);
    const FuzzOutcome outcome = CheckAll(
        *module, GrownText(*module, options), RunOf(f, *module, seed),
        [&](const std::string& what) { Send(out, 'D', what); }, f.oracles);
    for (const FuzzFinding& finding : outcome.findings) Send(out, 'F', Str(finding.oracle, "\t", finding.what));
    for (const std::string& reason : outcome.unsupported) Send(out, 'U', reason);
    for (const std::string& reason : outcome.inconclusive) Send(out, 'I', reason);
    for (const std::string& reason : outcome.limits) Send(out, 'L', reason);
    for (const auto& [cell, times] : outcome.cells)
      Send(out, 'C', Str(static_cast<int>(cell.first), " ", static_cast<int>(cell.second), " ", times));
    Send(out, 'E', Str(outcome.instructions));
    // After a fault on a GPU, this process cannot use the GPU.
    if (f.run.platform != "cpu" && !outcome.findings.empty()) break;
  }
  std::_Exit(0);
}

void SaveFinding(const FuzzFlags& f, const Finding& finding) {
  const std::string folder = Str(f.save, "/", finding.seed);
  const std::string command = Str(Replay(f, finding.seed), "\n", finding.report, finding.report.empty() ? "" : "\n");
  // Growing the module again would crash here, too.
  const bool grows = finding.finding.what.find("while growing") == std::string::npos;
  const auto saved = [&]() -> Status {
    TRY(MakeDirectories(folder));
    TRY(WriteFile(folder + "/cmd", command));
    TRY(WriteFile(folder + "/log", Str(finding.finding.oracle, ": ", finding.finding.what, "\n")));
    if (grows) TRY(WriteFile(folder + "/module.hlo", ModuleText(f, finding.seed)));
    return {};
  }();
  if (!saved) std::fprintf(stderr, "hlo-fuzz: %s\n", saved.error().message().c_str());
}

void Found(const FuzzFlags& f, uint64_t seed, FuzzFinding found, std::string_view oracle, Totals* totals) {
  totals->findings.push_back({seed, std::move(found), std::string(oracle), ReportOf(f, seed, oracle)});
  const Finding& finding = totals->findings.back();
  std::printf("[%s] seed %llu: %s\n  replay: %s\n", finding.finding.oracle.c_str(),
              static_cast<unsigned long long>(seed), finding.finding.what.c_str(), Replay(f, seed).c_str());
  if (!finding.report.empty()) std::printf("  report: %s\n", finding.report.c_str());
  std::fflush(stdout);
  if (!f.save.empty()) SaveFinding(f, finding);
}

// Reads the lines of a child. `last` is the last seed that the child began.
struct Reader {
  const FuzzFlags& f;
  Totals* totals;
  uint64_t last;
  bool judging = false;
  std::string doing;

  void Reason(std::string_view what, const std::string& why) {
    auto& [count, seed] = totals->reasons[Str(what, KindOf(why))];
    if (count++ == 0) seed = last;
  }

  void Line(const std::string& line) {
    const std::string text = line.substr(1);
    int64_t number = 0;
    switch (line[0]) {
      case 'B':
        ParseInt(text, &number);
        last = static_cast<uint64_t>(number);
        judging = true;
        doing = "";
        break;
      case 'D': doing = text; break;
      case 'E':
        ParseInt(text, &number);
        totals->instructions += number;
        ++totals->modules;
        judging = false;
        break;
      case 'F': {
        const size_t tab = text.find("\\t");
        const std::string oracle = text.substr(0, tab);
        Found(f, last, {oracle, text.substr(tab + 2)}, oracle, totals);
        break;
      }
      case 'U':
        ++totals->unsupported;
        totals->unsupported_seeds.insert(last);
        Reason("unsupported  ", text);
        break;
      case 'I':
        ++totals->inconclusive;
        totals->inconclusive_seeds.insert(last);
        Reason("inconclusive ", text);
        break;
      case 'L':
        ++totals->limits;
        Reason("limit        ", text);
        break;
      case 'C': {
        const std::vector<std::string_view> parts = Split(text, ' ');
        int64_t opcode = 0, type = 0;
        if (parts.size() != 3 || !ParseInt(parts[0], &opcode) || !ParseInt(parts[1], &type) ||
            !ParseInt(parts[2], &number))
          break;
        totals->cells[{static_cast<Opcode>(opcode), static_cast<PrimitiveType>(type)}] += number;
        break;
      }
      default: break;
    }
  }
};

std::string HowItEnded(int status, const std::string& words) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    return Str("took more than ", kCpuSeconds, " s of processor time");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) return Str("took more than ", kWallSeconds, " s");
  const std::string how = WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : Str("exit ", WEXITSTATUS(status));
  return words.empty() ? how : Str(how, ": ", words);
}

std::string LastWords(FILE* file) {
  std::string text;
  if (std::fseek(file, 0, SEEK_SET) != 0) return "";
  char chunk[4096];
  for (size_t count; (count = std::fread(chunk, 1, sizeof chunk, file)) > 0;) text.append(chunk, count);
  const std::string_view words = Trim(text);
  return Escaped(words.substr(0, 400));
}

// Returns the next seed: the child may judge only a part of [first, end).
Result<uint64_t> RunChunk(const FuzzFlags& f, uint64_t first, uint64_t end, const Interruption& stop, Totals* totals) {
  int ends[2];
  FILE* const words = std::tmpfile();
  if (words == nullptr || pipe(ends) != 0)
    FAIL(DeviceError("A011", Str("cannot start a child: ", std::strerror(errno))));
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // A child must not outlive its parent.
    stop.Restore();
    LeaveCrashesToParent();
    close(ends[0]);
    dup2(fileno(words), STDERR_FILENO);
    Child(f, first, end, ends[1]);
  }
  stop.SetChild(std::max(0, child));
  close(ends[1]);
  Reader reader{f, totals, first};
  std::string bytes;
  char chunk[4096];
  for (ssize_t count; (count = read(ends[0], chunk, sizeof chunk)) > 0;) {
    bytes.append(chunk, static_cast<size_t>(count));
    size_t at = 0;
    for (size_t line; (line = bytes.find('\n', at)) != std::string::npos; at = line + 1)
      reader.Line(bytes.substr(at, line - at));
    bytes.erase(0, at);
  }
  close(ends[0]);
  stop.SetChild(0);
  int status = 0;
  waitpid(child, &status, 0);
  const std::string last_words = LastWords(words);
  std::fclose(words);
  if (child < 0) FAIL(DeviceError("A011", "cannot start a child"));
  if (!reader.judging) return reader.last + 1;
  if (stop) return reader.last;
  ++totals->modules;
  Found(f, reader.last, {"crash", Str(reader.doing, reader.doing.empty() ? "" : ": ", HowItEnded(status, last_words))},
        reader.doing, totals);
  return reader.last + 1;
}

// Returns the seed after the last judged module.
Result<uint64_t> JudgeAll(const FuzzFlags& f, uint64_t first, uint64_t end, Totals* totals) {
  const Interruption stop;
  Progress progress;
  progress.Stage("fuzzing");
  uint64_t seed = first;
  while (seed < end && !stop) {
    seed = TRY(RunChunk(f, seed, std::min(end, seed + kChunk), stop, totals));
    progress.Step(static_cast<int64_t>(seed - first), f.count, Str("module, ", totals->findings.size(), " findings;"));
  }
  progress.Clear();
  return seed;
}

void PrintStats(const FuzzCells& cells) {
  std::map<Opcode, std::map<PrimitiveType, int64_t>> rows;
  for (const auto& [cell, count] : cells) rows[cell.first][cell.second] += count;
  for (const auto& [opcode, types] : rows) {
    std::string row;
    for (const auto& [type, count] : types) row += Str("  ", type, " ", count);
    std::printf("  %-24s%s\n", std::string(ToString(opcode)).c_str(), row.c_str());
  }
  std::printf("%zu combinations of opcode and element type\n", cells.size());
}

void PrintSummary(const Totals& totals) {
  std::vector<std::pair<std::string, std::pair<int64_t, uint64_t>>> reasons(totals.reasons.begin(),
                                                                            totals.reasons.end());
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.second.first > b.second.first; });
  if (!reasons.empty()) std::printf(" times  first seed  not judged\n");
  for (const auto& [reason, seen] : reasons)
    std::printf("%6lld  %10llu  %s\n", static_cast<long long>(seen.first), static_cast<unsigned long long>(seen.second),
                reason.c_str());
  std::map<std::string, std::pair<int64_t, uint64_t>> kinds;
  for (const Finding& finding : totals.findings) {
    auto& [count, seed] = kinds[Str("[", finding.finding.oracle, "] ", KindOf(finding.finding.what))];
    if (count++ == 0) seed = finding.seed;
  }
  if (!kinds.empty()) std::printf(" times  first seed  finding\n");
  for (const auto& [kind, seen] : kinds)
    std::printf("%6lld  %10llu  %s\n", static_cast<long long>(seen.first), static_cast<unsigned long long>(seen.second),
                kind.c_str());
  const auto share = [&](const std::set<uint64_t>& seeds) {
    return 100.0 * static_cast<double>(seeds.size()) / static_cast<double>(std::max<int64_t>(1, totals.modules));
  };
  std::printf("%.1f %% of the modules have an unsupported run, %.1f %% an inconclusive one\n",
              share(totals.unsupported_seeds), share(totals.inconclusive_seeds));
  std::printf(
      "%lld modules, %lld instructions: %zu findings; runs: %lld unsupported, %lld inconclusive, %lld over a limit\n",
      static_cast<long long>(totals.modules), static_cast<long long>(totals.instructions), totals.findings.size(),
      static_cast<long long>(totals.unsupported), static_cast<long long>(totals.inconclusive),
      static_cast<long long>(totals.limits));
}

Status ReduceFindings(const FuzzFlags& f, const std::vector<Finding>& findings) {
  constexpr double kSecondsOfEach = 60;
  std::set<std::string> kinds;
  for (const Finding& finding : findings) {
    const auto run = RunOfOracle(finding.oracle, RunOf(f, finding.seed));
    if (!run || !kinds.insert(Str(finding.finding.oracle, KindOf(finding.finding.what))).second) continue;
    const std::string folder = Str(f.save.empty() ? "hlo-out/fuzz" : f.save, "/", finding.seed);
    TRY(MakeDirectories(folder));
    ReduceOptions options{.run = *run,
                          .property = {},
                          .output = Str(folder, "/small.", finding.finding.oracle, ".hlo"),
                          .seconds = kSecondsOfEach};
    options.jobs = Threads();
    const auto text = std::make_shared<const SourceText>(folder + "/module.hlo", ModuleText(f, finding.seed));
    const auto ignore = [](const std::string&) {};
    const auto reduced = Reduce(text, options, ignore, ignore);
    const std::string title = Str("[", finding.finding.oracle, "] seed ", finding.seed, ": ");
    if (!reduced) std::printf("%snot reduced: %s\n", title.c_str(), reduced.error().message().c_str());
    else
      std::printf("%sreduced from %lld to %lld instructions, %s: %s\n", title.c_str(),
                  static_cast<long long>(reduced->instructions_before), static_cast<long long>(reduced->instructions),
                  reduced->symptom.way.c_str(), options.output.c_str());
    std::fflush(stdout);
  }
  return {};
}

}  // namespace

Result<ExitCode> FuzzCommand(Args args) {
  FuzzFlags f;
  f.run.platform = "cpu";
  FlagSet flags = MakeFlags(&f);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (!positionals.empty())
    FAIL(UsageError("F002", Str("hlo-fuzz takes no file, found '", Escaped(positionals[0]), "'")));
  TRY(CheckGrowOptions(f.grow));
  TRY(CheckOracles(f.oracles));
  TRY(ReadTargetFlag(&f.passes));
  if (!f.input_profile.empty()) f.profiles = TRY(ParseProfiles(f.input_profile));
  f.random_passes = f.passes.passes == "random";
  if (f.random_passes) f.passes.passes.reset();
  f.run.pipeline = TRY(PipelineOf(f.passes, f.inject));
  for (const std::string& fault : f.inject) {
    if (fault.starts_with("pass:")) continue;
    TRY(gpu::CheckFault(fault));
    f.run.inject = fault;
  }
  TRY(Apply(f.log));
  const auto first = static_cast<uint64_t>(f.seed), end = first + static_cast<uint64_t>(f.count);
  if (f.print) {
    for (uint64_t seed = first; seed < end; ++seed)
      std::printf("%s%s", seed > first ? "// -----\n" : "", ModuleText(f, seed).c_str());
    return ExitCode::kOk;
  }
  f.host = TargetOf(gpu::OpenHostDevice()->Describe());
  Totals totals;
  const uint64_t next = TRY(JudgeAll(f, first, end, &totals));
  if (f.reduce && next == end) TRY(ReduceFindings(f, totals.findings));
  if (f.stats) PrintStats(totals.cells);
  PrintSummary(totals);
  if (next < end) {
    std::printf("interrupted; --seed=%llu --count=%llu generates the other modules\n",
                static_cast<unsigned long long>(next), static_cast<unsigned long long>(end - next));
    return ExitCode::kInterrupted;
  }
  return totals.findings.empty() ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace hlo
