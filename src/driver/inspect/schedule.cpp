#include "driver/inspect/schedule.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/cost.h"
#include "driver/inspect/stats.h"
#include "driver/inspect/text.h"
#include "ir/analysis/trip_count.h"
#include "ir/device_groups.h"
#include "ir/fusion.h"
#include "ir/mesh/unpartitioned.h"

namespace hlo {
namespace {

// Estimate: kernels of a GPU take this much longer beside an exchange, which uses some multiprocessors.
constexpr double kSlowdown = 1.08;

// One run of a computation. Times are in seconds since it began.
struct Outcome {
  double seconds = 0;
  double free = 0;  // The time at which the exchange queue becomes free, perhaps before `seconds`.
  double compute = 0;
  std::vector<double> runs, exposed;  // Indexed by exchange.

  double Lag() const { return std::max(0.0, free - seconds); }
  void Append(const Outcome& part, double times) {
    const double end = seconds + times * part.seconds;
    if (times > 0) free = end - part.seconds + part.free;
    seconds = end;
    compute += times * part.compute;
    for (size_t i = 0; i < runs.size(); ++i) {
      runs[i] += times * part.runs[i];
      exposed[i] += times * part.exposed[i];
    }
  }
};

class Simulator {
 public:
  Simulator(const Module& module, const TimeModel& kernels, bool is_gpu)
      : module_(module), kernels_(kernels), slowdown_(is_gpu ? kSlowdown : 1) {
    for (const Computation* computation : module.PostOrder()) {
      for (const Instruction* inst : computation->instructions()) {
        if (auto exchange = ExchangeOf(*inst)) {
          numbers_[inst] = exchanges_.size();
          exchanges_.push_back({.inst = inst, .exchange = std::move(*exchange)});
        } else if (!HasExchange(*inst)) {
          continue;
        }
        with_exchange_.insert(computation);
      }
    }
  }

  const std::vector<ScheduledExchange>& exchanges() const { return exchanges_; }

  // `topology` has `times` as many devices as the module.
  SimulatedStep Step(const Topology& topology, int64_t times) {
    for (ScheduledExchange& each : exchanges_) {
      Exchange grown = each.exchange;
      grown.groups = grown.groups.Grown(topology.DeviceCount() / times, times);
      each.time = TimeOfExchange(grown, topology);
    }
    outcomes_.clear();
    const Outcome outcome = RunOf(module_.entry(), 0);
    SimulatedStep step = {.topology = topology,
                          .step = std::max(outcome.seconds, outcome.free),
                          .compute = outcome.compute,
                          .exchanges = exchanges_};
    for (size_t i = 0; i < exchanges_.size(); ++i) {
      ScheduledExchange& each = step.exchanges[i];
      each.runs = outcome.runs[i];
      each.exposed = outcome.exposed[i];
      step.exchange += each.runs * each.time.seconds;
    }
    std::ranges::stable_sort(step.exchanges, std::greater(), [](const ScheduledExchange& each) {
      return std::pair(each.exposed, each.runs * each.time.seconds);
    });
    return step;
  }

 private:
  bool HasExchange(const Instruction& inst) const {
    return std::ranges::any_of(RunsOf(inst),
                               [&](const Runs& runs) { return with_exchange_.contains(runs.computation); });
  }

  void Compute(Outcome& run, double seconds) const {
    const double slowed = std::min(slowdown_ * seconds, run.Lag());
    const double duration = slowed + seconds - slowed / slowdown_;
    run.seconds += duration;
    run.compute += duration;
  }
  void Begin(Outcome& run, size_t exchange) const {
    run.free = std::max(run.seconds, run.free) + exchanges_[exchange].time.seconds;
    ++run.runs[exchange];
  }
  static void Wait(Outcome& run, size_t exchange, double end) {
    if (end <= run.seconds) return;
    run.exposed[exchange] += end - run.seconds;
    run.seconds = end;
  }

  // Simulates a run that begins `lag` seconds before the exchange queue becomes free.
  Outcome RunOf(const Computation& computation, double lag) {
    if (const auto known = outcomes_.find(&computation); lag == 0 && known != outcomes_.end()) return known->second;
    Outcome run = {
        .free = lag, .runs = std::vector<double>(exchanges_.size()), .exposed = std::vector<double>(exchanges_.size())};
    struct Pending {
      size_t exchange;
      double end;
    };
    std::unordered_map<const Instruction*, Pending> pending;
    const auto order = module_.header.is_scheduled ? computation.Instructions() : computation.PostOrder();
    for (const Instruction* inst : order) {
      switch (inst->opcode()) {
        case Opcode::kAllGatherDone:
        case Opcode::kAllReduceDone:
        case Opcode::kCollectivePermuteDone:
        case Opcode::kAsyncDone:
        case Opcode::kAsyncUpdate: {
          const auto start = pending.find(&inst->operand(0));
          if (start == pending.end()) break;
          if (inst->Is(Opcode::kAsyncUpdate)) pending[inst] = start->second;
          else Wait(run, start->second.exchange, start->second.end);
          break;
        }
        case Opcode::kAllGatherStart:
        case Opcode::kAllReduceStart:
        case Opcode::kCollectivePermuteStart:
          Begin(run, numbers_.at(inst));
          pending[inst] = {numbers_.at(inst), run.free};
          break;
        case Opcode::kAsyncStart:
          for (const Runs& called : RunsOf(*inst)) {
            for (const Instruction* inner : called.computation->Instructions()) {
              if (const auto number = numbers_.find(inner); number != numbers_.end()) {
                Begin(run, number->second);
                pending[inst] = {number->second, run.free};
              }
            }
          }
          if (!pending.contains(inst)) Compute(run, kernels_.TimeOf(*inst).total());
          break;
        default:
          if (const auto number = numbers_.find(inst); number != numbers_.end()) {
            Begin(run, number->second);
            Wait(run, number->second, run.free);
          } else if (HasExchange(*inst)) {
            Call(run, *inst);
          } else {
            Compute(run, kernels_.TimeOf(*inst).total());
          }
      }
    }
    if (lag == 0) outcomes_[&computation] = run;
    return run;
  }

  void Call(Outcome& run, const Instruction& inst) {
    if (inst.Is(Opcode::kWhile)) return Loop(run, inst);
    const std::vector<Runs> called = RunsOf(inst);
    if (!inst.Is(Opcode::kConditional)) {
      for (const Runs& each : called) run.Append(RunOf(*each.computation, run.Lag()), each.times);
      return;
    }
    Outcome longest;
    for (const Runs& branch : called) {
      Outcome outcome = RunOf(*branch.computation, run.Lag());
      if (outcome.seconds > longest.seconds || longest.runs.empty()) longest = std::move(outcome);
    }
    run.Append(longest, 1);
  }

  // The first trip may begin while an exchange runs. All later trips are alike.
  void Loop(Outcome& run, const Instruction& loop) {
    const auto& attrs = loop.attrs<WhileAttrs>();
    const auto trips = static_cast<double>(TripCount(loop).value_or(1));
    for (const double times : {std::min(trips, 1.0), std::max(trips - 1, 0.0)}) {
      if (times == 0) continue;
      Outcome trip = RunOf(*attrs.condition, run.Lag());
      trip.Append(RunOf(*attrs.body, trip.Lag()), 1);
      run.Append(trip, times);
    }
    run.Append(RunOf(*attrs.condition, run.Lag()), 1);
  }

  const Module& module_;
  const TimeModel& kernels_;
  double slowdown_;
  std::vector<ScheduledExchange> exchanges_;
  std::unordered_map<const Instruction*, size_t> numbers_;    // Into exchanges_.
  std::unordered_set<const Computation*> with_exchange_;      // Including computations that they call.
  std::unordered_map<const Computation*, Outcome> outcomes_;  // The runs without lag.
};

// Costs that the model omits. CostAnalysis lists exchanges, too, but this file models them.
std::vector<CostGap> GapsOfKernels(const Module& module, const CostAnalysis& costs) {
  std::vector<CostGap> gaps;
  for (const CostGap& gap : costs.gaps()) {
    if (!ExchangeOf(*gap.inst)) gaps.push_back(gap);
  }
  for (const Computation* computation : module.PostOrder()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(Opcode::kSend) || inst->Is(Opcode::kRecv))
        gaps.push_back({inst, "a transfer over a channel counts as a copy in memory"});
    }
  }
  return gaps;
}

std::string Microseconds(double seconds) { return Format("%.2f", 1e6 * seconds); }
std::string Percent(double share) { return Format("%.1f%%", 100 * share); }

std::string StepsTable(const ScheduleReport& report) {
  const std::vector<TopologyLevel>& levels = report.steps[0].topology.levels;
  std::vector<std::string> titles = {">devices"};
  if (levels.size() > 1) titles.emplace_back(">nodes");
  titles.insert(titles.end(), {">step us", ">compute us", ">exchange us", ">exposed us", ">overlap"});
  for (const TopologyLevel& level : levels) titles.push_back(Str(">", level.name));
  TextTable table(std::move(titles));
  for (const SimulatedStep& step : report.steps) {
    std::vector<std::string> cells = {Str(step.devices())};
    if (levels.size() > 1) cells.push_back(Str(step.topology.levels.back().size));
    for (const double seconds : {step.step, step.compute, step.exchange, step.exposed()})
      cells.push_back(Microseconds(seconds));
    cells.push_back(Percent(step.overlap()));
    for (size_t i = 0; i < levels.size(); ++i) cells.push_back(HumanBytes(step.ReceivedAt(i)));
    table.Row(std::move(cells));
  }
  return table.Text();
}

std::string ExchangesTable(const SimulatedStep& step, int64_t top) {
  TextTable table({"exchange", "kind", ">group", ">calls", ">est us", ">exposed us", "algorithm"});
  const size_t count = step.exchanges.size(), shown = top == 0 ? count : std::min(count, static_cast<size_t>(top));
  for (const ScheduledExchange& each : std::span(step.exchanges).first(shown)) {
    const bool is_pairs = each.exchange.kind == ExchangeKind::kPermute;
    table.Row({std::string(each.inst->name()), std::string(ToString(each.inst->opcode())),
               is_pairs ? "pairs" : Str(each.exchange.groups.Members()), HumanCount(each.runs),
               Microseconds(each.runs * each.time.seconds), Microseconds(each.exposed), each.time.algorithm});
  }
  return table.Text() + (shown < count ? Str("  ", count - shown, " more; --top=0 shows all\n") : "");
}

}  // namespace

double SimulatedStep::ReceivedAt(size_t level) const {
  double bytes = 0;
  for (const ScheduledExchange& each : exchanges) bytes += each.runs * each.time.received[level];
  return bytes;
}

Result<ScheduleReport> ScheduleOf(const Module& module, const DeviceDescription& device, const Topology& topology) {
  constexpr int64_t kMostDevices = 1 << 16, kGrowth = 4;
  const TimeModel kernels(module, device);
  ScheduleReport report = {.module = &module, .device = &device, .is_unpartitioned = SplitsArrays(module)};
  const KernelCounts counts = CountKernels(module);
  report.fused = counts.kernels + counts.libraries > 0;
  report.not_modelled = GapTexts(GapsOfKernels(module, kernels.costs()));
  Simulator simulator(module, kernels, device.is_gpu);
  for (const ScheduledExchange& each : simulator.exchanges())
    if (!each.exchange.groups.listed.empty()) ++report.fixed_groups;

  const int64_t devices = DevicesOf(module);
  report.steps.push_back(simulator.Step(TRY(topology.For(devices)), 1));
  if (simulator.exchanges().empty()) return report;
  const int64_t most = topology.DeviceCount() > 0 ? topology.DeviceCount() : kMostDevices;
  for (int64_t more = devices; more < most;) {
    more = more <= most / kGrowth ? kGrowth * more : most;
    if (more % devices == 0) report.steps.push_back(simulator.Step(TRY(topology.For(more)), more / devices));
  }
  return report;
}

std::string ScheduleText(const ScheduleReport& report, int64_t top) {
  const SimulatedStep& own = report.steps[0];
  std::string out = Str(report.module->source->name(), ": ", report.module->name(), ", one device of ", own.devices(),
                        " on ", report.device->name, "\n", own.topology.Text(), "\n\n", StepsTable(report));
  if (report.is_unpartitioned)
    out += "  the shardings split arrays, so this is not the program of one device ('hlo-opt' makes that)\n";
  if (own.exchanges.empty()) out += "  there are no collectives\n";
  if (report.steps.size() > 1) {
    out +=
        "  With more devices, groups along the major axis of the device numbers grow, and the arrays of\n"
        "  each device keep their sizes. That is right if this axis splits the data.\n";
    if (report.fixed_groups > 0)
      out += Str("  ", Counted(report.fixed_groups, "collective"), report.fixed_groups == 1 ? " has" : " have",
                 " pairs or irregular groups, which do not grow\n");
  }
  if (!report.fused)
    out += "  each instruction counts as a kernel, because the module has no fusions ('hlo-opt' makes them)\n";
  for (const std::string& gap : report.not_modelled) out += Str("  inexact: ", gap, "\n");
  if (!own.exchanges.empty()) out += "\n" + ExchangesTable(own, top);
  return out;
}

std::string ScheduleJson(const ScheduleReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.schedule/1").Key("path").Value(report.module->source->name());
  json.Key("module").Value(report.module->name()).Key("device").Value(report.device->name);
  json.Key("topology").Value(report.steps[0].topology.name).Key("unpartitioned").Value(report.is_unpartitioned);
  json.Key("fused").Value(report.fused).Key("fixed_groups").Value(report.fixed_groups);
  json.Key("not_modelled").Open('[');
  for (const std::string& gap : report.not_modelled) json.Value(gap);
  json.Close(']').Key("steps").Open('[');
  for (const SimulatedStep& step : report.steps) {
    json.Open('{').Key("devices").Value(step.devices()).Key("step_us").Value(1e6 * step.step);
    json.Key("compute_us").Value(1e6 * step.compute).Key("exchange_us").Value(1e6 * step.exchange);
    json.Key("exposed_us").Value(1e6 * step.exposed()).Key("levels").Open('[');
    for (size_t i = 0; i < step.topology.levels.size(); ++i) {
      const TopologyLevel& level = step.topology.levels[i];
      json.Open('{').Key("name").Value(level.name).Key("size").Value(level.size);
      json.Key("bytes").Value(step.ReceivedAt(i)).Close('}');
    }
    json.Close(']').Close('}');
  }
  json.Close(']').Key("exchanges").Open('[');
  for (const ScheduledExchange& each : report.steps[0].exchanges) {
    json.Open('{').Key("name").Value(each.inst->name()).Key("opcode").Value(ToString(each.inst->opcode()));
    json.Key("group").Value(each.exchange.kind == ExchangeKind::kPermute ? 0 : each.exchange.groups.Members());
    json.Key("calls").Value(each.runs).Key("est_us").Value(1e6 * each.runs * each.time.seconds);
    json.Key("exposed_us").Value(1e6 * each.exposed).Key("algorithm").Value(each.time.algorithm).Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
