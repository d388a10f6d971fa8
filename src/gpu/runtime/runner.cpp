#include "gpu/runtime/runner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/crash.h"
#include "gpu/runtime/graph_order.h"
#include "gpu/runtime/located.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/recorded_graph.h"
#include "gpu/runtime/timeline_writer.h"
#include "gpu/runtime/turns.h"

namespace hlo::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class SerialRunner {
 public:
  SerialRunner(Binding& binding, const RunOptions& options)
      : binding_(binding),
        program_(binding.program()),
        device_(binding.device()),
        options_(options),
        timeline_(device_, options.timeline) {}

  TimelineWriter& timeline() { return timeline_; }

  Status RunBlock(const Block& block) {
    if (recording_) return RecordNodes(block);
    if (options_.order) return RunReordered(block);
    const bool may_record = device_.Records() && options_.record && !ReadsTripsAtOnce();
    for (size_t i = 0; i < block.size();) {
      size_t end = i;
      int64_t steps = 0;
      for (; may_record && end < block.size(); ++end) {
        const int64_t more = StepsWithoutHost(block[end]);
        if (more < 0) break;
        steps += more;
      }
      if (steps > 1) TRY(RunRecorded(std::span(block).subspan(i, end - i)));
      else TRY(RunNode(block[i]));
      i = steps > 1 ? end : i + 1;
    }
    return {};
  }

  Status SetLoopLimits() {
    constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();
    const int64_t most = program_.options.max_loop_iterations, stop = options_.stop_loops_after;
    return binding_.SetLoopLimits(stop > 0 ? stop : kNoLimit, most > 0 ? most : kNoLimit);
  }
  // Fails if a loop that the device counts exceeded max_loop_iterations.
  Status CheckLoops() {
    const auto loops = binding_.loops();
    if (ReadsTripsAtOnce() || loops.empty() || program_.options.max_loop_iterations <= 0) return {};
    const std::vector<int64_t> counted = TRY(binding_.ReadLoops());
    for (size_t i = 0; i < loops.size(); ++i)
      TRY(CheckTrips(std::span(counted).subspan(i * kTripFields, kTripFields), loops[i].loops));
    return {};
  }

  double host_call_seconds() const { return host_call_seconds_; }

 private:
  bool IsWatched() const {
    return options_.observer != nullptr || (timeline_.is_on() && !timeline_.asks_log()) ||
           options_.interrupted != nullptr || options_.wait_for_each;
  }

  // Number of steps, or -1 if the host takes part.
  int64_t StepsWithoutHost(const Node& node) const {
    if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
      const int64_t steps = StepsOfTrips(**loop);
      return steps >= 0 ? steps : StepsDecided(**loop);
    }
    if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) return StepsDecided(**branch);
    return NeedsHost(std::get<Step>(node)) ? -1 : 1;
  }
  static bool NeedsHost(const Step& step) {
    return std::ranges::any_of(step.work, [](const Work& work) { return gpu::NeedsHost(work); });
  }

  int64_t StepsWithoutHost(const Block& block) const {
    int64_t steps = 0;
    for (const Node& node : block) {
      const int64_t more = StepsWithoutHost(node);
      if (more < 0) return -1;
      steps += more;
    }
    return steps;
  }

  // Number of steps if the loop is unrolled, otherwise -1. Loops with few steps are unrolled if the host's last run had
  // the known number of trips.
  int64_t StepsOfTrips(const LoopNode& node) const {
    const int64_t most_steps = node.decided.first < 0 ? 4096 : 2000;
    const int64_t trips = node.known_trips, most = program_.options.max_loop_iterations;
    if (trips < 0 || node.most_trips >= 0 || binding_.trips_made(node) != trips || (most > 0 && trips > most))
      return -1;
    const int64_t steps = StepsWithoutHost(node.body);
    return steps >= 0 && trips * steps <= most_steps ? trips * steps : -1;
  }

  // Number of steps if the device decides how often the loop runs, or which branch runs. Otherwise -1.
  int64_t StepsDecided(const LoopNode& node) const {
    if (node.decided.first < 0 || binding_.host_decides()) return -1;
    const int64_t condition = StepsWithoutHost(node.condition), body = StepsWithoutHost(node.body);
    return condition < 0 || body < 0 ? -1 : condition + body + 2;
  }
  int64_t StepsDecided(const BranchNode& node) const {
    if (!node.decided.by_device || binding_.host_decides()) return -1;
    int64_t steps = 1;
    for (const BranchNode::Branch& one : node.branches) {
      const int64_t more = StepsWithoutHost(one.block);
      if (more < 0) return -1;
      steps += more;
    }
    return steps;
  }

  // The first run creates objects, which a recording does not allow.
  Status RunRecorded(std::span<const Node> nodes) {
    Binding::Recorded& kept = binding_.recorded(nodes);
    if (kept.recording != nullptr && timeline_.asks_log() && kept.pieces == nullptr) kept = {.runs = 1};
    if (kept.recording != nullptr && !TripsHold(kept)) {
      if (!std::exchange(kept.doubted, true)) return RunNodes(nodes);
      kept = {.runs = 1};
    }
    kept.doubted = false;
    if (kept.recording == nullptr && ++kept.runs == 2) {
      auto recording = Record(nodes);
      if (!recording) return RunUnrecorded(nodes, recording.error().message());
      kept.recording = std::move(*recording);
      kept.unrolled = std::move(unrolled_);
      kept.pieces = timeline_.EndRecording();
    }
    if (kept.recording != nullptr) return timeline_.Replay(*kept.recording, kept.pieces);
    return RunNodes(nodes);
  }

  // Whether unrolled loops still have the recorded trip counts. If not, the host runs the nodes once. If counts still
  // differ then, the nodes are recorded again.
  bool TripsHold(const Binding::Recorded& kept) const {
    return std::ranges::all_of(kept.unrolled, [&](const LoopNode* loop) { return StepsOfTrips(*loop) >= 0; });
  }

  Status RunUnrecorded(std::span<const Node> nodes, const std::string& why) {
    const bool decides =
        std::ranges::any_of(nodes, [](const Node& node) { return !std::holds_alternative<Step>(node); });
    if (options_.notes != nullptr) {
      options_.notes->push_back(Str(nodes.size(), " steps are queued one by one",
                                    decides ? ", and the host evaluates the conditions of loops" : "",
                                    ", because recording failed: ", why));
    }
    if (decides) binding_.host_decides() = true;
    Status done = RunNodes(nodes);
    if (done) return done;
    return std::unexpected(
        std::move(done).error().AddNote(Str("before this, the steps could not be recorded as a graph: ", why)));
  }

  // Records without early launches if the device cannot make a graph with them.
  Result<std::shared_ptr<const Recording>> Record(std::span<const Node> nodes) {
    device_.SetEarlyLaunches(options_.early_launches && !binding_.launches_late());
    auto recording = RecordOnce(nodes);
    if (recording || !device_.SetEarlyLaunches(false)) return recording;
    auto again = RecordOnce(nodes);
    if (!again) return recording;
    binding_.launches_late() = true;
    if (options_.notes != nullptr) {
      options_.notes->push_back(
          Str("each kernel is launched after the kernels before it have ended, in spite of --xla_gpu_enable_pdl: ",
              recording.error().message()));
    }
    return again;
  }

  Result<std::shared_ptr<const Recording>> RecordOnce(std::span<const Node> nodes) {
    TRY(device_.BeginRecording());
    timeline_.BeginRecording();
    RecordedGraph graph;
    recording_ = true;
    unrolled_.clear();
    Status queued = Into(&graph.nodes, [&] { return RecordNodes(nodes); });
    recording_ = false;
    if (!queued) {
      device_.DropRecording();
      return std::unexpected(std::move(queued).error());
    }
    auto recording = TRY(device_.EndRecording());
    if (options_.graphs != nullptr) options_.graphs->push_back(std::move(graph));
    return recording;
  }

  template <class Queue>
  Status Into(std::vector<RecordedNode>* nodes, const Queue& queue) {
    auto* const outer = std::exchange(noted_, options_.graphs != nullptr ? nodes : nullptr);
    const std::vector<int> outer_after = std::exchange(noted_after_, {});
    Status queued = queue();
    noted_ = outer;
    noted_after_ = outer_after;
    return queued;
  }
  void Note(RecordedNode node) {
    if (noted_ == nullptr) return;
    node.after = std::exchange(noted_after_, {static_cast<int>(noted_->size())});
    noted_->push_back(std::move(node));
  }
  void NoteCondition(const Instruction& inst, std::string_view kernel) {
    Note({.kind = RecordedNode::Kind::kKernel, .instruction = &inst, .name = std::string(kernel), .how = "condition"});
  }

  Status RecordNodes(std::span<const Node> nodes) {
    if (nodes.size() < 2 || !device_.RecordsOrder()) return RunNodes(nodes);
    std::vector<NodeWeight> weights;
    for (const Node& node : nodes) weights.push_back(WeightOf(node));
    const std::vector<std::vector<int>> order = GraphOrder(Dependencies(program_, nodes, &binding_), weights,
                                                           options_.concurrency, device_.Describe().multiprocessors);
    if (IsChain(order)) return RunNodes(nodes);
    struct Point {
      Device::RecordedNodes recorded;
      std::vector<int> noted;
      bool is_last = true;
    };
    const Point begin = {TRY(device_.LastRecorded()), noted_after_};
    std::vector<Point> points(nodes.size());
    const auto go_on_from = [&](const Point& point) {
      noted_after_ = point.noted;
      return device_.RecordAfter(point.recorded);
    };
    const auto add = [](Point* all, const Point& one) {
      for (void* const node : one.recorded) {
        if (std::ranges::count(all->recorded, node) == 0) all->recorded.push_back(node);
      }
      for (const int node : one.noted) {
        if (std::ranges::count(all->noted, node) == 0) all->noted.push_back(node);
      }
    };
    for (size_t i = 0; i < nodes.size(); ++i) {
      Point from;
      for (const int before : order[i]) {
        points[before].is_last = false;
        add(&from, points[before]);
      }
      TRY(go_on_from(order[i].empty() ? begin : from));
      TRY(RunNode(nodes[i]));
      points[i] = {TRY(device_.LastRecorded()), noted_after_};
    }
    Point end;
    for (const Point& point : points) {
      if (point.is_last) add(&end, point);
    }
    return go_on_from(end);
  }

  static bool IsChain(const std::vector<std::vector<int>>& order) {
    for (int i = 1; i < std::ssize(order); ++i) {
      if (order[i] != std::vector<int>{i - 1}) return false;
    }
    return true;
  }

  Status RunNodes(std::span<const Node> nodes) {
    for (const Node& node : nodes) TRY(RunNode(node));
    return {};
  }

  Status RunReordered(const Block& block) {
    std::vector<std::vector<int>> after = Dependencies(program_, block), next(block.size());
    std::vector<size_t> waits(block.size());
    std::vector<int> ready;
    for (size_t i = 0; i < block.size(); ++i) {
      waits[i] = after[i].size();
      for (const int earlier : after[i]) next[earlier].push_back(static_cast<int>(i));
      if (waits[i] == 0) ready.push_back(static_cast<int>(i));
    }
    std::mt19937_64 draw(*options_.order);
    while (!ready.empty()) {
      std::swap(ready[draw() % ready.size()], ready.back());
      const int node = ready.back();
      ready.pop_back();
      TRY(RunNode(block[node]));
      for (const int later : next[node]) {
        if (--waits[later] == 0) ready.push_back(later);
      }
    }
    return {};
  }

  Status RunNode(const Node& node) {
    if (const auto* step = std::get_if<Step>(&node)) {
      const AtHand at_hand("step", step->instruction->name());
      return LocatedAt(*step->instruction, RunStep(*step));
    }
    if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node))
      return LocatedAt(*(*loop)->loop, RunLoop(**loop));
    const BranchNode& branch = *std::get<std::unique_ptr<BranchNode>>(node);
    return LocatedAt(*branch.conditional, RunBranch(branch));
  }

  // Runs `work` as `event`. While recording, the event is not timed but names a piece.
  template <class Work>
  Status Timed(const TimelineEvent& event, const Work& work, bool on_host = false) {
    if (!recording_) return timeline_.Timed(event, on_host, work);
    TRY(work());
    named_ = timeline_.Name(event);
    return {};
  }

  Status RunCopies(const std::vector<CopyWork>& copies, int step = -1) {
    if (!timeline_.is_on() || copies.empty()) return Copy(copies);
    TimelineEvent event{.kind = TimelineEvent::Kind::kCopies, .step = step};
    for (const CopyWork& copy : copies) event.bytes += copy.bytes;
    return Timed(event, [&] { return Copy(copies); });
  }

  Status Copy(const std::vector<CopyWork>& copies) {
    for (const CopyWork& copy : copies) {
      TRY(device_.Copy(binding_.Pointer(copy.to), binding_.Pointer(copy.from), copy.bytes));
      if (noted_ != nullptr) Note({.kind = RecordedNode::Kind::kCopy, .bytes = copy.bytes});
    }
    return {};
  }

  Status ReadBack(void* to, PlaceNumber from, int64_t bytes) {
    const auto read = [&] { return device_.CopyOut(to, binding_.Pointer(from), bytes); };
    return timeline_.is_on() ? Timed({.kind = TimelineEvent::Kind::kWait}, read, /*on_host=*/true) : read();
  }

  Status RunLoop(const LoopNode& node) {
    TRY(RunCopies(node.enter));
    if (recording_) return RecordLoop(node);
    const int64_t most = program_.options.max_loop_iterations;
    loops_.push_back({node.loop, 0});
    for (;; ++loops_.back().iteration) {
      const int outer = timeline_.BeginTrip(loops_.back());
      TRY(RunBlock(node.condition));
      uint8_t again = 0;
      TRY(ReadBack(&again, node.predicate, 1));
      const bool ends = again == 0 || loops_.back().iteration == node.most_trips;
      if (!ends) {
        if (most > 0 && loops_.back().iteration >= most) FAIL(Endless(*node.loop));
        TRY(RunBlock(node.body));
        TRY(RunCopies(node.back));
      }
      timeline_.EndTrip(outer, !ends);
      if (ends) break;
    }
    binding_.trips_made(node) = loops_.back().iteration;
    loops_.pop_back();
    return {};
  }

  Status RecordLoop(const LoopNode& node) {
    if (StepsOfTrips(node) >= 0) return RecordTrips(node);
    const auto trip = [&]() -> Status {
      const Step* const outer = std::exchange(left_out_, node.decided.last);
      Status queued = RunBlock(node.body);
      left_out_ = outer;
      TRY(std::move(queued));
      return RunCopies(node.back);
    };
    const LoopNode::Decided& decided = node.decided;
    TRY(RunBlock(node.condition));
    RecordedNode noted{.kind = RecordedNode::Kind::kLoop, .instruction = node.loop};
    noted.bodies.emplace_back();
    NoteCondition(*node.loop, "begin_loop");
    int outer_trip = -1, all_trips = -1;
    int64_t last = -1;
    const auto body = [&]() -> Status {
      const int64_t begins = timeline_.Name({.kind = TimelineEvent::Kind::kWait});
      outer_trip = timeline_.EnterTrip(node.loop->id(), -1, begins);
      all_trips = timeline_.recorded_trip();
      TRY(trip());
      last = named_;
      if (!decided.computes) TRY(RunBlock(node.condition));
      const std::string_view behind = decided.last != nullptr ? decided.last->instruction->name() : "";
      NoteCondition(*node.loop, behind.empty() ? "next_trip" : Str(behind, " and next_trip"));
      return {};
    };
    TRY(device_.RecordWhile(
        {binding_.Kernel(decided.first), binding_.Pointers(decided.arguments)},
        {binding_.Kernel(decided.next), binding_.Pointers(decided.next_arguments), decided.handle_at},
        [&] { return Into(&noted.bodies.front(), body); }));
    // The kernel of the body's last step, or an additional kernel, sets the condition.
    if (decided.last != nullptr) timeline_.NameAs(last);
    else last = timeline_.Name({.kind = TimelineEvent::Kind::kWait});
    timeline_.EndLoop(all_trips, last);
    timeline_.LeaveTrip(outer_trip);
    Note(std::move(noted));
    return {};
  }

  Status RecordTrips(const LoopNode& node) {
    unrolled_.push_back(&node);
    RecordedNode noted{.kind = RecordedNode::Kind::kTrips, .instruction = node.loop, .trips = node.known_trips};
    noted.bodies.emplace_back();
    // `back`: copies after each trip. `last`: copies of the final state.
    std::vector<CopyWork> back, last;
    for (int i = 0; i < std::ssize(node.back); ++i) {
      const auto turn = std::ranges::find(node.turns, i, &LoopNode::Turn::copy);
      if (turn == node.turns.end()) back.push_back(node.back[i]);
      else last.push_back({turn->places[(node.known_trips + 1) % 2], node.back[i].to, node.back[i].bytes});
    }
    for (int64_t i = 0; i < node.known_trips; ++i) {
      const InTurns in_turns(binding_, node, i);
      const int outer = timeline_.EnterTrip(node.loop->id(), i);
      TRY(Into(i == 0 ? &noted.bodies.front() : nullptr, [&]() -> Status {
        TRY(RunBlock(node.body));
        return RunCopies(back);
      }));
      timeline_.LeaveTrip(outer);
    }
    Note(std::move(noted));
    return RunCopies(node.known_trips > 0 ? last : std::vector<CopyWork>());
  }

  Status RecordBranch(const BranchNode& node) {
    const BranchNode::Decided& decided = node.decided;
    if (decided.set < 0) return {};
    RecordedNode noted{.kind = RecordedNode::Kind::kBranch, .instruction = node.conditional};
    noted.bodies.resize(node.branches.size());
    std::vector<std::function<Status()>> branches;
    int64_t decides = -1;
    const auto name = [&] {
      if (decides < 0) decides = timeline_.Name({.kind = TimelineEvent::Kind::kWait});
      else timeline_.NameAs(decides);
    };
    for (size_t i = 0; i < node.branches.size(); ++i) {
      const BranchNode::Branch& one = node.branches[i];
      const bool is_asked = decided.asked.empty() || std::ranges::count(decided.asked, static_cast<int>(i)) > 0;
      if (!is_asked) continue;
      branches.emplace_back();
      if (one.block.empty() && one.end.empty()) continue;
      branches.back() = [&, i]() -> Status {
        name();
        return Into(&noted.bodies[i], [&]() -> Status {
          TRY(RunBlock(node.branches[i].block));
          return RunCopies(node.branches[i].end);
        });
      };
    }
    NoteCondition(*node.conditional, "choose_branch");
    TRY(device_.RecordBranches(binding_.Kernel(decided.set), binding_.Pointers(decided.arguments), branches));
    name();
    Note(std::move(noted));
    return {};
  }

  Status RunBranch(const BranchNode& node) {
    if (recording_) return RecordBranch(node);
    const auto count = static_cast<int64_t>(node.branches.size());
    int64_t branch = 0;
    if (node.conditional->operand(0).shape().type() == PrimitiveType::kPred) {
      uint8_t taken = 0;
      TRY(ReadBack(&taken, node.selector, 1));
      branch = taken != 0 ? 0 : 1;
    } else {
      int32_t index = 0;
      TRY(ReadBack(&index, node.selector, 4));
      branch = index < 0 || index >= count ? count - 1 : index;
    }
    TRY(RunBlock(node.branches[branch].block));
    return RunCopies(node.branches[branch].end);
  }

  Status RunStep(const Step& step) {
    if (IsWatched()) return RunWatched(step);
    if (timeline_.is_on()) return RunTimed(step);
    TRY(Copy(step.copies));
    return RunWork(step);
  }

  Status RunTimed(const Step& step) {
    const TimelineEvent event{.kind = TimelineEvent::Kind::kStep, .step = step.info};
    if (step.info < 0) return RunCopies(step.copies);
    if (step.work.empty()) return Timed(event, [&] { return Copy(step.copies); });
    TRY(RunCopies(step.copies, step.info));
    return Timed(event, [&] { return RunWork(step); }, NeedsHost(step));
  }

  Status RunWatched(const Step& step) {
    if (options_.interrupted != nullptr && *options_.interrupted)
      FAIL(Error(ExitCode::kInterrupted, "R022", "interrupted"));
    const Observer* observer = options_.observer;
    const bool observed =
        observer != nullptr && step.info >= 0 && (!observer->wants || observer->wants(*step.instruction, loops_));
    std::vector<Literal> inputs;
    if (observed && observer->reads_operands) {
      for (const Instruction* operand : step.instruction->operands()) inputs.push_back(TRY(binding_.Read(*operand)));
    }
    if (timeline_.is_on()) {
      TRY(RunTimed(step));
    } else {
      TRY(Copy(step.copies));
      TRY(RunWork(step));
    }
    if (options_.wait_for_each) TRY(device_.Synchronize());
    if (!observed) return {};
    Literal output = TRY(binding_.Read(*step.instruction, Binding::Lent::kResultsToo));
    return observer->observe(*step.instruction, loops_, inputs, std::move(output));
  }

  Status RunWork(const Step& step) {
    if (noted_ != nullptr) NoteWork(step);
    for (const Work& work : step.work) {
      if (&step == left_out_ && &work == &step.work.back()) break;
      if (const auto* kernel = std::get_if<KernelWork>(&work)) {
        TRY(kernel->trips != 0 ? LaunchLoops(*kernel) : Launch(*kernel));
      } else if (const auto* call = std::get_if<LibraryWork>(&work)) {
        TRY(RunCall(*call));
      } else if (const auto* fill = std::get_if<FillWork>(&work)) {
        TRY(device_.Fill(binding_.Pointer(fill->to), fill->pattern, fill->width, fill->count));
      } else {
        TRY(RunHostCall(*step.instruction, std::get<HostWork>(work)));
      }
    }
    return {};
  }

  void NoteWork(const Step& step) {
    if (step.work.empty()) return;  // Copy() notes the copies.
    const StepInfo& info = program_.steps[step.info];
    size_t kernels = 0;
    for (const Work& work : step.work) {
      if (&step == left_out_ && &work == &step.work.back()) break;
      RecordedNode node{.kind = RecordedNode::Kind::kKernel, .instruction = step.instruction, .how = info.how};
      if (std::holds_alternative<LibraryWork>(work)) {
        node.kind = RecordedNode::Kind::kLibrary;
      } else if (const auto* fill = std::get_if<FillWork>(&work)) {
        node.kind = RecordedNode::Kind::kFill;
        node.bytes = fill->width * fill->count;
      } else if (kernels < info.kernels.size()) {
        const EmittedKernel& emitted = info.kernels[kernels++];
        node.name = emitted.kernel->name;
        node.how = LaunchText(emitted);
      }
      Note(std::move(node));
    }
  }

  Status Launch(const KernelWork& work) {
    return device_.Launch(binding_.Kernel(work.code), binding_.Pointers(work.arguments));
  }

  // If trips are not read at once, CheckLoops() reads them later.
  Status LaunchLoops(const KernelWork& work) {
    TRY(Launch(work));
    return ReadsTripsAtOnce() ? ReadTrips(work) : Status();
  }

  bool ReadsTripsAtOnce() const { return device_.IsHost() || IsWatched() || options_.trips != nullptr; }

  Status ReadTrips(const KernelWork& work) {
    if (program_.options.max_loop_iterations <= 0 && options_.trips == nullptr) return {};
    std::array<int64_t, kTripFields> trips = {};
    TRY(device_.CopyOut(trips.data(), binding_.Pointer(work.trips), sizeof(trips)));
    if (options_.trips != nullptr) *options_.trips = trips[kTripsMade];
    return CheckTrips(trips, work.loops);
  }

  Status CheckTrips(std::span<const int64_t> counted, std::span<const Instruction* const> loops) const {
    if (counted[kEndless] == 0) return {};
    FAIL(Endless(*loops[counted[kEndless] - 1]));
  }

  Error Endless(const Instruction& loop) const {
    return ErrorAt(loop, "R021",
                   Str("while '", loop.name(), "' exceeded ", program_.options.max_loop_iterations, " iterations"),
                   ExitCode::kLimit)
        .RaisedBy("max_loop_iterations");
  }

  Status RunCall(const LibraryWork& work) {
    BoundCall& call = binding_.Call(work);
    const auto operands = binding_.Pointers(work.operands), results = binding_.Pointers(work.results);
    void* const packed = binding_.Pointer(work.packed);
    if (!work.pack_once) TRY(call.Pack(operands, packed));
    return call.Run(operands, results, binding_.Pointer(work.scratch), packed);
  }

  Status RunHostCall(const Instruction& inst, const HostWork& work) {
    TRY(device_.Synchronize());
    const Clock::time_point start = Clock::now();
    std::vector<Literal> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(TRY(binding_.Read(*operand)).WithBools());
    const Literal result = TRY(binding_.Caller().Call(inst, operands));
    CHECK(FitsInto(result.shape(), inst.shape()), inst.name(), ": ", result.shape(), " is not ", inst.shape());
    int leaf = 0;
    Status status;
    ForEachLeaf(inst.shape(), [&](const ShapeIndex& index, const Shape& shape) {
      if (status && BytesInMemory(shape) > 0)
        status = binding_.Upload(shape, result.At(index), binding_.Pointers(work.results)[leaf]);
      ++leaf;
    });
    host_call_seconds_ += SecondsSince(start);
    return status;
  }

  Binding& binding_;
  const Program& program_;
  Device& device_;
  const RunOptions& options_;
  std::vector<LoopStep> loops_;
  double host_call_seconds_ = 0;
  TimelineWriter timeline_;
  int64_t named_ = -1;
  bool recording_ = false;
  // The step whose last work is skipped, because the kernel that sets the loop's condition does it too. Or null.
  const Step* left_out_ = nullptr;
  std::vector<const LoopNode*> unrolled_;
  std::vector<RecordedNode>* noted_ = nullptr;  // Descriptions of recorded nodes, or null.
  std::vector<int> noted_after_;                // Predecessors of the next description.
};

}  // namespace

Status RunSerially(Binding& binding, const RunOptions& options, double* host_call_seconds) {
  Timeline* const timeline = options.timeline;
  if (binding.program().options.host != nullptr) binding.Caller().Begin();
  SerialRunner runner(binding, options);
  runner.timeline().Begin();
  const auto run = [&]() -> Status {
    Device& device = binding.device();
    TRY(runner.SetLoopLimits());
    if (options.device_ms != nullptr) TRY(device.StartClock());
    TRY(runner.RunBlock(binding.program().block));
    if (options.device_ms != nullptr) *options.device_ms = TRY(device.StopClock());
    TRY(device.Synchronize());
    return runner.CheckLoops();
  };
  Status done = run();
  // Any later call can report an error of queued work.
  const bool waits =
      options.wait_for_each || (timeline != nullptr && timeline->waits_for_each) || options.observer != nullptr;
  if (!done && done.error().exit == ExitCode::kDevice && !waits && done.error().diagnostics.back().hint.empty()) {
    Error error = std::move(done).error();
    done = std::unexpected(
        std::move(error).Advise("sync_check", "waits for each step, so that the step with the error is known"));
  }
  if (timeline != nullptr) timeline->end = Timeline::Now();
  runner.timeline().End();
  *host_call_seconds = runner.host_call_seconds();
  if (!done) {
    // The device's first error says more than a failed reset.
    Status reset = binding.ResetCounters();
    if (!reset && done.error().exit != ExitCode::kDevice) return reset;
  }
  return done;
}

}  // namespace hlo::gpu
