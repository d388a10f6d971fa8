// Executes computations with an explicit stack of frames.
#include "interp/interpreter.h"

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <new>

#include "base/check.h"
#include "base/crash.h"
#include "base/text.h"
#include "interp/devices/rendezvous.h"
#include "interp/dynamic.h"
#include "interp/evaluation.h"
#include "interp/nan_bits.h"
#include "interp/program.h"
#include "ir/analysis/taken_branch.h"
#include "ir/module.h"

namespace hlo {

int64_t DefaultMemoryLimit() {
  // Read once, because small evaluations need it very often.
  static const int64_t limit = [] {
    int64_t bytes = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
    int64_t group = 0;
    if (std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0) bytes = std::min(bytes, group);
    return bytes / 4 * 3;
  }();
  return limit;
}

namespace {

// The machine refused memory that --memory_limit allows.
Error OutOfMemory(std::string_view place) {
  return LimitError("R004", Str("out of memory ", place, ": the machine has less free memory than the run needs"));
}

struct Frame {
  const Program* program;
  std::vector<Literal> slots;
  size_t next = 0;  // The next step, or the step that waits for the frame above.
  // State and iteration of the running loop. The frame above may be its condition.
  Literal state;
  int64_t iteration = 0;
  bool in_condition = false;
};

class Runner {
 public:
  // `rendezvous` is null if one of several devices runs alone, and within an instruction.
  Runner(const InterpretOptions& options, int nesting, Programs& programs, Rendezvous* rendezvous = nullptr,
         int device = 0, std::optional<DevicePlace> place = {})
      : options_(options),
        programs_(programs),
        session_(options, nesting, place),
        rendezvous_(rendezvous),
        device_(device) {}

  Status Start(const Computation& computation, std::span<const Literal> args) {
    std::vector<Literal> compact(args.begin(), args.end());
    for (Literal& arg : compact) arg = Compact(std::move(arg));
    return Push(computation, compact);
  }

  // Returns nullopt if the device waits for others.
  Result<std::optional<Literal>> Run() {
    while (!waits_) {
      Frame& frame = frames_.back();
      if (frame.next == frame.program->steps.size()) {
        Literal result = std::move(frame.slots[frame.program->root]);
        const bool dynamic = frame.program->dynamic_root;
        frames_.pop_back();
        if (frames_.empty()) return result;
        if (dynamic) TRY(CheckResult(result));
        TRY(Receive(std::move(result)));
        continue;
      }
      TRY(DoStep(frame));
    }
    return std::nullopt;
  }

  Status Deliver(Literal value) {
    waits_ = false;
    Frame& frame = frames_.back();
    return Finish(frame, frame.program->steps[frame.next], std::move(value));
  }

  void StartOne(const Program& program, std::span<const Literal> operands) {
    frames_.push_back({&program, {operands.begin(), operands.end()}});
    frames_.back().slots.resize(program.slots);
    if (!program.steps[0].dynamic) return;
    for (Literal& operand : frames_.back().slots) operand = Compact(std::move(operand));
  }

 private:
  // `caller` is null for the first frame.
  Status Push(const Computation& computation, std::span<Literal> args, const Step* caller = nullptr) {
    if (static_cast<int64_t>(frames_.size()) >= options_.max_depth) {
      FAIL(LimitError("R005",
                      Str("calls are nested deeper than ", options_.max_depth, " levels at '", computation.name(), "'"))
               .RaisedBy("max_depth"));
    }
    if (caller != nullptr && caller->dynamic) TRY(CheckParameters(*caller->inst, computation, args));
    Frame& frame = frames_.emplace_back();
    frame.program = &programs_.ProgramOf(computation);
    frame.slots.resize(frame.program->slots);
    // A fusion may have more operands than its computation has parameters.
    for (size_t i = 0; i < std::min(args.size(), frame.program->parameters.size()); ++i) {
      const int slot = frame.program->parameters[i];
      if (slot >= 0) frame.slots[slot] = std::move(args[i]);
    }
    return {};
  }

  Status DoStep(Frame& frame) {
    const Step& step = frame.program->steps[frame.next];
    const Instruction& inst = *step.inst;
    if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) {
      FAIL(Error(ExitCode::kInterrupted, "I001", "interrupted"));
    }
    if (options_.max_steps > 0 && ++steps_ > options_.max_steps) {
      FAIL(LimitAt(inst, Str("the limit of ", options_.max_steps, " executed instructions was reached at '",
                             inst.name(), "'"))
               .RaisedBy("max_steps"));
    }
    if (step.given) return Finish(frame, step, *options_.given(inst));
    if (inst.Is(Opcode::kParameter)) return Finish(frame, step, std::move(frame.slots[step.result]));

    if (step.take_element) {
      Literal element = std::move(frame.slots[step.operands[0].slot].mutable_elements()[inst.tuple_index()]);
      for (const int slot : step.dead) frame.slots[slot] = Literal();
      return Finish(frame, step, std::move(element));
    }

    const std::span<Literal> operands = TakeOperands(frame, step);
    switch (inst.opcode()) {
      case Opcode::kCall:
      case Opcode::kFusion: return Push(*CalledComputations(inst)[0], operands, &step);
      case Opcode::kAsyncStart: return StartAsync(frame, step, *CalledComputations(inst)[0], operands);
      case Opcode::kAsyncUpdate: {
        if (operands.size() == 1) break;
        const Computation* wrapped = WrappedBy(inst);
        if (wrapped == nullptr) {
          FAIL(UnsupportedAt(
              inst, "U002",
              "'async-update' with new operands, and without a visible 'async-start', is not supported by the "
              "interpreter"));
        }
        std::vector<Literal> bound = operands[0].elements()[0].elements();
        for (size_t i = 1; i < operands.size(); ++i) bound.push_back(std::move(operands[i]));
        return StartAsync(frame, step, *wrapped, bound);
      }
      case Opcode::kWhile:
        frame.state = std::move(operands[0]);
        frame.iteration = 0;
        return PushCondition(frame, inst);
      case Opcode::kConditional: {
        const std::vector<Computation*> branches = inst.attrs<ConditionalAttrs>().branches();
        const int64_t branch = TakenBranch(operands[0], std::ssize(branches));
        return Push(*branches[branch], operands.subspan(branch + 1, 1), &step);
      }
      default: break;
    }
    if (step.handler == nullptr) return Meet(frame, step);
    if (options_.nan_bits != NanBits::kOwn && ReadsNanBits(inst)) {
      for (Literal& operand : operands) UnifyNans(operand, options_.nan_bits);
    }
    // A handler may overwrite the operands.
    std::vector<Literal> kept;
    if (options_.perturb) kept.assign(operands.begin(), operands.end());
    Evaluation evaluation = {inst, operands, session_};
    const AtHand at_hand("instruction", inst.name());
    auto value = step.handler(evaluation);
    if (options_.perturb && value) TRY(options_.perturb(inst, kept, *value));
    if (!value) return std::unexpected(std::move(value).error());
    operands_.clear();
    return Finish(frame, step, std::move(*value));
  }

  [[gnu::noinline]] Status Meet(Frame& frame, const Step& step) {
    if (rendezvous_ == nullptr) {
      const ModuleHeader& header = step.inst->module().header;
      const bool one = header.replica_count == 1 && header.num_partitions == 1;
      FAIL(UnsupportedAt(*step.inst, "U002",
                         Str("'", step.inst->opcode(), "' cannot run ",
                             one ? std::string("in the computation of another instruction")
                                 : Str("on one device alone, without the others of ", header.replica_count,
                                       " replicas and ", header.num_partitions, " partitions"))));
    }
    for (size_t i = 0; step.dynamic && i < operands_.size(); ++i) {
      const Shape& written = step.inst->operand(static_cast<int64_t>(i)).shape();
      if (Compatible(operands_[i].shape(), written)) continue;
      FAIL(UnsupportedAt(*step.inst, "U002",
                         Str("'", step.inst->opcode(), "' of ", operands_[i].shape(), " for ", written,
                             " is not supported by the interpreter")));
    }
    std::optional<Literal> value = TRY(rendezvous_->Arrive(device_, *step.inst, std::move(operands_), session_));
    if (value) return Finish(frame, step, std::move(*value));
    waits_ = true;
    return {};
  }

  static Status CheckParameters(const Instruction& caller, const Computation& computation,
                                std::span<const Literal> args) {
    for (size_t i = 0; i < args.size(); ++i) {
      const Instruction& parameter = computation.parameter(static_cast<int64_t>(i));
      if (Fits(args[i].shape(), parameter.shape())) continue;
      FAIL(ErrorAt(caller, "R006",
                   Str("'", caller.name(), "' gives parameter '", parameter.name(), "' of '", computation.name(),
                       "' at run time ", args[i].shape(), ", which is smaller than ", parameter.shape(),
                       " in a dimension without <=")));
    }
    return {};
  }

  Status CheckResult(const Literal& result) const {
    const Frame& frame = frames_.back();
    const Instruction& inst = *frame.program->steps[frame.next].inst;
    const bool async = inst.Is(Opcode::kAsyncStart) || inst.Is(Opcode::kAsyncUpdate);
    const Shape& shape = async ? inst.shape().element(1) : inst.shape();
    if (frame.in_condition || Fits(result.shape(), shape)) return {};
    FAIL(ErrorAt(inst, "R006",
                 Str("'", inst.name(), "' is written ", shape, ", but at run time it is ", result.shape(),
                     ", which is smaller in a dimension without <=")));
  }

  // Null unless a chain of updates leads to the async-start.
  static const Computation* WrappedBy(const Instruction& update) {
    const Instruction* part = &update;
    while (part->Is(Opcode::kAsyncUpdate)) part = &part->operand(0);
    return part->Is(Opcode::kAsyncStart) ? CalledComputations(*part)[0] : nullptr;
  }

  // Runs the computation when all operands are bound. Until then the value of `step` holds them.
  Status StartAsync(Frame& frame, const Step& step, const Computation& wrapped, std::span<Literal> bound) {
    if (bound.size() == wrapped.parameters().size()) return Push(wrapped, bound, &step);
    std::vector<Literal> elements;
    for (const Shape& element : step.inst->shape().elements()) elements.emplace_back(element);
    elements[0] = Literal::Tuple({bound.begin(), bound.end()});
    return Finish(frame, step, Literal::Tuple(std::move(elements)));
  }

  // The operands are valid until the next step. A value moves out of the frame at its last use.
  std::span<Literal> TakeOperands(Frame& frame, const Step& step) {
    operands_.clear();
    for (const Use& use : step.operands) {
      Literal& slot = frame.slots[use.slot];
      if (use.last) {
        operands_.push_back(std::move(slot));
      } else {
        operands_.push_back(slot);
      }
    }
    for (const int slot : step.dead) frame.slots[slot] = Literal();
    return operands_;
  }

  Status Finish(Frame& frame, const Step& step, Literal value) {
    if (options_.on_value) options_.on_value(*step.inst, value);
    frame.slots[step.result] = step.unused ? Literal() : std::move(value);
    ++frame.next;
    return {};
  }

  Status PushCondition(Frame& frame, const Instruction& loop) {
    frame.in_condition = true;
    Literal state = frame.state;
    return Push(*loop.attrs<WhileAttrs>().condition, {&state, 1}, &frame.program->steps[frame.next]);
  }

  Status Receive(Literal value) {
    Frame& frame = frames_.back();
    const Step& step = frame.program->steps[frame.next];
    const Instruction& inst = *step.inst;
    if (inst.Is(Opcode::kAsyncStart) || inst.Is(Opcode::kAsyncUpdate)) {
      std::vector<Literal> elements;
      for (const Shape& element : inst.shape().elements())
        elements.push_back(elements.size() == 1 ? Literal() : Literal(element));
      elements[1] = std::move(value);
      return Finish(frame, step, Literal::Tuple(std::move(elements)));
    }
    if (!inst.Is(Opcode::kWhile)) return Finish(frame, step, std::move(value));
    if (!frame.in_condition) {
      frame.state = std::move(value);
      ++frame.iteration;
      return PushCondition(frame, inst);
    }
    frame.in_condition = false;
    if (value.GetInt(0) == 0) return Finish(frame, step, std::move(frame.state));
    if (options_.max_loop_iterations > 0 && frame.iteration >= options_.max_loop_iterations) {
      FAIL(LimitAt(inst, Str("while '", inst.name(), "' exceeded ", options_.max_loop_iterations, " iterations"))
               .RaisedBy("max_loop_iterations"));
    }
    if (options_.on_iteration) options_.on_iteration(inst, frame.iteration, frame.state);
    Literal state = std::move(frame.state);
    return Push(*inst.attrs<WhileAttrs>().body, {&state, 1}, &step);
  }

  static Error LimitAt(const Instruction& inst, std::string message) {
    return ErrorAt(inst, "R005", std::move(message), ExitCode::kLimit);
  }

  const InterpretOptions& options_;
  Programs& programs_;
  Session session_;
  Rendezvous* const rendezvous_;
  const int device_;
  bool waits_ = false;
  std::vector<Frame> frames_;
  std::vector<Literal> operands_;
  int64_t steps_ = 0;
};

Status CheckArguments(const Computation& computation, std::span<const Literal> args) {
  const auto parameters = computation.parameters();
  if (args.size() != parameters.size()) {
    FAIL(Rejected("A004",
                  Str("'", computation.name(), "' takes ", parameters.size(), " arguments, found ", args.size())));
  }
  for (size_t i = 0; i < args.size(); ++i) {
    if (Fits(args[i].shape(), parameters[i]->shape())) continue;
    FAIL(ErrorAt(*parameters[i], "A004",
                 Str("argument ", i, " ('", parameters[i]->name(), "') needs ", parameters[i]->shape(), ", but got ",
                     args[i].shape())));
  }
  return {};
}

}  // namespace

Status CheckMemory(const Computation& computation, const InterpretOptions& options, int64_t devices) {
  const int64_t limit = options.memory_limit > 0 ? options.memory_limit : DefaultMemoryLimit();
  const Peak peak = PlannedPeak(computation);
  if (peak.bytes <= limit / devices) return {};
  const Instruction& largest = *peak.largest;
  const std::string bound = Str("the limit is ", HumanBytes(static_cast<double>(limit)));
  const double size = static_cast<double>(largest.shape().ByteSize());
  FAIL(ErrorAt(largest, "R004",
               size > static_cast<double>(limit)
                   ? Str("instruction '", largest.name(), "' needs ", HumanBytes(size), " for ", largest.shape(),
                         ", but ", bound)
                   : Str("values alive at once need ", HumanBytes(static_cast<double>(peak.bytes)),
                         devices == 1 ? "" : Str(" on each of ", devices, " devices"), ", of which '", largest.name(),
                         "' ", largest.shape(), " is the largest with ", HumanBytes(size), "; ", bound),
               ExitCode::kLimit)
           .RaisedBy("memory_limit"));
}

Result<Literal> EvaluateNested(const Computation& computation, std::span<const Literal> args,
                               const InterpretOptions& options, int nesting) {
  try {
    Programs programs(options);
    Runner runner(options, nesting, programs);
    TRY(runner.Start(computation, args));
    return *TRY(runner.Run());
  } catch (const std::bad_alloc&) {
    FAIL(OutOfMemory(Str("while interpreting '", computation.name(), "'")));
  }
}

namespace {

// If the module has several devices, instructions that need the device's number or another device are errors.
Result<Literal> RunAlone(const Module& module, const InterpretOptions& options,
                         const std::function<Status(Runner&)>& start) {
  const bool one = module.header.replica_count == 1 && module.header.num_partitions == 1;
  Rendezvous rendezvous(DeviceGrid{});
  Programs programs(options);
  Runner runner(options, 0, programs, one ? &rendezvous : nullptr, 0);
  TRY(start(runner));
  std::optional<Literal> value = TRY(runner.Run());
  TRY(rendezvous.CheckAllDone());
  return std::move(*value);  // The device has finished.
}

Result<std::vector<Literal>> RunTogether(const Module& module, const DeviceGrid& grid,
                                         std::span<const std::vector<Literal>> args, const InterpretOptions& options) {
  const int devices = static_cast<int>(grid.count());
  Rendezvous rendezvous(grid);
  Programs programs(options);
  std::deque<Runner> runners;
  std::deque<int> ready;
  for (int device = 0; device < devices; ++device) {
    const DevicePlace place = {device / grid.partitions, device % grid.partitions};
    Runner& runner = runners.emplace_back(options, 0, programs, &rendezvous, device, place);
    TRY(runner.Start(module.entry(), args[args.size() == 1 ? 0 : device]));
    ready.push_back(device);
  }
  std::vector<Literal> results(devices);
  while (!ready.empty()) {
    const int device = ready.front();
    ready.pop_front();
    if (options.on_device) options.on_device(device);
    std::optional<Literal> result = TRY(runners[device].Run());
    if (result) results[device] = std::move(*result);
    for (auto& [other, value] : rendezvous.TakeReady()) {
      if (options.on_device) options.on_device(other);
      TRY(runners[other].Deliver(std::move(value)));
      ready.push_back(other);
    }
  }
  TRY(rendezvous.CheckAllDone());
  return results;
}

}  // namespace

Result<Literal> EvaluateComputation(const Computation& computation, std::span<const Literal> args,
                                    const InterpretOptions& options) {
  TRY(CheckArguments(computation, args));
  TRY(CheckMemory(computation, options));
  try {
    return RunAlone(computation.module(), options, [&](Runner& runner) { return runner.Start(computation, args); });
  } catch (const std::bad_alloc&) {
    FAIL(OutOfMemory(Str("while interpreting '", computation.name(), "'")));
  }
}

Result<Literal> Interpret(const Module& module, std::span<const Literal> args, const InterpretOptions& options) {
  return EvaluateComputation(module.entry(), args, options);
}

Result<int64_t> DeviceCount(const Module& module) { return TRY(GridOf(module)).count(); }

Result<std::vector<Literal>> InterpretDevices(const Module& module, std::span<const std::vector<Literal>> args,
                                              const InterpretOptions& options) {
  const DeviceGrid grid = TRY(GridOf(module));
  const Computation& entry = module.entry();
  CHECK(args.size() == 1 || static_cast<int64_t>(args.size()) == grid.count(), "arguments of ", args.size(),
        " devices for ", grid.count());
  for (const std::vector<Literal>& of_device : args) TRY(CheckArguments(entry, of_device));
  TRY(CheckMemory(entry, options, grid.count()));
  try {
    return RunTogether(module, grid, args, options);
  } catch (const std::bad_alloc&) {
    FAIL(OutOfMemory(Str("while interpreting ", grid.count(), " devices")));
  }
}

Result<Literal> Evaluate(const Instruction& inst, std::span<const Literal> operands, const InterpretOptions& options) {
  try {
    const Program program = ProgramOf(inst);
    return RunAlone(inst.module(), options, [&](Runner& runner) {
      runner.StartOne(program, operands);
      return Status();
    });
  } catch (const std::bad_alloc&) {
    FAIL(OutOfMemory(Str("at '", inst.name(), "'")));
  }
}

struct StepInterpreter::State {
  explicit State(InterpretOptions with) : options(std::move(with)), programs(options) {}

  void Restart(const Module& module) {
    const bool one = module.header.replica_count == 1 && module.header.num_partitions == 1;
    rendezvous.emplace(DeviceGrid{});
    runner.emplace(options, 0, programs, one ? &*rendezvous : nullptr, 0);
  }

  Result<Literal> Run(const Instruction& inst, std::span<const Literal> operands) {
    if (!runner) Restart(inst.module());
    const auto [program, fresh] = steps.try_emplace(&inst);
    if (fresh) program->second = ProgramOf(inst);
    runner->StartOne(program->second, operands);
    std::optional<Literal> value = TRY(runner->Run());
    if (!value) TRY(rendezvous->CheckAllDone());  // Reports the missing value.
    return std::move(*value);
  }

  const InterpretOptions options;
  Programs programs;
  std::unordered_map<const Instruction*, Program> steps;
  std::optional<Rendezvous> rendezvous;
  std::optional<Runner> runner;
};

StepInterpreter::StepInterpreter(InterpretOptions options) : state_(std::make_unique<State>(std::move(options))) {}
StepInterpreter::~StepInterpreter() = default;

void StepInterpreter::Restart() { state_->runner.reset(); }

Result<Literal> StepInterpreter::Run(const Instruction& inst, std::span<const Literal> operands) {
  try {
    auto value = state_->Run(inst, operands);
    if (!value) Restart();
    return value;
  } catch (const std::bad_alloc&) {
    Restart();
    FAIL(OutOfMemory(Str("at '", inst.name(), "'")));
  }
}

int64_t PeakBytes(const Computation& computation) { return PlannedPeak(computation).bytes; }

bool CanInterpret(const Instruction& inst) { return !inst.Is(Opcode::kCustomCall) || IsKnownCustomCall(inst); }

}  // namespace hlo
