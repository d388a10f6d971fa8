#include "gpu/runtime/tuning/race.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "base/parallel.h"
#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "gpu/libraries/open.h"
#include "gpu/plan/planner.h"
#include "gpu/plan/variants.h"
#include "gpu/runtime/planned.h"
#include "gpu/runtime/program.h"
#include "gpu/runtime/tuning/choice.h"
#include "gpu/runtime/tuning/guarded_device.h"
#include "gpu/runtime/tuning/step.h"
#include "gpu/runtime/tuning/turns.h"
#include "ir/fusion.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostVariants = 6;
constexpr int kMostOfLibrary = 4, kMostOfLibraryOfGpu = 8;
constexpr size_t kMostVariantsOfOwn = 3;

constexpr int kMostSamples = 10, kLeastSamples = 3;
constexpr double kSampleMicroseconds = 20'000;
// Numbers of bindings, and of rounds for each, in the last comparison of the default plan with a faster candidate.
constexpr int kBindings = 4;
constexpr int kMostRounds = 5, kLeastRounds = 3;
constexpr double kRoundsMicroseconds = 60'000;
// Factor by which sampling may last longer if other processes take the cores.
constexpr int kPatience = 4;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

double MedianOf(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double SpreadOf(std::vector<double> values) {
  std::ranges::sort(values);
  return values.empty() ? 0 : (values[values.size() * 3 / 4] - values[values.size() / 4]) / 2;
}

// Number of times that the process lost a core.
int64_t Interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

struct Sample {
  double microseconds;
  bool is_interrupted;
  double spent;  // Microseconds, including the time to empty the caches.
};
int64_t CleanOf(const std::vector<Sample>& samples) {
  return std::ranges::count(samples, false, &Sample::is_interrupted);
}
// With too few uninterrupted samples the fastest counts, because it was disturbed least.
void TakeTimes(const std::vector<Sample>& samples, Candidate* candidate) {
  const bool clean = CleanOf(samples) >= kLeastSamples;
  std::vector<double> times;
  for (const Sample& sample : samples) {
    if (!clean || !sample.is_interrupted) times.push_back(sample.microseconds);
  }
  candidate->microseconds = std::max(clean ? MedianOf(times) : std::ranges::min(times), 1e-3);
  candidate->spread = SpreadOf(times);
  candidate->samples = std::ssize(times);
}

FusionPlan AsOurs(FusionPlan attention) {
  attention.kernels.front().library = kOwnLibrary;
  return attention;
}

// The plan that Plan chooses without measurements.
Result<FusionPlan> ChosenFor(const Module& alone, Device& device, const CompileOptions& compile) {
  const auto planned = TRY(Plan(alone, device, compile));
  const PlannedStep& step = planned->steps().back();
  if (step.why_not) FAIL(*step.why_not);
  if (step.plan.kernels.empty()) FAIL(Unsupported("U103", "the step is neither a kernel nor a library call"));
  return IsOwnAttention(step.plan) && !device.IsHost() ? AsOurs(step.plan) : step.plan;
}

// Drops the parts of a plan that autotuning does not choose.
FusionPlan Comparable(FusionPlan plan, const Device& device, const CompileOptions& compile) {
  plan.target = compile.target->name;
  plan.slow.clear();
  plan.refused.clear();
  // oneDNN's workspace depends on the number of threads.
  for (KernelPlan& kernel : plan.kernels) {
    if (device.IsHost()) kernel.workspace = 0;
  }
  return plan;
}

bool Emits(const Instruction& fusion, const FusionPlan& plan) {
  return !IsOwnKernel(plan.kernels.front().kind) || EmitFusion(fusion, plan).has_value();
}

class Race {
 public:
  Race(const Module& alone, Device& device, const CompileOptions& compile, const RaceOptions& options,
       const TuningHooks& hooks)
      : alone_(alone),
        device_(device),
        guarded_(device, options.level >= 4),
        compile_(compile),
        options_(options),
        hooks_(hooks) {}

  Result<RaceResult> Run() {
    result_.candidates = TRY(CandidatesFor(alone_, device_, compile_));
    if (options_.is_denied) {
      for (Candidate& candidate : result_.candidates) {
        if (options_.is_denied(candidate)) candidate.failure = "the denylist excludes it";
      }
    }
    if (result_.candidates.size() < 2 || IsLate()) return Ended();
    CompileAll();
    if (IsLate()) return Ended();
    arguments_ = TRY(ArgumentsFor(0));
    for (const bool may_spill : {false, true}) {
      if (may_spill && !DropThoseThatSpill()) break;
      for (size_t i = 0; i < result_.candidates.size(); ++i) {
        if (may_spill && result_.candidates[i].spilled_bytes == 0) continue;
        if (IsLate()) return Ended();
        TRY(Try(i, may_spill));
      }
    }
    std::vector<double> times;
    for (const Candidate& candidate : result_.candidates)
      times.push_back(candidate.failure.empty() ? candidate.microseconds : 0);
    result_.winner = WinnerOf(times);
    if (result_.winner > 0 && times[0] > 0 && !TRY(BeatsFirst(result_.winner))) result_.winner = 0;
    return std::move(result_);
  }

 private:
  bool IsLate() const { return Clock::now() >= options_.deadline; }

  RaceResult Ended() {
    result_.out_of_time = IsLate();
    // A single candidate needs no measurement.
    if (result_.candidates.size() == 1 && result_.candidates[0].failure.empty() && !result_.out_of_time)
      result_.winner = 0;
    return std::move(result_);
  }

  Result<std::shared_ptr<const Program>> Compiled(const FusionPlan& plan) const {
    const std::unique_ptr<Module> module = alone_.Clone();
    FusionPlan own = plan;
    own.target = compile_.target->name;
    SetPlan(StepOf(*module), own);
    return CompileProgram(TRY(gpu::Plan(*module, device_, compile_)), device_, compile_);
  }

  void CompileAll() {
    programs_.resize(result_.candidates.size());
    ParallelFor(std::ssize(programs_), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Candidate& candidate = result_.candidates[i];
        if (!candidate.failure.empty() || IsLate()) continue;
        auto program = Compiled(candidate.plan);
        if (program) programs_[i] = std::move(*program);
        else candidate.failure = program.error().message();
      }
    });
  }

  Result<std::vector<Literal>> ArgumentsFor(uint64_t seed) const {
    if (options_.level >= 2) return hooks_.arguments(alone_, seed);
    std::vector<Literal> zeros;
    for (const Instruction* parameter : alone_.entry().parameters()) zeros.emplace_back(parameter->shape());
    return zeros;
  }

  // Whether candidates that spill registers may run, because no other could be measured. Otherwise excludes them.
  bool DropThoseThatSpill() {
    const bool has_other =
        std::ranges::any_of(result_.candidates, [](const Candidate& each) { return each.samples > 0; });
    for (Candidate& candidate : result_.candidates) {
      if (has_other && candidate.spilled_bytes > 0 && candidate.failure.empty())
        candidate.failure = Str("spills: each thread keeps ", candidate.spilled_bytes, " bytes of registers in memory");
    }
    return !has_other;
  }

  Status Try(size_t i, bool may_spill) {
    Candidate& candidate = result_.candidates[i];
    if (!candidate.failure.empty() || programs_[i] == nullptr) return {};
    guarded_.TakeSpilledBytes();  // Discards the count of a candidate that did not load.
    auto executable = Started(i);
    if (!executable) {
      candidate.failure = executable.error().message();
      return {};
    }
    candidate.spilled_bytes = guarded_.TakeSpilledBytes();
    if (candidate.spilled_bytes > 0 && !may_spill) return {};
    const bool spoiled = options_.plant_wrong && i + 1 == result_.candidates.size();
    if (options_.level >= 4) TRY(Check(**executable, candidate, spoiled));
    if (!candidate.failure.empty()) return {};
    std::vector<Sample> samples;
    double all = 0, spent = 0;
    const auto goes_on = [&](int64_t count, int patience) {
      return count < kLeastSamples || (count < kMostSamples && all < patience * kSampleMicroseconds);
    };
    while (goes_on(std::ssize(samples), 1) ||
           (spent < kPatience * kSampleMicroseconds && goes_on(CleanOf(samples), kPatience))) {
      samples.push_back(TRY(Once(**executable)));
      all += samples.back().microseconds;
      spent += samples.back().spent;
      if (IsLate()) break;
    }
    TakeTimes(samples, &candidate);
    if (spoiled) candidate.microseconds = 1e-3;
    result_.planted = result_.planted || spoiled;
    return {};
  }

  // Binds a candidate and runs it twice to warm up.
  Result<std::unique_ptr<Executable>> Started(size_t i) {
    auto executable = TRY(BindProgram(programs_[i], guarded_));
    // An earlier candidate may have overwritten the arguments.
    TRY(executable->Bind(arguments_));
    TRY(executable->Execute({.record = false}));
    TRY(executable->Execute({.record = false}));
    return executable;
  }

  Result<Sample> Once(Executable& executable) {
    TRY(executable.MakeReady());
    const Clock::time_point before = Clock::now();
    if (options_.is_cold && result_.why_warm.empty()) {
      if (const Status emptied = guarded_.EmptyCaches(); !emptied) result_.why_warm = emptied.error().message();
    }
    std::optional<double> milliseconds;
    const int64_t interruptions = Interruptions();
    const Clock::time_point start = Clock::now();
    TRY(executable.Execute({.record = false, .device_ms = &milliseconds}));
    const double microseconds = MicrosecondsSince(start);
    const bool is_interrupted = !milliseconds && Interruptions() != interruptions;
    return Sample{milliseconds ? *milliseconds * 1000 : microseconds, is_interrupted, MicrosecondsSince(before)};
  }

  Status Check(Executable& executable, Candidate& candidate, bool spoiled) {
    const auto out = [&](std::string why) {
      candidate.failure = std::move(why);
      candidate.is_wrong = true;
    };
    if (const std::string violation = TRY(guarded_.Violation()); !violation.empty()) {
      out(Str("it wrote ", violation));
      return {};
    }
    Literal actual = TRY(executable.Output());
    if (spoiled) Spoil(actual);
    if (first_ && SameBits(*first_, actual)) {
      candidate.check = first_check_;
      return {};
    }
    const StepInfo* const step = StepIn(executable);
    std::vector<Literal> inputs;
    for (const Instruction* operand : step->instruction->operands())
      inputs.push_back(arguments_[operand->parameter_number()].WithBools());
    const TuningHooks::Answer answer = TRY(hooks_.judge(*step, inputs, actual, first_ ? &*first_ : nullptr));
    candidate.check = answer.check;
    if (!answer.wrong.empty()) {
      out(answer.wrong);
    } else if (!first_) {
      first_ = std::move(actual);
      first_check_ = answer.check;
    }
    return {};
  }

  static const StepInfo* StepIn(const Executable& executable) {
    return &*std::ranges::find_if(executable.steps(), [&](const StepInfo& step) {
      return step.instruction == &executable.module().entry().root();
    });
  }

  static void Spoil(Literal& value) {
    Literal* array = &value;
    while (!array->shape().IsArray()) array = &array->mutable_elements().front();
    const int64_t at = array->shape().NumElements() / 2;
    for (int64_t byte = 0; byte < ByteWidth(array->shape().type()); ++byte)
      array->mutable_raw()[at * ByteWidth(array->shape().type()) + byte] ^= std::byte{0x15};
  }

  static bool SameBits(const Literal& a, const Literal& b) {
    if (!a.shape().IsArray())
      return a.elements().size() == b.elements().size() && std::ranges::equal(a.elements(), b.elements(), SameBits);
    return a.byte_size() == b.byte_size() && std::equal(a.raw(), a.raw() + a.byte_size(), b.raw());
  }

  using Turns = std::vector<Sample>;

  // The default plan and the challenger run alternately, so that a busy machine slows down both. Addresses, and thus
  // times, depend on the order of binding, so the challenger must win with several bindings.
  Result<bool> BeatsFirst(int challenger) {
    std::array<Turns, 2> turns;
    int won = 0;
    for (int binding = 0; binding < kBindings; ++binding) {
      std::array<std::unique_ptr<Executable>, 2> programs;
      const int first = binding % 2;
      for (const int which : {first, 1 - first}) programs[which] = TRY(Started(which == 0 ? 0 : challenger));
      const std::array<Turns, 2> bound = TRY(TakeTurns(programs));
      std::array<Candidate, 2> means;
      for (int which = 0; which < 2; ++which) {
        TakeTimes(bound[which], &means[which]);
        std::ranges::copy(bound[which], std::back_inserter(turns[which]));
      }
      won += means[1].microseconds < means[0].microseconds;
    }
    std::array<std::vector<double>, 2> times;
    const bool clean = CleanRounds(turns) >= kBindings * kLeastRounds;
    for (size_t i = 0; i < turns[0].size(); ++i) {
      if (clean && (turns[0][i].is_interrupted || turns[1][i].is_interrupted)) continue;
      for (int which = 0; which < 2; ++which) times[which].push_back(turns[which][i].microseconds);
    }
    const bool planted = result_.candidates[challenger].microseconds <= 1e-3;
    TakeTimes(turns[0], &result_.candidates[0]);
    if (!planted) TakeTimes(turns[1], &result_.candidates[challenger]);
    return planted || (won == kBindings && IsFaster(times[0], times[1]));
  }

  static int64_t CleanRounds(const std::array<Turns, 2>& turns) {
    int64_t clean = 0;
    for (size_t i = 0; i < turns[0].size(); ++i) clean += !turns[0][i].is_interrupted && !turns[1][i].is_interrupted;
    return clean;
  }

  Result<std::array<Turns, 2>> TakeTurns(const std::array<std::unique_ptr<Executable>, 2>& programs) {
    std::array<Turns, 2> turns;
    double all = 0, spent = 0;
    const auto goes_on = [&](int64_t count, int patience) {
      return count < kLeastRounds || (count < kMostRounds && all < patience * kRoundsMicroseconds);
    };
    while (goes_on(std::ssize(turns[0]), 1) ||
           (spent < kPatience * kRoundsMicroseconds && goes_on(CleanRounds(turns), kPatience))) {
      for (int which = 0; which < 2; ++which) {
        turns[which].push_back(TRY(Once(*programs[which])));
        all += turns[which].back().microseconds;
        spent += turns[which].back().spent;
      }
    }
    return turns;
  }

  const Module& alone_;
  Device& device_;
  GuardedDevice guarded_;
  const CompileOptions& compile_;
  const RaceOptions& options_;
  const TuningHooks& hooks_;
  RaceResult result_;
  std::vector<std::shared_ptr<const Program>> programs_;
  std::vector<Literal> arguments_;
  std::optional<Literal> first_;
  std::string first_check_;
};

}  // namespace

int WinnerOf(std::span<const double> microseconds) {
  double least = 0;
  for (const double time : microseconds) {
    if (time > 0 && (least == 0 || time < least)) least = time;
  }
  for (size_t i = 0; i < microseconds.size(); ++i) {
    if (microseconds[i] > 0 && microseconds[i] * (1 - kTie) <= least) return static_cast<int>(i);
  }
  return -1;
}

bool IsFaster(std::span<const double> first, std::span<const double> second) {
  std::vector<double> ratios;
  for (size_t i = 0; i < std::min(first.size(), second.size()); ++i) ratios.push_back(second[i] / first[i]);
  const auto wins = std::ranges::count_if(ratios, [](double ratio) { return ratio < 1; });
  return !ratios.empty() && MedianOf(ratios) < 1 - kTie && 3 * wins >= 2 * std::ssize(ratios) &&
         std::ranges::min(second) < (1 - kTie) * std::ranges::min(first);
}

Result<std::string> WordsWithoutMeasuring(const Module& alone, Device& device, const CompileOptions& compile) {
  const Instruction& fusion = StepOf(alone);
  return ChoiceText(Comparable(TRY(ChosenFor(alone, device, compile)), device, compile), fusion);
}

Result<std::vector<Candidate>> CandidatesFor(const Module& alone, Device& device, const CompileOptions& compile) {
  const Instruction& fusion = StepOf(alone);
  std::vector<Candidate> candidates;
  const auto add = [&](FusionPlan plan) {
    plan = Comparable(std::move(plan), device, compile);
    const auto is_it = [&](const Candidate& each) { return each.plan == plan; };
    if (std::ranges::any_of(candidates, is_it) || (!candidates.empty() && !Emits(fusion, plan))) return false;
    candidates.push_back({.plan = plan, .words = ChoiceText(plan, fusion)});
    return true;
  };
  const auto add_some = [&](const std::vector<FusionPlan>& plans, size_t most) {
    size_t added = 0;
    for (const FusionPlan& plan : plans) {
      if (added < most && add(plan)) ++added;
    }
  };
  const FusionPlan chosen = TRY(ChosenFor(alone, device, compile));
  add(chosen);
  if (chosen.kernels.front().kind == KernelKind::kFill) return candidates;
  const bool on_host = device.IsHost();
  const DeviceDescription described = on_host ? device.Describe() : *compile.target;
  if (IsLibraryCall(fusion) && compile.libraries) {
    const LibraryOptions options{.search = compile.library_path, .allow_tf32 = compile.allow_tf32};
    const KernelKind kind = LibraryOf(fusion) == "gemm" ? KernelKind::kGemm : KernelKind::kConvolution;
    const int most = on_host ? kMostOfLibrary : kMostOfLibraryOfGpu;
    for (KernelPlan& plan : TRY(LibraryPlans(fusion, kind, device, options, most)))
      add({.target = "", .kernels = {std::move(plan)}});
  }
  if (const auto own = PlanKernels(fusion, described); !on_host && compile.libraries && own && IsOwnAttention(*own)) {
    const LibraryOptions options{.search = compile.library_path, .allow_tf32 = compile.allow_tf32};
    add(AsOurs(*own));
    for (KernelPlan& plan :
         TRY(LibraryPlans(fusion, KernelKind::kLibraryAttention, device, options, kMostOfLibraryOfGpu)))
      add({.target = "", .kernels = {std::move(plan)}});
    return candidates;
  }
  if (IsOwnKernel(chosen.kernels.front().kind)) {
    add_some(VariantsOf(fusion, chosen, described), kMostVariants);
    return candidates;
  }
  // Our kernel is a candidate for a library's product, too.
  const auto own = PlanKernels(fusion, described);
  if (!own || own->kernels.empty() || own->kernels.front().kind != KernelKind::kContraction) return candidates;
  add(*own);
  add_some(VariantsOf(fusion, *own, described), kMostVariantsOfOwn);
  return candidates;
}

Result<RaceResult> RunRace(const Module& alone, Device& device, const CompileOptions& compile,
                           const RaceOptions& options, const TuningHooks& hooks) {
  return Race(alone, device, compile, options, hooks).Run();
}

}  // namespace hlo::gpu
