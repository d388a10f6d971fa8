#include "driver/inspect/cost.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/stats.h"
#include "driver/inspect/text.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"
#include "ir/region.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

// The kernels of its plan; else it is one.
double LaunchesOf(const Instruction& inst) {
  const auto plan = ReadPlan(inst);
  return plan && *plan ? static_cast<double>((*plan)->kernels.size()) : 1;
}

// As its plan says; without one, what is known of it.
std::string KindOf(const Instruction& inst) {
  if (const auto plan = ReadPlan(inst); plan && *plan) {
    std::vector<std::string_view> kinds;
    for (const KernelPlan& kernel : (*plan)->kernels) kinds.push_back(ToString(kernel.kind));
    return Join(kinds, " + ");
  }
  if (IsLibraryCall(inst)) return LibraryOf(inst);
  if (IsRegion(inst)) return Str("region, ", RegionOf(inst));
  if (inst.Is(Opcode::kFusion)) return std::string(ToString(inst.attrs<FusionAttrs>().kind));
  if (!inst.Is(Opcode::kWhile)) return std::string(ToString(inst.opcode()));
  const auto trips = TripCount(inst);
  return trips ? Str("while, ", Counted(*trips, "trip")) : "while, once";
}

std::string Microseconds(double seconds) { return Format("%.2f", seconds * 1e6); }
// Of a whole run: the golden files leave out what stands before "us".
std::string WithUnit(double seconds) { return Microseconds(seconds) + " us"; }
double Intensity(const Cost& cost) { return cost.bytes() > 0 ? (cost.flops + cost.transcendentals) / cost.bytes() : 0; }
double Share(const CostRow& row, const CostReport& report) {
  return report.time.total() > 0 ? row.time.total() / report.time.total() : 0;
}

bool IsMeasured(const CostReport& report) {
  return std::ranges::any_of(report.rows, [](const CostRow& row) { return row.measured_us.has_value(); });
}

// A field of a CSV line: quoted, since names of ops hold commas.
std::string CsvText(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string_view ToString(Bound bound) {
  constexpr std::string_view kWords[] = {"memory", "dot", "compute", "launch"};
  return kWords[static_cast<int>(bound)];
}

// One block has one multiprocessor's share.
TimeEstimate EstimateOf(const Instruction& inst, const Cost& whole, const DeviceDescription& device) {
  const bool is_block = RegionOf(inst) == "block";
  const Cost cost = is_block ? whole.Times(std::max(1, device.multiprocessors)) : whole;
  const double memory = cost.bytes() / device.memory_rate;
  double dots = 0;
  for (int width = 0; width < kDotWidths; ++width) dots += cost.dot_flops[width] / device.dot_rates[width];
  const double compute = cost.scalar_work / device.instruction_rate;
  TimeEstimate time{.launches = LaunchesOf(inst)};
  const Bound bound = memory >= dots && memory >= compute ? Bound::kMemory
                      : dots >= compute                   ? Bound::kDot
                                                          : Bound::kCompute;
  time.seconds[static_cast<int>(bound)] = std::max({memory, dots, compute});
  time.seconds[static_cast<int>(Bound::kLaunch)] = time.launches * device.launch_seconds;
  return time;
}

double TimeEstimate::total() const {
  double sum = 0;
  for (const double part : seconds) sum += part;
  return sum;
}

Bound TimeEstimate::bound() const {
  return static_cast<Bound>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

TimeEstimate& TimeEstimate::operator+=(const TimeEstimate& other) {
  for (int i = 0; i < kBounds; ++i) seconds[i] += other.seconds[i];
  launches += other.launches;
  return *this;
}

TimeEstimate TimeEstimate::Times(double count) const {
  TimeEstimate time = *this;
  for (double& part : time.seconds) part *= count;
  time.launches *= count;
  return time;
}

TimeModel::TimeModel(const Module& module, const DeviceDescription& device) : device_(device), costs_(module) {
  for (const Computation* computation : module.PostOrder()) {
    TimeEstimate& sum = sums_[computation];
    for (const Instruction* inst : computation->instructions()) sum += Of(*inst);
  }
}

TimeEstimate TimeModel::Of(const Instruction& inst) const {
  if (!inst.Is(kControl) && !inst.Is(Opcode::kAsyncStart))
    return inst.Is(kOnlyNames) ? TimeEstimate() : EstimateOf(inst, costs_.Of(inst), device_);
  TimeEstimate time;
  for (const auto& [called, times] : RunsOf(inst)) {
    const TimeEstimate& sum = sums_.at(called);
    if (!inst.Is(Opcode::kConditional)) time += sum.Times(times);
    else if (sum.total() > time.total()) time = sum;
  }
  return time;
}

CostReport CostReportOf(const Module& module, const DeviceDescription& device) {
  const TimeModel times(module, device);
  const CostAnalysis& costs = times.costs();
  CostReport report{.path = module.source->name(), .module_name = module.name(), .device = &device};
  const KernelCounts kernels = CountKernels(module);
  const SourcePlaces places(module);
  report.fused = kernels.kernels + kernels.libraries > 0;
  report.cost = costs.Of(module.entry());
  report.time = times.Of(module.entry());
  report.not_modelled = GapTexts(costs.gaps());
  for (const Instruction* inst : module.entry().Instructions()) {
    const TimeEstimate time = times.Of(*inst);
    if (time.launches > 0) report.rows.push_back({inst, KindOf(*inst), places.Of(*inst), costs.Of(*inst), time});
  }
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const CostRow& a, const CostRow& b) { return a.time.total() > b.time.total(); });
  return report;
}

std::string CostText(const CostReport& report, int64_t top) {
  std::string out = Str(report.path, ": ", report.module_name, " on ", report.device->name, ", by its description\n");
  const size_t shown = top > 0 ? std::min<size_t>(report.rows.size(), static_cast<size_t>(top)) : report.rows.size();
  const bool measured = IsMeasured(report);
  std::vector<std::string> titles = {"instruction", "kind", ">flop", ">trans", ">bytes", ">flop/B", ">est us"};
  if (measured) titles.insert(titles.end(), {">measured us", ">times est"});
  titles.insert(titles.end(), {"bound", ">share", "op_name", "source"});
  TextTable table(std::move(titles));
  for (size_t i = 0; i < shown; ++i) {
    const CostRow& row = report.rows[i];
    std::vector<std::string> cells = {std::string(row.inst->name()), row.kind,
                                      HumanCount(row.cost.flops),    HumanCount(row.cost.transcendentals),
                                      HumanBytes(row.cost.bytes()),  Format("%.2f", Intensity(row.cost)),
                                      Microseconds(row.time.total())};
    if (measured) {
      cells.push_back(row.measured_us ? Format("%.2f", *row.measured_us) : "-");
      cells.push_back(row.measured_us ? Format("%.1f", *row.measured_us / (1e6 * row.time.total())) : "-");
    }
    for (std::string cell : {std::string(ToString(row.time.bound())), Format("%.1f%%", 100 * Share(row, report)),
                             std::string(row.inst->metadata().op_name), row.source})
      cells.push_back(std::move(cell));
    table.Row(std::move(cells));
  }
  out += table.Text();
  if (shown < report.rows.size()) out += Format("  ... and %zu more\n", report.rows.size() - shown);
  out += Str("total ", HumanCount(report.cost.flops), " flop, ", HumanCount(report.cost.transcendentals),
             " transcendental, ", HumanBytes(report.cost.bytes()), ", est ", WithUnit(report.time.total()), " (",
             HumanCount(report.time.launches), report.time.launches == 1 ? " launch of " : " launches of ",
             WithUnit(report.device->launch_seconds), " in it)\n");
  if (!report.fused) out += "  each instruction counts as a kernel: nothing is fused ('hlo-opt' does it)\n";
  out += "  not modelled: caches, occupancy, uncoalesced access, overlap of kernels, TF32\n";
  for (const std::string& gap : report.not_modelled) out += Str("  inexact: ", gap, "\n");
  return out;
}

std::string CostCsv(const CostReport& report) {
  std::string out = "instruction,kind,flops,transcendentals,bytes_read,bytes_written,est_us,bound,share,op_name,source";
  const bool measured = IsMeasured(report);
  out += measured ? ",measured_us\n" : "\n";
  for (const CostRow& row : report.rows) {
    out += Str(row.inst->name(), ",", CsvText(row.kind), ",", row.cost.flops, ",", row.cost.transcendentals, ",",
               row.cost.bytes_read, ",", row.cost.bytes_written, ",", row.time.total() * 1e6, ",",
               ToString(row.time.bound()), ",", Share(row, report), ",", CsvText(row.inst->metadata().op_name), ",",
               CsvText(row.source), measured ? "," : "", row.measured_us ? Str(*row.measured_us) : "", "\n");
  }
  return out;
}

std::string CostJson(const CostReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.cost/1").Key("path").Value(report.path);
  json.Key("module").Value(report.module_name).Key("device").Value(report.device->name);
  json.Key("fused").Value(report.fused);
  json.Key("flops").Value(report.cost.flops).Key("transcendentals").Value(report.cost.transcendentals);
  json.Key("bytes_read").Value(report.cost.bytes_read).Key("bytes_written").Value(report.cost.bytes_written);
  json.Key("est_us").Value(report.time.total() * 1e6).Key("launches").Value(report.time.launches);
  json.Key("not_modelled").Open('[');
  for (const std::string& gap : report.not_modelled) json.Value(gap);
  json.Close(']').Key("rows").Open('[');
  for (const CostRow& row : report.rows) {
    json.Open('{').Key("instruction").Value(row.inst->name()).Key("kind").Value(row.kind);
    json.Key("flops").Value(row.cost.flops).Key("transcendentals").Value(row.cost.transcendentals);
    json.Key("bytes_read").Value(row.cost.bytes_read).Key("bytes_written").Value(row.cost.bytes_written);
    if (row.measured_us) json.Key("measured_us").Value(*row.measured_us);
    json.Key("est_us").Value(row.time.total() * 1e6).Key("bound").Value(ToString(row.time.bound()));
    json.Key("share").Value(Share(row, report)).Key("op_name").Value(row.inst->metadata().op_name);
    json.Key("source").Value(row.source).Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
