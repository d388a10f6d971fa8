#include "driver/profile/profile.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/hash_bytes.h"
#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "gpu/kernel/kernel.h"
#include "gpu/runtime/memory_curve.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"

namespace hlo {
namespace {

std::string NameOf(const gpu::BufferedValue& value) {
  const Instruction& inst = *value.definition;
  if (value.kind == gpu::ValueKind::kScratch) return Str("scratch of ", inst.name());
  return inst.shape().IsTuple() ? Str(inst.name(), "{", value.leaf, "}") : std::string(inst.name());
}

MemoryProfile MemoryOf(const gpu::Executable& executable, const gpu::MemoryCurve& curve, const SourcePlaces& places) {
  const gpu::MemoryReport& plan = executable.memory();
  MemoryProfile memory{.parameter_bytes = plan.parameter_bytes,
                       .constant_bytes = plan.constant_bytes,
                       .kept_bytes = plan.packed_bytes,
                       .planned_bytes = plan.peak_bytes(),
                       .peak_bytes = curve.at[curve.peak].bytes()};
  // Control flow has positions without a step, for which the previous step is reported.
  std::vector<std::pair<int64_t, const Instruction*>> steps;
  for (size_t i = 0; i < executable.steps().size(); ++i)
    steps.emplace_back(curve.position_of_step[i], executable.steps()[i].instruction);
  std::ranges::sort(steps, {}, &std::pair<int64_t, const Instruction*>::first);
  const auto step_at = [&](int64_t position) -> std::string {
    const auto after = std::ranges::upper_bound(steps, position, {}, &std::pair<int64_t, const Instruction*>::first);
    return after == steps.begin() ? "the beginning" : std::string(std::prev(after)->second->name());
  };
  memory.peak_at = step_at(curve.peak);
  for (const gpu::HeldBuffer& held : curve.at_peak) {
    const Instruction& inst = WithOrigin(*held.value->definition, places);
    memory.at_peak.push_back({.name = NameOf(*held.value),
                              .shape = held.value->shape != nullptr ? Str(*held.value->shape) : "",
                              .op_name = std::string(inst.metadata().op_name),
                              .source = places.PlaceOf(inst),
                              .bytes = held.bytes,
                              .is_output = held.is_output,
                              .from = step_at(held.first),
                              .to = step_at(held.last)});
  }
  return memory;
}

// Adds names of input instructions from which `inst` was made, also inside fusions. Keys are ids.
using NamesById = std::unordered_map<int, std::string_view>;
void AddMadeOf(const Instruction& inst, const NamesById& names, std::set<std::string_view>* made_of) {
  if (const auto known = names.find(inst.origin()); known != names.end()) made_of->insert(known->second);
  if (!IsFusion(inst)) return;
  for (const Instruction* one : FusedComputation(inst).instructions()) {
    if (!one->Is(Opcode::kParameter)) AddMadeOf(*one, names, made_of);
  }
}

// Touches as much memory as the previous run needed, so that the run allocates none.
void MakeRoom(const gpu::Timeline& before, gpu::Timeline* timeline) {
  timeline->events.resize(std::min(timeline->most_events, before.events.size()));
  timeline->events.clear();
  timeline->trips.resize(std::min(timeline->most_events, before.trips.size()));
  timeline->trips.clear();
}

Result<int64_t> TimeRun(gpu::Executable& executable, gpu::Timeline* timeline, std::vector<std::string>* notes) {
  TRY(executable.MakeReady());
  const int64_t begin = gpu::Timeline::Now();
  TRY(executable.Execute({.timeline = timeline, .notes = notes}));
  return gpu::Timeline::Now() - begin;
}

}  // namespace

std::string KindOf(const gpu::StepInfo& step) {
  if (step.plan.kernels.empty()) return std::string(gpu::ToString(step.kind));
  std::vector<std::string_view> kinds;
  for (const KernelPlan& kernel : step.plan.kernels) kinds.push_back(ToString(kernel.kind));
  return Join(kinds, " + ");
}

std::string_view ToString(TimeClass time_class) {
  constexpr std::string_view kWords[] = {"kernels", "library calls", "copies", "fills", "collectives", "interpreter"};
  return kWords[static_cast<int>(time_class)];
}

// A collective counts as such even if the interpreter computes it.
TimeClass ProfiledStep::Class() const {
  if (is_collective) return TimeClass::kCollective;
  constexpr std::pair<gpu::StepKind, TimeClass> kClasses[] = {
      {gpu::StepKind::kKernel, TimeClass::kKernel},       {gpu::StepKind::kGemm, TimeClass::kLibrary},
      {gpu::StepKind::kConvolution, TimeClass::kLibrary}, {gpu::StepKind::kAttention, TimeClass::kLibrary},
      {gpu::StepKind::kCopy, TimeClass::kCopy},           {gpu::StepKind::kFill, TimeClass::kFill},
      {gpu::StepKind::kHostCall, TimeClass::kInterpreter}};
  return std::ranges::find(kClasses, sort, &std::pair<gpu::StepKind, TimeClass>::first)->second;
}

int BitsOf(const Instruction& inst, const Cost& cost) {
  const auto widest = std::ranges::max_element(cost.dot_flops);
  if (*widest > 0) return 8 << (widest - cost.dot_flops.begin());
  std::map<int, int64_t> bytes;
  const auto add = [&](const Shape& shape) {
    ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) {
      if (!leaf.IsArray()) return;
      const int bits = BitWidth(leaf.type()) / (IsComplex(leaf.type()) ? 2 : 1);
      bytes[std::clamp(bits, 8, 64)] += leaf.ByteSize();
    });
  };
  add(inst.shape());
  for (const Instruction* operand : inst.operands()) add(operand->shape());
  const auto most = std::ranges::max_element(bytes, {}, &std::pair<const int, int64_t>::second);
  return most == bytes.end() ? 32 : most->first;
}

Profile DescribeProgram(const gpu::Executable& executable, const DeviceDescription& target, bool allow_tf32) {
  const Module& module = executable.module();
  const CostAnalysis costs(module);
  const SourcePlaces places(module);
  const gpu::MemoryCurve curve = gpu::CurveOf(*executable.program());
  Profile profile{.platform = executable.device().name(),
                  .device = executable.device().description(),
                  .is_host = executable.device().IsHost(),
                  .target = std::string(target.name),
                  .roof = executable.device().Describe()};
  for (const gpu::StepInfo& info : executable.steps()) {
    const Instruction &inst = *info.instruction, &origin = WithOrigin(inst, places);
    ProfiledStep step{.name = std::string(inst.name()),
                      .sort = info.kind,
                      .kind = KindOf(info),
                      .how = info.how,
                      .op_name = std::string(origin.metadata().op_name),
                      .source = places.PlaceOf(origin),
                      .slow = info.plan.slow,
                      .refused = Join(info.plan.refused, "; "),
                      .cost = costs.CostOf(inst),
                      .work = WorkOf(inst)};
    if (!info.plan.kernels.empty()) {
      step.library = info.plan.kernels.front().library;
      step.launches = std::ssize(info.plan.kernels);
    }
    if (step.IsInterpreted()) step.launches = 0;
    step.is_collective = inst.Is(kCollective);
    for (const gpu::EmittedKernel& one : info.kernels)
      step.sizes.push_back({one.kernel->blocks, one.kernel->threads, one.kernel->SharedBytes()});
    step.bits = BitsOf(inst, step.cost);
    step.tensor_cores = TensorCoresOf(info, target, profile.is_host, allow_tf32);
    TimeEstimate least = EstimateOf(inst, step.cost, profile.roof);
    least.seconds[static_cast<int>(Bound::kLaunch)] = 0;  // Launches are timed separately.
    step.least_seconds = least.total();
    step.bound = least.bound();
    step.live_bytes = curve.at[curve.position_of_step[profile.steps.size()]].bytes();
    profile.steps.push_back(std::move(step));
  }
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (inst->Is(Opcode::kWhile))
        profile.loops[inst->id()] = {std::string(inst->name()), std::string(inst->metadata().op_name),
                                     places.PlaceOf(*inst)};
    }
  }
  profile.memory = MemoryOf(executable, curve, places);
  return profile;
}

void AddOrigins(const gpu::Executable& executable, const Module& input, Profile* profile) {
  NamesById names;
  for (const Computation* computation : input.Computations()) {
    for (const Instruction* inst : computation->Instructions()) names.emplace(inst->id(), inst->name());
  }
  for (size_t i = 0; i < profile->steps.size(); ++i) {
    const Instruction& inst = *executable.steps()[i].instruction;
    std::set<std::string_view> made_of, results;
    AddMadeOf(inst, names, &made_of);
    for (const Instruction* root : IsFusion(inst) ? FusionRoots(inst) : std::vector<const Instruction*>{&inst}) {
      if (const auto known = names.find(root->origin()); known != names.end()) results.insert(known->second);
    }
    profile->steps[i].made_of.assign(made_of.begin(), made_of.end());
    profile->steps[i].results.assign(results.begin(), results.end());
  }
}

uint64_t WorkOf(const Instruction& inst) {
  uint64_t hash = HashOperation(inst);
  const auto mix = [&](uint64_t value) { hash = (hash ^ value) * 0x9E3779B97F4A7C15, hash ^= hash >> 31; };
  for (const Instruction* operand : inst.operands()) mix(HashBytes(Str(operand->shape())));
  for (const Computation* called : CalledComputations(inst)) mix(Fingerprint(*called));
  return std::max<uint64_t>(1, hash);
}

Status AddRuns(gpu::Executable& executable, Progress& progress, Profile* profile) {
  constexpr size_t kFew = 3, kRuns = 10, kMostRuns = 1000;
  constexpr int64_t kEnough = 200'000'000, kLong = 2'000'000'000, kTooLong = 20'000'000'000;
  constexpr size_t kMostEvents = size_t{1} << 22;
  progress.Stage("profiling");
  size_t events = 0;
  const int64_t begin = gpu::Timeline::Now();
  const auto goes_on = [&] {
    const size_t runs = profile->runs.size();
    const int64_t spent = gpu::Timeline::Now() - begin;
    if (runs < kFew) return runs == 0 || spent < kTooLong;
    return (runs < kRuns || spent < kEnough) && spent < kLong && runs < kMostRuns && events < kMostEvents;
  };
  std::string no_log;
  while (goes_on()) {
    profile->plain_ns.push_back(TRY(TimeRun(executable, nullptr, &profile->notes)));
    gpu::Timeline timeline;
    timeline.no_log = no_log;
    timeline.most_events = kMostEvents - std::min(events, kMostEvents);
    if (!profile->runs.empty()) MakeRoom(profile->runs.back(), &timeline);
    profile->profiled_ns.push_back(TRY(TimeRun(executable, &timeline, &profile->notes)));
    no_log = timeline.no_log;
    if (timeline.is_lost) {  // Happens once, because later runs do not use the log.
      profile->plain_ns.pop_back();
      profile->profiled_ns.pop_back();
      continue;
    }
    events += timeline.events.size();
    profile->runs.push_back(std::move(timeline));
    progress.Step(std::ssize(profile->runs), 0, "run");
  }
  return {};
}

}  // namespace hlo
