#include "gpu/runtime/conditions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "gpu/emitters/emitter.h"
#include "gpu/emitters/names.h"
#include "gpu/runtime/loop_condition.h"

namespace hlo::gpu {
namespace {

constexpr int kThreads = kernel::kWarpSize;

kernel::Kernel OneThread(KernelBuilder&& k, const std::function<void()>& body) {
  k.Phase([&] { k.If(k.thread() == 0, body); });
  return std::move(k).Build();
}

bool NeedsHost(const Block& block);

bool NeedsHost(const Node& node) {
  if (const auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node))
    return (*loop)->most_trips >= 0 || NeedsHost((*loop)->condition) || NeedsHost((*loop)->body);
  if (const auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
    return std::ranges::any_of((*branch)->branches, [](const BranchNode::Branch& one) { return NeedsHost(one.block); });
  }
  const Step& step = std::get<Step>(node);
  return std::ranges::any_of(step.work, [](const Work& work) { return NeedsHost(work); });
}

bool NeedsHost(const Block& block) {
  return std::ranges::any_of(block, [](const Node& node) { return NeedsHost(node); });
}

class Adder {
 public:
  Adder(Program& program, Device& device, std::span<const EmittedKernel* const> emitted)
      : program_(program), device_(device), emitted_(emitted) {}

  Status Add() {
    AddTo(program_.block);
    if (!undecided_.empty()) program_.report.notes.push_back(WaitsText());
    if (kernels_.empty()) return {};
    std::vector<const kernel::Kernel*> kernels;
    for (const kernel::Kernel& kernel : kernels_) kernels.push_back(&kernel);
    auto code = TRY(device_.Compile(kernels, {}, program_.options.cache.get()));
    program_.code.insert(program_.code.end(), code.begin(), code.end());
    return {};
  }

 private:
  void AddTo(Block& block) {
    for (Node& node : block) {
      if (auto* loop = std::get_if<std::unique_ptr<LoopNode>>(&node)) {
        AddTo((*loop)->condition);
        AddTo((*loop)->body);
        for (LoopNode::Turn& turn : (*loop)->turns) AddAgain(turn);
        if (!NeedsHost(node)) AddToLoop(**loop);
      } else if (auto* branch = std::get_if<std::unique_ptr<BranchNode>>(&node)) {
        for (BranchNode::Branch& one : (*branch)->branches) AddTo(one.block);
        if (!NeedsHost(node)) AddToBranch(**branch);
      }
    }
  }

  void AddToLoop(LoopNode& loop) {
    if (device_.Decides() == Decisions::kNone) {
      if (loop.known_trips < 0) undecided_.push_back(loop.loop->name());
      return;
    }
    loop.decided.first = Code("begin", LoopConditionKernel, true);
    loop.decided.next = Code("next", LoopConditionKernel, false);
    const Place trips{Area::kCounters, 0, program_.counter_bytes};
    constexpr int64_t kBytes = kTripFields * int64_t{8};
    program_.counter_bytes += AlignedBytes(kBytes);
    program_.memory.arena_bytes += kBufferAlignment;
    program_.memory.arena_lower_bound += kBufferAlignment;
    loop.decided.arguments = {AddAgain(loop.predicate), 2};
    loop.decided.trips = Add({trips, kBytes});
    loop.decided.next_arguments = loop.decided.arguments;
    PutIntoTrip(loop);
  }

  void PutIntoTrip(LoopNode& loop) {
    LoopCondition tail = {LoopConditionKernel(false), {loop.predicate}};
    if (!loop.condition.empty()) {
      auto computed = ComputedCondition(loop.condition, emitted_);
      if (!computed) return;
      tail = std::move(*computed);
    }
    tail.places.push_back(loop.decided.trips);
    const Step* const last = loop.back.empty() && !loop.body.empty() ? std::get_if<Step>(&loop.body.back()) : nullptr;
    if (last != nullptr && PutBehind(*last, tail, loop.decided)) return;
    if (loop.condition.empty()) return;
    loop.decided.next = Code(std::move(tail.kernel));
    loop.decided.next_arguments = AddAgain(tail.places);
    loop.decided.computes = true;
  }

  bool PutBehind(const Step& last, const LoopCondition& tail, LoopNode::Decided& decided) {
    const auto* const work = last.work.empty() ? nullptr : std::get_if<KernelWork>(&last.work.back());
    if (work == nullptr || work->trips != 0) return false;
    std::optional<FoldedCondition> folded = FoldBehind(program_, *work, *emitted_[work->code]->kernel, tail);
    if (!folded) return false;
    decided.next = Code(std::move(folded->kernel));
    std::vector<PlaceNumber> places = folded->places;
    if (folded->counts) {
      places.push_back(Add({{Area::kCounters, 0, program_.counter_bytes}, kBytesOfCounter}));
      program_.counter_bytes += kBufferAlignment;
      program_.memory.arena_bytes += kBufferAlignment;
      program_.memory.arena_lower_bound += kBufferAlignment;
    }
    decided.next_arguments = AddAgain(places);
    decided.handle_at = static_cast<size_t>(work->arguments.count);
    decided.computes = true;
    decided.last = &last;
    return true;
  }

  PlaceRange AddAgain(const std::vector<PlaceNumber>& places) {
    PlaceRange range{static_cast<PlaceNumber>(program_.places.size()), static_cast<int32_t>(places.size())};
    for (const PlaceNumber place : places) AddAgain(place);
    return range;
  }

  int Code(kernel::Kernel kernel) {
    kernels_.push_back(std::move(kernel));
    return static_cast<int>(program_.code.size() + kernels_.size()) - 1;
  }

  void AddToBranch(BranchNode& branch) {
    if (device_.Decides() == Decisions::kNone) {
      undecided_.push_back(branch.conditional->name());
      return;
    }
    branch.decided.by_device = true;
    const auto count = static_cast<int64_t>(branch.branches.size());
    for (int i = 0; i < count; ++i) {
      const BranchNode::Branch& one = branch.branches[i];
      if (!one.block.empty() || !one.end.empty()) branch.decided.asked.push_back(i);
    }
    if (branch.decided.asked.empty()) return;
    const bool by_pred = branch.conditional->operand(0).shape().type() == PrimitiveType::kPred;
    std::string name = Str("branch ", by_pred ? "by pred" : "by number", " of ", count);
    if (device_.Decides() == Decisions::kWithSwitch) {
      branch.decided.asked.clear();
    } else {
      for (const int asked : branch.decided.asked) name += Str(" ", asked);
    }
    branch.decided.set = Code(name, BranchConditionKernel, by_pred, count, std::span<const int>(branch.decided.asked));
    branch.decided.arguments = {AddAgain(branch.selector), 1};
  }

  // Adds a second number for a place. If turns.h moves the place between trips, the second number moves too.
  PlaceNumber AddAgain(PlaceNumber place) {
    const PlaceNumber again = Add(program_.places[place]);
    again_.emplace_back(place, again);
    return again;
  }
  void AddAgain(LoopNode::Turn& turn) const {
    for (std::vector<PlaceNumber>* const places : {&turn.state, &turn.next}) {
      for (const auto& [place, again] : again_) {
        if (std::ranges::count(*places, place) > 0) places->push_back(again);
      }
    }
  }

  PlaceNumber Add(PlaceUse place) {
    program_.places.push_back(place);
    return static_cast<PlaceNumber>(program_.places.size()) - 1;
  }

  // One kernel for each name.
  template <class Make, class... Args>
  int Code(std::string_view name, const Make& make, const Args&... args) {
    const auto [found, is_new] =
        number_of_.emplace(std::string(name), static_cast<int>(program_.code.size() + kernels_.size()));
    if (is_new) kernels_.push_back(make(args...));
    return found->second;
  }

  std::string WaitsText() const {
    const bool several = undecided_.size() > 1;
    const std::string more = several ? Str(" and ", undecided_.size() - 1, " more") : "";
    return Str("the host evaluates the condition", several ? "s" : "", " of '", undecided_.front(), "'", more,
               " and waits each time: ", device_.WhyHostDecides());
  }

  static constexpr int64_t kBytesOfCounter = 4;

  Program& program_;
  Device& device_;
  const std::span<const EmittedKernel* const> emitted_;
  std::vector<kernel::Kernel> kernels_;
  std::map<std::string, int> number_of_;
  std::vector<std::string_view> undecided_;
  std::vector<std::pair<PlaceNumber, PlaceNumber>> again_;
};

}  // namespace

kernel::Kernel LoopConditionKernel(bool first) {
  KernelBuilder k(first ? "begin_loop" : "next_trip", 1, kThreads);
  const Array condition = k.Condition("condition");
  const Array predicate = k.Input("predicate", Type::kPred, 1, 1);
  const Array trips = k.InOut("trips", Type::kS64, kTripFields);
  return OneThread(std::move(k), [&] { SetLoopCondition(k, condition, predicate.Load(int64_t{0}), trips, first); });
}

kernel::Kernel BranchConditionKernel(bool by_pred, int64_t branches, std::span<const int> asked) {
  KernelBuilder k("choose_branch", 1, kThreads);
  std::vector<Array> conditions;
  for (size_t i = 0; i < std::max<size_t>(1, asked.size()); ++i) conditions.push_back(k.Condition(Str("condition", i)));
  const Array selector = k.Input("selector", by_pred ? Type::kPred : Type::kS32, 1, by_pred ? 1 : 4);
  return OneThread(std::move(k), [&] {
    const Value selected = selector.Load(int64_t{0});
    const auto number = [&](int64_t branch) { return k.Constant(Type::kU32, branch); };
    const Value taken =
        by_pred ? Select(selected, number(0), number(1))
                : Select((selected < 0) | (selected >= branches), number(branches - 1), Convert(selected, Type::kU32));
    if (asked.empty()) return k.SetCondition(conditions.front(), taken);
    for (size_t i = 0; i < asked.size(); ++i)
      k.SetCondition(conditions[i], Select(taken == number(asked[i]), number(1), number(0)));
  });
}

Status AddConditions(Program& program, Device& device, std::span<const EmittedKernel* const> kernels) {
  if (!device.Records()) return {};
  return Adder(program, device, kernels).Add();
}

}  // namespace hlo::gpu
