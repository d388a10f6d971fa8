// Measures which planted faults the judge finds (`make mutants`).
//
//   mutants [--passes=N] [--kernels=N] [--seed=S] [--sets=N] [--least_passes=PERCENT] [--least_own=PERCENT]
//           [--least_kernels=PERCENT] [--sample=STEPS] [--reach] [--list] MODULE.hlo...
//
// Group 1, passes: each mutation of ir/mutation.h is planted once in each module, at a seeded instruction, as if a pass
// had made it. A mutant is killed if CompareByBits returns MISMATCH for the arguments of a run or for one of up to N -
// 1 further sets (--sets=N). The rate is over all mutants. A table counts the other mutants by reason, and says which
// of the reasons prove that no arguments can show the fault.
// Group 2, kernels: each fault that --inject plants in kernels, library calls or the run time is planted wherever
// possible. A mutant is killed if the report says MISMATCH and names a kernel, a library call or, for a fault of the
// run time, any step as the culprit. The rate is over the mutants whose output bits differ from a run without the
// fault.
//
// --sample=STEPS judges passes by samples instead, as large modules are judged, with this limit of steps for each
// mutant.
//
// --reach instead counts the sides of decisions (judge/reach/reach.h) that arguments reach. --list names the missing
// sides, or all mutants that are not killed. A number of -1 omits a group.
//
// Both groups take N random modules and the modules on the command line. The exit code is 1 if a rate is below its
// limit.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/fuzz/grow.h"
#include "driver/progress.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "gpu/runtime/fault.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/mutation.h"
#include "ir/verifier/verifier.h"
#include "judge/bits.h"
#include "judge/compare/compare.h"
#include "judge/reach/reach_search.h"
#include "judge/sample.h"
#include "parser/parser.h"
#include "tests/mutants/survivors.h"

namespace hlo {
namespace {

constexpr int64_t kMostSteps = 5'000'000, kMostTrips = 100'000;  // Limits of the interpreter.

struct Flags {
  uint64_t seed = 5000;
  int64_t passes = 400, kernels = 60;  // Random modules of each group.
  int64_t sets = 9;                    // The sets of arguments for passes.
  int64_t sample = 0;                  // Steps of samples. With 0, all values are compared.
  double least_passes = 0, least_own = 0, least_kernels = 0;
  bool reach = false, list = false;
  std::vector<std::string> files;
};

struct Subject {
  std::string name;
  std::shared_ptr<const SourceText> text;
  uint64_t seed = 0;
};

struct Row {
  int64_t planted = 0, killed = 0;
  int64_t killed_first = 0;  // Mutants that are killed by the arguments of the run.
  int64_t inconclusive = 0;
  int64_t differ = 0, differ_killed = 0;  // Mutants whose output bits differ, and how many of them were killed.
  int64_t errors = 0;                     // Runs that ended with an error, before any verdict.

  Row& operator+=(const Row& row) {
    planted += row.planted, killed += row.killed, killed_first += row.killed_first, inconclusive += row.inconclusive;
    differ += row.differ, differ_killed += row.differ_killed, errors += row.errors;
    return *this;
  }
};

// Results of all threads.
class Table {
 public:
  void Add(const std::string& name, const Row& row, const std::string& missed) {
    const std::lock_guard lock(mutex_);
    rows_[name] += row;
    if (!missed.empty()) missed_.push_back(missed);
  }

  void AddSurvivor(Survival why) {
    const std::lock_guard lock(mutex_);
    ++survivors_[static_cast<int>(why)];
  }
  int64_t Proven() const {
    int64_t proven = 0;
    for (int why = 0; why < kSurvivals; ++why) proven += IsProven(static_cast<Survival>(why)) ? survivors_[why] : 0;
    return proven;
  }
  void PrintSurvivors() const {
    const Row total = Total();
    std::printf("Not killed, by reason:\n");
    for (int why = 0; why < kSurvivals; ++why) {
      std::printf("  %-18s %6ld%s\n", std::string(ToString(static_cast<Survival>(why))).c_str(), survivors_[why],
                  IsProven(static_cast<Survival>(why)) ? "  proven: no arguments show it" : "");
    }
    std::printf("Killed on the arguments of a run: %ld, %s; without the proven ones %s\n", total.killed_first,
                Percent(total.killed_first, total.planted).c_str(),
                Percent(total.killed_first, total.planted - Proven()).c_str());
    std::printf("Killed on some set:               %ld, %s; without the proven ones %s\n\n", total.killed,
                Percent(total.killed, total.planted).c_str(), Percent(total.killed, total.planted - Proven()).c_str());
  }

  Row Total() const {
    Row total;
    for (const auto& [name, row] : rows_) total += row;
    return total;
  }

  // Rows by name, then the sum of all rows, then the mutants that were missed.
  void Print(const std::string& title, const std::string& missed_title) {
    std::printf("%s\n%-34s %8s %8s %7s %8s %8s %7s %8s %7s\n", title.c_str(), "", "planted", "killed", "", "differ",
                "killed", "", "open", "errors");
    for (const auto& [name, row] : rows_) PrintRow(name, row);
    PrintRow("total", Total());
    std::ranges::sort(missed_);
    if (!missed_.empty()) std::printf("%s\n", missed_title.c_str());
    for (const std::string& missed : missed_) std::printf("  %s\n", missed.c_str());
    std::printf("\n");
  }

 private:
  static std::string Percent(int64_t part, int64_t whole) {
    return whole == 0 ? "-" : Format("%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  }
  static void PrintRow(const std::string& name, const Row& row) {
    std::printf("%-34s %8ld %8ld %7s %8ld %8ld %7s %8ld %7ld\n", name.c_str(), row.planted, row.killed,
                Percent(row.killed, row.planted).c_str(), row.differ, row.differ_killed,
                Percent(row.differ_killed, row.differ).c_str(), row.inconclusive, row.errors);
  }

  std::mutex mutex_;
  std::map<std::string, Row> rows_;
  std::vector<std::string> missed_;
  int64_t survivors_[kSurvivals] = {};
};

InterpretOptions Limits() { return {.max_loop_iterations = kMostTrips, .max_steps = kMostSteps}; }

bool g_list = false;
int64_t g_sample = 0;  // Flags::sample.

// ---- Passes --------------------------------------------------------------------------------------------------------

// Plants the mutation at the first instruction in a seeded order that leaves the module valid. Returns null if there is
// none. The origins in the result are the instructions of `module`.
std::unique_ptr<Module> Mutated(const Module& module, const Mutation& mutation, uint64_t seed, std::string* where,
                                int* id) {
  const auto candidates = [](const Module& of) {
    std::vector<Instruction*> live;
    for (Computation* computation : of.PostOrder()) {
      for (Instruction* inst : computation->Instructions()) {
        if (!inst->IsDead() || inst->IsRoot()) live.push_back(inst);
      }
    }
    return live;
  };
  std::unique_ptr<Module> wrong = module.Clone(true);
  std::vector<Instruction*> live = candidates(*wrong);
  const size_t first = (seed * 2654435761) % live.size();
  for (size_t k = 0; k < live.size(); ++k) {
    Instruction* const inst = live[(first + k) % live.size()];
    if (!mutation.apply(*inst)) continue;
    *where = std::string(inst->name());
    *id = inst->origin();
    if (Verify(*wrong)) return wrong;
    wrong = module.Clone(true);
    live = candidates(*wrong);
  }
  return nullptr;
}

struct JudgedOnSets {
  Verdict verdict = Verdict::kMatch;  // The first mismatch, else the verdict on the arguments of the run.
  size_t set = 0;                     // The set on which the verdict was found.
};

Result<JudgedOnSets> JudgeOnSets(const Module& module, const Module& wrong,
                                 const std::vector<std::vector<Literal>>& sets) {
  if (g_sample > 0) {
    const SampleOptions sample = {.interpret = Limits(), .work_limit = g_sample};
    return JudgedOnSets{
        TRY(CompareBySample(module, wrong, sets[0], OriginsOf::kBefore, Preserves::kExact, sample)).verdict, 0};
  }
  const BitsOptions bits = {.interpret = Limits()};
  const Verdict own = TRY(CompareByBits(module, wrong, sets[0], bits)).verdict;
  for (size_t i = 1; i < sets.size() && own != Verdict::kMismatch; ++i) {
    const auto result = CompareByBits(module, wrong, sets[i], bits);
    if (result && result->verdict == Verdict::kMismatch) return JudgedOnSets{Verdict::kMismatch, i};
  }
  return JudgedOnSets{own, 0};
}

// The arguments of a run, sets that reach more sides, then sets of other profiles.
std::vector<std::vector<Literal>> SetsFor(const Module& module, uint64_t seed, InputProfile profile, int64_t sets) {
  std::vector<std::vector<Literal>> all;
  auto own = MakeArguments(module, {.seed = seed, .profile = profile});
  if (!own) return all;
  all.push_back(std::move(*own));
  if (sets == 1) return all;
  Reach reach(module);
  if (auto run = reach.Run(all[0], Limits())) {
    const ReachSearchOptions search = {.seed = seed, .most_sets = sets - 1, .interpret = Limits()};
    for (ReachingSet& set : ArgumentsThatReach(module, std::move(*run), search, reach))
      all.push_back(std::move(set.arguments));
  }
  int64_t more = 0;
  for (const InputProfile other :
       {InputProfile::kEdge, InputProfile::kExact, InputProfile::kWide, InputProfile::kSpecial, InputProfile::kTies,
        InputProfile::kNormal, InputProfile::kFingerprint, InputProfile::kSpecial}) {
    if (std::ssize(all) >= sets) break;
    auto made = MakeArguments(module, {.seed = seed + 100 + more, .profile = other, .constrain = more < 6});
    ++more;
    if (made) all.push_back(std::move(*made));
  }
  return all;
}

void MeasurePasses(const Subject& subject, int64_t sets, Table& table) {
  static constexpr const char* kProfiles[] = {"normal", "normal", "normal", "normal",
                                              "exact",  "normal", "iota",   "special"};
  const std::string profile = kProfiles[subject.seed % std::size(kProfiles)];
  const auto module = Parse(subject.text);
  if (!module) return;
  const auto all = SetsFor(**module, subject.seed, *FromText<InputProfile>(profile), sets);
  if (all.empty()) return;
  Reach reach(**module);
  for (const std::vector<Literal>& args : all) (void)reach.Run(args, Limits(), 0);
  const Survivors survivors(**module, reach);
  const auto expected = Interpret(**module, all[0], Limits());
  for (const Mutation& mutation : Mutations()) {
    std::string where;
    int id = -1;
    const std::unique_ptr<Module> wrong = Mutated(**module, mutation, subject.seed, &where, &id);
    if (wrong == nullptr) continue;
    const auto actual = Interpret(*wrong, all[0], Limits());
    const bool differs = expected && actual && Compatible(expected->shape(), actual->shape()) &&
                         CompareBitwise(*expected, *actual).verdict == Verdict::kMismatch;
    const auto result = JudgeOnSets(**module, *wrong, all);
    const bool killed = result && result->verdict == Verdict::kMismatch;
    const bool open = result && result->verdict == Verdict::kInconclusive;
    const bool missed = g_list ? !killed : differs && result && !killed && !open;
    std::optional<Survival> why;
    if (!killed) {
      why = survivors.WhyOf(id, *wrong);
      table.AddSurvivor(*why);
    }
    table.Add(std::string(mutation.name),
              {.planted = 1,
               .killed = killed,
               .killed_first = killed && result->set == 0,
               .inconclusive = open,
               .differ = differs,
               .differ_killed = differs && killed,
               .errors = !result},
              missed ? Str(subject.name, ": ", mutation.name, " in '", where, "', inputs ", profile,
                           why ? Str(": ", *why) : "")
                     : "");
  }
}

// ---- Kernels -------------------------------------------------------------------------------------------------------

RunOptions OptionsFor(const Subject& subject, std::string_view kind) {
  RunOptions options;
  options.platform = "cpu";
  options.seed = static_cast<int64_t>(subject.seed);
  options.work_limit = 0;
  options.load.verify = VerifyLevel::kDefault;
  if (subject.seed % 4 == 3) options.input_profile = InputProfile::kSpecial;  // NaN and infinities among the inputs.
  options.libraries = kind == "library";
  // The run time has no part in a loop that is one kernel.
  if (kind == "runtime") options.pipeline.disabled.emplace_back("loops");
  return options;
}

Result<RunReport> RunOnce(const Subject& subject, RunOptions options, const std::string& inject) {
  options.inject = inject;
  Progress progress(true);
  Experiment experiment(subject.text, std::move(options), progress);
  return Run(experiment);
}

// True if the report's culprit is of the planted kind. A fault of the run time may make any step the culprit.
bool BlamesPlanted(const Culprit& culprit, std::string_view kind) {
  if (kind == "kernel") return culprit.kind == Culprit::Kind::kKernel;
  if (kind == "library") return culprit.kind == Culprit::Kind::kLibrary;
  return culprit.kind == Culprit::Kind::kKernel || culprit.kind == Culprit::Kind::kLibrary ||
         culprit.kind == Culprit::Kind::kRuntime;
}

// False if the optimized module has no suitable instruction. Then no run is necessary.
bool FitsAnywhere(const Mutation& mutation, const Module& optimized) {
  const std::unique_ptr<Module> copy = optimized.Clone(true);
  return Plant(mutation, *copy) != nullptr;
}

void MeasureKernels(const Subject& subject, int64_t, Table& table) {
  for (const gpu::FaultKind& kind : gpu::FaultKinds()) {
    const RunOptions options = OptionsFor(subject, kind.name);
    const auto sound = RunOnce(subject, options, "");
    if (!sound || sound->exit != ExitCode::kOk) continue;
    if (kind.name == "library" && (!sound->compile || sound->compile->library_calls == 0)) continue;
    std::vector<std::string_view> faults(kind.faults.begin(), kind.faults.end());
    if (kind.takes_mutations) {
      Progress progress(true);
      Experiment experiment(subject.text, options, progress);
      const auto optimized = experiment.Optimized();
      if (!optimized) continue;
      for (const Mutation& mutation : Mutations()) {
        if (FitsAnywhere(mutation, *(*optimized)->module)) faults.push_back(mutation.name);
      }
    }
    for (const std::string_view fault : faults) {
      const auto report = RunOnce(subject, options, Str(kind.name, ":*:", fault));
      if (!report && report.error().code() == "F004") continue;  // The fault cannot be planted in this module.
      const bool differs = report && report->bits != sound->bits;
      const bool killed = report && report->exit == ExitCode::kNo && BlamesPlanted(report->culprit, kind.name);
      const bool missed = differs && !killed;
      table.Add(Str(kind.name, ":", fault),
                {.planted = 1,
                 .killed = killed,
                 .inconclusive = report && report->exit != ExitCode::kNo && report->exit != ExitCode::kOk,
                 .differ = differs,
                 .differ_killed = differs && killed,
                 .errors = !report},
                missed ? Str(subject.name, ": ", kind.name, ":", fault, ": ", report->verdict,
                             report->culprit.name.empty() ? "" : " blames ", report->culprit.name)
                       : "");
    }
  }
}

// ---- Reach ---------------------------------------------------------------------------------------------------------

struct ReachRow {
  int64_t sites = 0, own = 0, own_proven = 0, all = 0, all_proven = 0;
};

// Sites by kind, with the arguments of a run and with the further sets.
class ReachTable {
 public:
  void Add(const Reach& own, const Reach& all, int64_t sets, const std::vector<std::string>& missing) {
    const std::lock_guard lock(mutex_);
    for (int kind = 0; kind < kSiteKinds; ++kind) {
      const ReachCount before = own.CountOf(static_cast<SiteKind>(kind)),
                       after = all.CountOf(static_cast<SiteKind>(kind));
      ReachRow& row = rows_[kind];
      row.sites += after.sites;
      row.own += before.reached, row.own_proven += before.proven;
      row.all += after.reached, row.all_proven += after.proven;
    }
    ++modules_, sets_ += sets;
    missing_.insert(missing_.end(), missing.begin(), missing.end());
  }

  void Print(bool list) {
    std::printf("%ld modules, %ld further sets\n%-10s %8s %28s %28s\n", modules_, sets_, "", "sites",
                "own arguments, with proofs", "further sets, with proofs");
    for (int kind = 0; kind < kSiteKinds; ++kind) {
      const ReachRow& row = rows_[kind];
      const auto percent = [&](int64_t part) {
        return row.sites == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(row.sites);
      };
      std::printf("%-10s %8ld %15.1f %% %8.1f %% %15.1f %% %8.1f %%\n",
                  std::string(ToString(static_cast<SiteKind>(kind))).c_str(), row.sites, percent(row.own),
                  percent(row.own + row.own_proven), percent(row.all), percent(row.all + row.all_proven));
    }
    std::ranges::sort(missing_);
    for (const std::string& missing : missing_) {
      if (list) std::printf("  %s\n", missing.c_str());
    }
  }

 private:
  std::mutex mutex_;
  ReachRow rows_[kSiteKinds];
  int64_t modules_ = 0, sets_ = 0;
  std::vector<std::string> missing_;
};

void MeasureReach(const Subject& subject, ReachTable& table) {
  const auto module = Parse(subject.text);
  if (!module) return;
  const auto arguments = MakeArguments(**module, {.seed = subject.seed});
  if (!arguments) return;
  const InterpretOptions interpret = Limits();
  Reach all(**module);
  auto run = all.Run(*arguments, interpret);
  if (!run) return;
  const Reach own = all;
  const std::vector<ReachingSet> sets =
      ArgumentsThatReach(**module, std::move(*run), {.seed = subject.seed, .interpret = interpret}, all);
  std::vector<std::string> missing;
  for (const Site& site : all.sites()) {
    if (site.missing() != 0)
      missing.push_back(Str(subject.name, ": ", site.kind, " '", site.inst->name(), "' part ", site.part, ", reached ",
                            site.reached, " of ", site.all()));
  }
  table.Add(own, all, std::ssize(sets), missing);
}

// ---- All -----------------------------------------------------------------------------------------------------------

std::vector<Subject> Subjects(const Flags& flags, int64_t random, std::vector<Subject> files) {
  std::vector<Subject> subjects;
  for (int64_t i = 0; i < random; ++i) {
    const GrowOptions options{.seed = flags.seed + static_cast<uint64_t>(i)};
    const std::string name = Str("seed ", options.seed);
    subjects.push_back(
        {name, std::make_shared<SourceText>(name + ".hlo", GrownText(*GrowModule(options), options)), options.seed});
  }
  if (random < 0) return subjects;
  // The modules on the command line take longest, so they run first.
  files.insert(files.end(), subjects.begin(), subjects.end());
  return files;
}

double Measure(const std::vector<Subject>& subjects, int64_t sets, void (*measure)(const Subject&, int64_t, Table&),
               Table& table) {
  const auto start = std::chrono::steady_clock::now();
  ParallelFor(std::ssize(subjects), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) measure(subjects[i], sets, table);
  });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

bool IsAbove(const char* what, double rate, double least) {
  std::printf("%s: %.1f %%, floor %.1f %%%s\n", what, rate, least, rate < least ? ": too low" : "");
  return rate >= least;
}

template <class T>
bool Take(std::string_view flag, std::string_view name, T* value) {
  if (!flag.starts_with(name) || flag.size() <= name.size() || flag[name.size()] != '=') return false;
  const std::string_view text = flag.substr(name.size() + 1);
  return std::from_chars(text.data(), text.data() + text.size(), *value).ptr == text.data() + text.size();
}

std::optional<Flags> ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--reach") {
      flags.reach = true;
    } else if (flag == "--list") {
      flags.list = true;
    } else if (!flag.starts_with("--")) {
      flags.files.emplace_back(flag);
    } else if (!Take(flag, "--seed", &flags.seed) && !Take(flag, "--passes", &flags.passes) &&
               !Take(flag, "--sets", &flags.sets) && !Take(flag, "--sample", &flags.sample) &&
               !Take(flag, "--kernels", &flags.kernels) && !Take(flag, "--least_passes", &flags.least_passes) &&
               !Take(flag, "--least_own", &flags.least_own) && !Take(flag, "--least_kernels", &flags.least_kernels)) {
      std::fprintf(stderr, "mutants: bad flag '%s'\n", argv[i]);
      return std::nullopt;
    }
  }
  return flags;
}

int Main(const Flags& flags) {
  std::vector<Subject> files;
  for (const std::string& path : flags.files) {
    if (auto text = ReadSource(path)) files.push_back({path, std::move(*text)});
    else std::printf("%s is left out: it cannot be read\n", path.c_str());
  }
  std::printf("random modules: %ld for passes, %ld for kernels, from seed %lu; named modules: %zu; threads: %d\n\n",
              flags.passes, flags.kernels, flags.seed, files.size(), Threads());
  if (flags.reach) {
    ReachTable reach;
    const std::vector<Subject> subjects = Subjects(flags, flags.passes, files);
    ParallelFor(std::ssize(subjects), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) MeasureReach(subjects[i], reach);
    });
    reach.Print(flags.list);
    return 0;
  }
  g_list = flags.list;
  g_sample = flags.sample;
  Table passes, kernels;
  const double passes_seconds = Measure(Subjects(flags, flags.passes, files), flags.sets, MeasurePasses, passes);
  passes.Print(Format("Passes, %.0f s", passes_seconds), "MATCH, though the output bits differ:");
  passes.PrintSurvivors();
  const double kernels_seconds = Measure(Subjects(flags, flags.kernels, files), flags.sets, MeasureKernels, kernels);
  kernels.Print(Format("Kernels, %.0f s", kernels_seconds), "Not killed, though the output bits differ:");
  const Row of_passes = passes.Total(), of_kernels = kernels.Total();
  const auto rate = [](int64_t part, int64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  };
  const bool passes_hold =
      IsAbove("killed mutants of passes", rate(of_passes.killed, of_passes.planted), flags.least_passes);
  const bool own_hold = IsAbove("killed mutants of passes on the arguments of a run",
                                rate(of_passes.killed_first, of_passes.planted), flags.least_own);
  const bool kernels_hold = IsAbove("killed mutants of kernels that change output bits",
                                    rate(of_kernels.differ_killed, of_kernels.differ), flags.least_kernels);
  return passes_hold && own_hold && kernels_hold ? 0 : 1;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) {
  const std::optional<hlo::Flags> flags = hlo::ParseFlags(argc, argv);
  return flags ? hlo::Main(*flags) : 2;
}
