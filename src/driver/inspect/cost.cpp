#include "driver/inspect/cost.h"

#include <algorithm>
#include <iterator>
#include <ranges>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/stats.h"
#include "driver/inspect/text.h"
#include "gpu/libraries/open.h"
#include "ir/analysis/region.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"
#include "ir/fusion_plan.h"

namespace hlo {
namespace {

// Launches of an instruction. 1 without a plan. The launches inside a library call are not known and count as one.
double LaunchesOf(const Instruction& inst) {
  const auto plan = ReadPlan(inst);
  if (!plan || !*plan) return 1;
  double launches = 0;
  for (const KernelPlan& kernel : (*plan)->kernels) launches += gpu::HasOwnPart(kernel) ? 2 : 1;
  return launches;
}

// Whether only a library can run the region as one step (src/ir/analysis/region.h).
bool IsForLibrary(const Instruction& inst) {
  const std::string region = RegionOf(inst);
  return region == "statistics" || region == "attention_gradient";
}

bool IsLibrarys(const Instruction& inst) {
  if (IsLibraryCall(inst)) return true;
  const auto plan = ReadPlan(inst);
  return plan && *plan && (*plan)->kernels.front().kind == KernelKind::kLibraryAttention;
}

std::vector<std::string> OpenLaunches(const std::vector<CostRow>& rows) {
  std::vector<std::string> texts;
  const auto calls = std::ranges::count_if(rows, [](const CostRow& row) { return IsLibrarys(*row.inst); });
  if (calls > 0)
    texts.push_back(Str(Counted(calls, "library call"), calls == 1 ? " counts" : " count",
                        " as one launch, and as two if a kernel of hlokit computes part of the call; how many kernels "
                        "the library runs is not known"));
  const auto regions = std::ranges::count_if(rows, [](const CostRow& row) { return IsForLibrary(*row.inst); });
  if (regions > 0)
    texts.push_back(Str(Counted(regions, "region"), regions == 1 ? " counts" : " count",
                        " as one launch, which is right if a library computes the region; otherwise each kernel in the "
                        "region is a launch (hlo opt --stage=hlo-backend)"));
  return texts;
}

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
  return trips ? Str("while, ", Counted(*trips, "trip")) : "while, counted once";
}

std::string Microseconds(double seconds) { return Format("%.2f", seconds * 1e6); }
// The unit "us" tells golden files which number to leave out, because it varies.
std::string WithUnit(double seconds) { return Microseconds(seconds) + " us"; }
double Intensity(const Cost& cost) { return cost.bytes() > 0 ? (cost.flops + cost.transcendentals) / cost.bytes() : 0; }
double Share(const TimeEstimate& time, const CostReport& report) {
  return report.time.total() > 0 ? time.total() / report.time.total() : 0;
}

bool IsMeasured(const CostReport& report) {
  return std::ranges::any_of(report.rows, [](const CostRow& row) { return row.measured_us.has_value(); });
}

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

// A region `block` runs on one multiprocessor, so its cost is multiplied by their number.
TimeEstimate EstimateOf(const Instruction& inst, const Cost& whole, const DeviceDescription& device) {
  const bool is_block = RegionOf(inst) == "block";
  const Cost cost = is_block ? whole.Times(std::max(1, device.multiprocessors)) : whole;
  const Roofline roof = RooflineOf(cost, device);
  TimeEstimate time{.launches = LaunchesOf(inst)};
  const Bound bound = roof.memory >= roof.dots && roof.memory >= roof.scalar ? Bound::kMemory
                      : roof.dots >= roof.scalar                             ? Bound::kDot
                                                                             : Bound::kCompute;
  time.seconds[static_cast<int>(bound)] = roof.Seconds();
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
    for (const Instruction* inst : computation->instructions()) sum += TimeOf(*inst);
  }
}

TimeEstimate TimeModel::TimeOf(const Instruction& inst) const {
  if (!inst.Is(kControl) && !inst.Is(Opcode::kAsyncStart))
    return inst.Is(kNoKernel) ? TimeEstimate() : EstimateOf(inst, costs_.CostOf(inst), device_);
  TimeEstimate time;
  for (const auto& [called, times] : RunsOf(inst)) {
    const TimeEstimate& sum = sums_.at(called);
    if (!inst.Is(Opcode::kConditional)) time += sum.Times(times);
    else if (sum.total() > time.total()) time = sum;
  }
  return time;
}

namespace {

// A conditional keeps its own row, because only one of its branches counts.
bool IsExpanded(const Instruction& inst, const CostOptions& options) {
  return options.expand_loops && !inst.Is(Opcode::kConditional) && (inst.Is(kControl) || inst.Is(Opcode::kAsyncStart));
}

std::vector<Runs> Entered(const Module& module, const Computation& root, const CostOptions& options) {
  std::unordered_map<const Computation*, double> times = {{&root, 1}};
  std::vector<Runs> entered;
  for (const Computation* computation : std::views::reverse(module.PostOrder())) {
    const auto own = times.find(computation);
    if (own == times.end()) continue;
    const double runs = own->second;
    entered.push_back({computation, runs});
    for (const Instruction* inst : computation->instructions()) {
      if (!IsExpanded(*inst, options)) continue;
      for (const auto& [called, count] : RunsOf(*inst)) times[called] += runs * count;
    }
  }
  return entered;
}

}  // namespace

CostReport CostReportOf(const Module& module, const DeviceDescription& device, const CostOptions& options) {
  const TimeModel times(module, device);
  const CostAnalysis& costs = times.costs();
  CostReport report{.path = module.source->name(), .module_name = module.name(), .device = &device, .by = options.by};
  const KernelCounts kernels = CountKernels(module);
  const SourcePlaces places(module);
  const Computation& root = options.computation != nullptr ? *options.computation : module.entry();
  if (&root != &module.entry()) report.computation = root.name();
  report.fused = kernels.kernels + kernels.libraries > 0;
  report.cost = costs.CostOf(root);
  report.time = times.TimeOf(root);
  report.not_modelled = GapTexts(costs.gaps());
  for (const auto& [computation, runs] : Entered(module, root, options)) {
    for (const Instruction* inst : computation->Instructions()) {
      const TimeEstimate time = times.TimeOf(*inst).Times(runs);
      if (time.launches == 0 || IsExpanded(*inst, options)) continue;
      const Instruction& origin = WithOrigin(*inst, places);
      report.rows.push_back({.inst = inst,
                             .kind = KindOf(*inst),
                             .op_name = std::string(origin.metadata().op_name),
                             .source = places.PlaceOf(origin),
                             .runs = runs,
                             .cost = costs.CostOf(*inst).Times(runs),
                             .time = time,
                             .measured_us = {}});
    }
  }
  std::stable_sort(report.rows.begin(), report.rows.end(),
                   [](const CostRow& a, const CostRow& b) { return a.time.total() > b.time.total(); });
  if (device.is_gpu) std::ranges::move(OpenLaunches(report.rows), std::back_inserter(report.not_modelled));
  return report;
}

namespace {

std::string InText(const CostRow& row, const CostReport& report) {
  const std::string_view name = row.inst->computation().name();
  return row.inst->computation().IsEntry() || name == report.computation ? "" : std::string(name);
}

std::vector<std::string> Figures(const Cost& cost, const TimeEstimate& time, std::optional<double> measured_us,
                                 const CostReport& report) {
  std::vector<std::string> cells = {HumanCount(cost.flops), HumanCount(cost.transcendentals), HumanBytes(cost.bytes()),
                                    Format("%.2f", Intensity(cost)), Microseconds(time.total())};
  if (IsMeasured(report)) {
    cells.push_back(measured_us ? Format("%.2f", *measured_us) : "-");
    cells.push_back(measured_us ? Format("%.1f", *measured_us / (1e6 * time.total())) : "-");
  }
  cells.emplace_back(ToString(time.bound()));
  cells.push_back(Format("%.1f%%", 100 * Share(time, report)));
  return cells;
}

std::vector<std::string> FigureTitles(const CostReport& report) {
  std::vector<std::string> titles = {">flop", ">trans", ">bytes", ">flop/B", ">est us"};
  if (IsMeasured(report)) titles.insert(titles.end(), {">measured us", ">times est"});
  titles.insert(titles.end(), {"bound", ">share"});
  return titles;
}

std::string RowsText(const CostReport& report, int64_t top) {
  const size_t shown = top > 0 ? std::min<size_t>(report.rows.size(), static_cast<size_t>(top)) : report.rows.size();
  const auto any = [&](const auto& has) { return std::ranges::any_of(report.rows, has); };
  const bool with_in = any([&](const CostRow& row) { return !InText(row, report).empty(); });
  const bool with_runs = any([](const CostRow& row) { return row.runs != 1; });
  std::vector<std::string> titles = {"instruction"};
  if (with_in) titles.emplace_back("in");
  titles.emplace_back("kind");
  if (with_runs) titles.emplace_back(">runs");
  for (std::string title : FigureTitles(report)) titles.push_back(std::move(title));
  titles.insert(titles.end(), {"op_name", "source"});
  TextTable table(std::move(titles));
  for (size_t i = 0; i < shown; ++i) {
    const CostRow& row = report.rows[i];
    std::vector<std::string> cells = {std::string(row.inst->name())};
    if (with_in) cells.push_back(InText(row, report));
    cells.push_back(row.kind);
    if (with_runs) cells.push_back(HumanCount(row.runs));
    for (std::string cell : Figures(row.cost, row.time, row.measured_us, report)) cells.push_back(std::move(cell));
    cells.push_back(row.op_name);
    cells.push_back(row.source);
    table.Row(std::move(cells));
  }
  return table.Text() + (shown < report.rows.size() ? Format("  ... and %zu more\n", report.rows.size() - shown) : "");
}

std::string GroupsText(const CostReport& report, int64_t top) {
  std::vector<std::string> titles = {">launches"};
  for (std::string title : FigureTitles(report)) titles.push_back(std::move(title));
  titles.push_back(report.by);
  TextTable table(std::move(titles));
  std::vector<std::string_view> around;
  const std::vector<CostGroup> groups = CostGroupsOf(report, top);
  for (const CostGroup& group : groups) {
    around.resize(group.depth);
    std::vector<std::string> cells = {HumanCount(group.time.launches)};
    for (std::string cell : Figures(group.cost, group.time, group.measured_us, report))
      cells.push_back(std::move(cell));
    const size_t known = around.empty() ? 0 : around.back().size() + 1;
    cells.push_back(std::string(2 * around.size(), ' ') + group.name.substr(known));
    table.Row(std::move(cells));
    around.emplace_back(group.name);
  }
  std::string out = table.Text();
  if (const auto all = CostGroupsOf(report, 0).size(); groups.size() < all)
    out += Format("  ... and %zu more\n", all - groups.size());
  return out;
}

}  // namespace

std::string CostText(const CostReport& report, int64_t top) {
  std::string out = Str(report.path, ": ", report.module_name,
                        report.computation.empty() ? "" : Str(", one run of '", report.computation, "',"), " on ",
                        report.device->name, ", by its description\n",
                        report.by.empty() ? RowsText(report, top) : GroupsText(report, top));
  out += Str("total ", HumanCount(report.cost.flops), " flop, ", HumanCount(report.cost.transcendentals),
             " transcendental, ", HumanBytes(report.cost.bytes()), ", est ", WithUnit(report.time.total()), " (",
             HumanCount(report.time.launches), report.time.launches == 1 ? " launch of " : " launches of ",
             WithUnit(report.device->launch_seconds), " in it)\n");
  if (!report.fused)
    out += "  each instruction counts as a kernel, because the module has no fusions ('hlo-opt' makes them)\n";
  out += "  not modelled: caches, occupancy, uncoalesced access, overlap of kernels, TF32\n";
  for (const std::string& gap : report.not_modelled) out += Str("  inexact: ", gap, "\n");
  return out;
}

std::string CostCsv(const CostReport& report) {
  const bool measured = IsMeasured(report);
  const std::string last = measured ? ",measured_us\n" : "\n";
  const auto us = [&](std::optional<double> value) { return Str(measured ? "," : "", value ? Str(*value) : "", "\n"); };
  std::string out;
  if (!report.by.empty()) {
    out = Str(report.by, ",launches,flops,transcendentals,bytes_read,bytes_written,est_us,bound,share", last);
    for (const CostGroup& group : CostGroupsOf(report, 0))
      out += Str(CsvText(group.name), ",", group.time.launches, ",", group.cost.flops, ",", group.cost.transcendentals,
                 ",", group.cost.bytes_read, ",", group.cost.bytes_written, ",", group.time.total() * 1e6, ",",
                 ToString(group.time.bound()), ",", Share(group.time, report), us(group.measured_us));
    return out;
  }
  out =
      Str("instruction,computation,runs,kind,flops,transcendentals,bytes_read,bytes_written,est_us,bound,share,op_name,"
          "source",
          last);
  for (const CostRow& row : report.rows) {
    out += Str(row.inst->name(), ",", CsvText(row.inst->computation().name()), ",", row.runs, ",", CsvText(row.kind),
               ",", row.cost.flops, ",", row.cost.transcendentals, ",", row.cost.bytes_read, ",",
               row.cost.bytes_written, ",", row.time.total() * 1e6, ",", ToString(row.time.bound()), ",",
               Share(row.time, report), ",", CsvText(row.op_name), ",", CsvText(row.source), us(row.measured_us));
  }
  return out;
}

namespace {

void WriteFigures(JsonWriter& json, const Cost& cost, const TimeEstimate& time, std::optional<double> measured_us,
                  const CostReport& report) {
  json.Key("flops").Value(cost.flops).Key("transcendentals").Value(cost.transcendentals);
  json.Key("bytes_read").Value(cost.bytes_read).Key("bytes_written").Value(cost.bytes_written);
  if (measured_us) json.Key("measured_us").Value(*measured_us);
  json.Key("est_us").Value(time.total() * 1e6).Key("bound").Value(ToString(time.bound()));
  json.Key("share").Value(Share(time, report));
}

}  // namespace

std::string CostJson(const CostReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.cost/1").Key("path").Value(report.path);
  json.Key("module").Value(report.module_name).Key("device").Value(report.device->name);
  if (!report.computation.empty()) json.Key("computation").Value(report.computation);
  json.Key("fused").Value(report.fused);
  json.Key("flops").Value(report.cost.flops).Key("transcendentals").Value(report.cost.transcendentals);
  json.Key("bytes_read").Value(report.cost.bytes_read).Key("bytes_written").Value(report.cost.bytes_written);
  json.Key("est_us").Value(report.time.total() * 1e6).Key("launches").Value(report.time.launches);
  json.Key("not_modelled").Open('[');
  for (const std::string& gap : report.not_modelled) json.Value(gap);
  json.Close(']').Key("rows").Open('[');
  for (const CostRow& row : report.rows) {
    json.Open('{').Key("instruction").Value(row.inst->name()).Key("computation").Value(row.inst->computation().name());
    json.Key("runs").Value(row.runs).Key("kind").Value(row.kind);
    WriteFigures(json, row.cost, row.time, row.measured_us, report);
    json.Key("op_name").Value(row.op_name).Key("source").Value(row.source).Close('}');
  }
  json.Close(']');
  if (!report.by.empty()) {
    json.Key("by").Value(report.by).Key("groups").Open('[');
    for (const CostGroup& group : CostGroupsOf(report, 0)) {
      json.Open('{').Key("name").Value(group.name).Key("depth").Value(group.depth);
      json.Key("launches").Value(group.time.launches);
      WriteFigures(json, group.cost, group.time, group.measured_us, report);
      json.Close('}');
    }
    json.Close(']');
  }
  return json.Close('}').text() + "\n";
}

}  // namespace hlo
