#include "driver/run/isolate.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>

#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/profile/profile.h"
#include "driver/run/experiment.h"
#include "driver/run/reproducer.h"
#include "driver/run/run_check.h"
#include "driver/run/step_alone.h"
#include "driver/run/verdict.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/prepare.h"
#include "interp/interpreter.h"
#include "ir/instruction.h"
#include "ir/module.h"
#include "judge/bounds/slice.h"

namespace hlo {
namespace {

void AddSteps(const Computation& computation, std::set<const Computation*>* seen,
              std::vector<const Instruction*>* steps) {
  if (!seen->insert(&computation).second) return;
  for (const Instruction* inst : gpu::RunOrder(computation)) {
    if (inst->Is(kControl)) {
      for (const Computation* callee : CalledComputations(*inst)) AddSteps(*callee, seen, steps);
    } else if (gpu::IsStep(*inst)) {
      steps->push_back(inst);
    }
  }
}

std::set<const Computation*> InLoops(const Module& module) {
  std::set<const Computation*> in_loops;
  std::vector<Computation*> order = module.PostOrder();
  std::ranges::reverse(order);  // Callers first.
  for (const Computation* computation : order) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->Is(Opcode::kWhile) && !in_loops.contains(computation)) continue;
      for (const Computation* callee : CalledComputations(*inst)) in_loops.insert(callee);
    }
  }
  return in_loops;
}

bool HasOpcode(const Instruction& inst, const Pattern& pattern) {
  if (pattern.FoundIn(ToString(inst.opcode()))) return true;
  if (!inst.Is(Opcode::kFusion)) return false;
  return std::ranges::any_of(inst.attrs<FusionAttrs>().calls->Instructions(),
                             [&](const Instruction* inner) { return HasOpcode(*inner, pattern); });
}

bool IsWanted(const Instruction& inst, const IsolateOptions& options) {
  return (!options.filter_by_name || options.filter_by_name->FoundIn(inst.name())) &&
         (!options.skip_by_name || !options.skip_by_name->FoundIn(inst.name())) &&
         (!options.filter_by_opcode || HasOpcode(inst, *options.filter_by_opcode)) &&
         (!options.skip_by_opcode || !HasOpcode(inst, *options.skip_by_opcode));
}

std::vector<std::string> FlagsOfPart(std::vector<std::string> flags, std::string_view name) {
  std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("--filter_by_name"); });
  flags.push_back(Str("--filter_by_name=^", name, "$"));
  return flags;
}

class Isolator {
 public:
  Isolator(Experiment& whole, const IsolateOptions& options) : whole_(whole), options_(options) {}

  Result<Isolation> Run() {
    TRY(Collect());
    whole_.progress().Stage("judging each kernel alone");
    switch (options_.inputs) {
      case IsolateInputs::kGolden: TRY(OnGolden()); break;
      case IsolateInputs::kActual: TRY(OnActual()); break;
      case IsolateInputs::kRandom:
        for (size_t i = 0; i < steps_.size(); ++i) TRY(Judge(i, nullptr));
    }
    return std::move(found_);
  }

 private:
  Result<const Module*> Program() {
    if (options_.instructions) return TRY(whole_.Input())->module.get();
    return &TRY(whole_.Compiled())->executable->module();
  }

  Status Collect() {
    const Platform& where = *TRY(whole_.ResolvedPlatform());
    if (where.device == nullptr)
      FAIL(UsageError("F004", "--isolate runs kernels, but this module runs in the interpreter")
               .Hint("--platform=cpu compiles it to kernels"));
    const InputModule& input = *TRY(whole_.Input());
    found_.path = whole_.path() == "-" ? "<stdin>" : whole_.path();
    found_.module_name = input.module->name();
    found_.platform = where.device->name();
    found_.device = where.device->description();
    found_.instructions = options_.instructions;
    found_.notes = where.notes;
    if (!whole_.options().inject.empty()) found_.planted = whole_.options().inject;
    else if (!whole_.options().pipeline.inject.empty()) found_.planted = "pass:" + whole_.options().pipeline.inject;
    std::vector<const Instruction*> steps;
    std::map<int, std::string> kinds;
    if (options_.instructions) {
      std::set<const Computation*> seen;
      AddSteps(input.module->entry(), &seen, &steps);
    } else {
      for (const gpu::StepInfo& step : TRY(whole_.Compiled())->executable->steps()) {
        steps.push_back(step.instruction);
        kinds[step.instruction->id()] = KindOf(step);
        if (step.kind == gpu::StepKind::kHostCall) interpreted_.insert(step.instruction->id());
      }
    }
    const std::set<const Computation*> in_loops = InLoops(*TRY(Program()));
    const SourcePlaces places(*TRY(Program()));
    std::vector<shadow::Work> work;
    for (const Instruction* step : steps) {
      if (!IsWanted(*step, options_)) {
        ++found_.left_out;
        continue;
      }
      part_of_[step->id()] = steps_.size();
      found_.parts.push_back({.number = std::ssize(steps_) + found_.left_out + 1,
                              .name = std::string(step->name()),
                              .kind = options_.instructions ? std::string(ToString(step->opcode())) : kinds[step->id()],
                              .shape = Str(step->shape()),
                              .source = SourceOf(*step, places)});
      has_loops_ |= in_loops.contains(&step->computation());
      steps_.push_back(step);
      work.push_back({JudgingSteps(*step)});
    }
    if (steps_.empty() && !steps.empty())
      FAIL(UsageError("F008", Str("no ", options_.instructions ? "instruction" : "kernel or library call",
                                  " matches --filter_by_* and --skip_by_*")));
    const int64_t given = whole_.options().work_limit;
    const int64_t limit = given >= 0 ? given : options_.instructions ? kWorkLimit : TRY(whole_.Judging()).work_limit;
    work_limit_ = limit == 0 ? 0 : shadow::LimitOfEach(std::move(work), limit);
    return {};
  }

  // Judges parts on values of the interpreter, which are kept until their last reader is judged.
  Status OnGolden() {
    const Module& module = *TRY(Program());
    std::map<int, int64_t> readers;
    for (const Instruction* step : steps_) {
      for (const Instruction* operand : step->operands()) ++readers[operand->id()];
    }
    std::map<int, Literal> values;
    std::set<int> done;
    Status status;
    InterpretOptions interpret = TRY(whole_.Interpreter());
    interpret.on_value = [&](const Instruction& inst, const Literal& value) {
      const auto part = part_of_.find(inst.id());
      if (status && part != part_of_.end() && done.insert(inst.id()).second) {
        std::vector<Literal> read;
        for (const Instruction* operand : inst.operands())
          read.push_back(operand->Is(Opcode::kConstant) ? operand->literal() : values[operand->id()]);
        status = Judge(part->second, &read);
        for (const Instruction* operand : inst.operands()) {
          if (--readers[operand->id()] == 0) values.erase(operand->id());
        }
      }
      if (const auto reader = readers.find(inst.id()); reader != readers.end() && reader->second > 0)
        values[inst.id()] = value;
    };
    const RunArguments& arguments = *TRY(whole_.Arguments());
    found_.inputs = Str("values of the interpreter, on the arguments ", arguments.description, TripsText());
    TRY(Interpret(module, arguments.values, interpret));
    return status;
  }

  Status OnActual() {
    std::set<int> done;
    const gpu::Observer look = {.wants =
                                    [&](const Instruction& inst, std::span<const gpu::LoopStep>) {
                                      return part_of_.contains(inst.id()) && !done.contains(inst.id());
                                    },
                                .observe = [&](const Instruction& inst, std::span<const gpu::LoopStep>,
                                               std::span<const Literal> inputs, const Literal&) -> Status {
                                  done.insert(inst.id());
                                  const std::vector<Literal> read = KeptInputs(inputs);
                                  return Judge(part_of_.at(inst.id()), &read);
                                }};
    gpu::Executable& executable = *TRY(whole_.Placed());
    found_.inputs = Str("values of the run, on the arguments ", TRY(whole_.Arguments())->description, TripsText());
    return executable.Execute({.observer = &look});
  }

  std::string TripsText() const {
    return has_loops_ ? "; of each loop only the first trip is judged (without --isolate, ten trips)" : "";
  }

  // Parts that differ only in names are compiled once, unless a fault is planted, which applies to one name.
  Result<Experiment*> Alone(const Instruction& step, std::unique_ptr<Module> module) {
    const RunOptions& run = whole_.options();
    const std::string key = run.inject.empty() ? Str(Fingerprint(*module)) : std::string(step.name());
    if (const auto known = alone_.find(key); known != alone_.end()) return &known->second;
    const auto make = [&](const std::string& inject) {
      return whole_.Of(module->Clone(), [&](RunOptions& options) {
        options.inject = inject;
        options.work_limit = work_limit_;
        options.reproducer = {};
        options.args.clear();
        options.arg.clear();
        options.reference_platform = ReferencePlatform::kNone;
        options.compare_mode = options_.instructions ? CompareMode::kAuto : CompareMode::kLocal;
        options.first_divergence = false;
        options.scopes = {};  // The part is one instruction, or was compiled with the scopes.
        if (options_.instructions) return;
        options.pipeline = {.passes = "", .device = run.pipeline.device};
      });
    };
    Experiment experiment = make(run.inject);
    // The planted fault may be meant for another part.
    if (!run.inject.empty() && !experiment.Compiled()) experiment = make("");
    return &alone_.emplace(key, std::move(experiment)).first->second;
  }

  // `read` is null if the inputs are generated.
  Status Judge(size_t number, const std::vector<Literal>* read) {
    const Instruction& step = *steps_[number];
    IsolatedPart& part = found_.parts[number];
    whole_.progress().Step(++judged_, std::ssize(steps_), "alone");
    if (interpreted_.contains(step.id())) {
      part.state = IsolatedState::kInterpreted;
      return {};
    }
    std::unique_ptr<Module> module = ExtractStep(step);
    std::vector<Literal> arguments;
    if (read != nullptr) arguments = ArgumentsOf(*module, step, *read);
    Experiment& alone = *TRY(Alone(step, std::move(module)));
    if (read != nullptr) alone.Take({.values = std::move(arguments)});
    else found_.inputs = Str("made up, ", whole_.options().input_profile, ", seed ", whole_.options().seed);
    part.report.path = found_.path;
    if (const Status ran = JudgeAlone(alone, part); !ran) {
      // An interrupt or a failing device ends the whole command.
      if (ran.error().exit == ExitCode::kInterrupted || ran.error().exit == ExitCode::kDevice) FAIL(ran.error());
      part.state = IsolatedState::kNotRun;
      part.why = Str("[", ran.error().code(), "] ", ran.error().message());
    }
    alone.Displace();
    return {};
  }

  Status JudgeAlone(Experiment& alone, IsolatedPart& part) {
    RunReport& report = part.report;
    report.compile = TRY(alone.Compiled())->executable->report();
    report.passes = TRY(alone.Optimized())->passes;
    found_.planted_parts += report.compile->planted + report.passes.planted > 0;
    const std::span<const gpu::StepInfo> steps = TRY(alone.Compiled())->executable->steps();
    report.fallback = {.names = report.compile->host_calls, .steps = std::ssize(steps)};
    TRY(JudgeByParts(alone, &report));
    part.state = report.exit == ExitCode::kNo             ? IsolatedState::kWrong
                 : report.fallback.Everything()           ? IsolatedState::kInterpreted
                 : report.exit == ExitCode::kInconclusive ? IsolatedState::kUndecided
                 : steps.empty()                          ? IsolatedState::kNothing
                                                          : IsolatedState::kRight;
    if (part.state == IsolatedState::kUndecided) part.why = report.verdict;
    if (part.state != IsolatedState::kWrong) return {};
    // The flags of this experiment select only the part.
    Experiment shown = alone.Of(TRY(alone.Input())->module->Clone(), [&](RunOptions& options) {
      options.flags = FlagsOfPart(whole_.options().flags, part.name);
      options.reproducer = whole_.options().reproducer;
    });
    shown.Take(*TRY(alone.Arguments()));
    return ReportReproducer(shown, &report);
  }

  Experiment& whole_;
  const IsolateOptions& options_;
  Isolation found_;
  std::vector<const Instruction*> steps_;
  std::map<int, size_t> part_of_;  // Keyed by the id of the step.
  std::set<int> interpreted_;
  std::map<std::string, Experiment> alone_;
  bool has_loops_ = false;
  int64_t work_limit_ = 0, judged_ = 0;
};

}  // namespace

int64_t Isolation::Count(IsolatedState state) const { return std::ranges::count(parts, state, &IsolatedPart::state); }

Verdict Isolation::verdict() const {
  if (Count(IsolatedState::kWrong) > 0) return Verdict::kMismatch;
  for (const IsolatedState open : {IsolatedState::kUndecided, IsolatedState::kNotRun, IsolatedState::kNotReached}) {
    if (Count(open) > 0) return Verdict::kInconclusive;
  }
  return Verdict::kMatch;
}

Result<Isolation> Isolate(const std::string& path, const RunOptions& run, const IsolateOptions& options,
                          Progress& progress) {
  Experiment whole(path, run, progress);
  TRY(MakeReproducerDirectory(run.reproducer));
  return Isolator(whole, options).Run();
}

}  // namespace hlo
