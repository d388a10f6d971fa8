#include "driver/inspect/collectives.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <tuple>
#include <unordered_map>

#include "base/json.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "ir/analysis/trip_count.h"
#include "ir/device_groups.h"
#include "ir/frontend_attributes.h"
#include "ir/mesh/shardy_text.h"
#include "ir/mesh/unpartitioned.h"

namespace hlo {
namespace {

using Key = std::tuple<std::string_view, std::optional<int64_t>, std::vector<std::string>>;

// `of` is a CollectiveRow or a CollectiveSum.
Key KeyOf(const auto& of) { return {of.kind, of.group_size, of.axes}; }

std::string_view KindOf(const Instruction& inst) {
  std::string_view kind = ToString(inst.opcode());
  if (kind.ends_with("-start")) kind.remove_suffix(std::string_view("-start").size());
  return kind;
}

// "4 (data)"
std::string GroupText(const auto& of) {
  if (!of.group_size) return "pairs";
  return Str(*of.group_size, of.axes.empty() ? "" : Str(" (", Join(of.axes, ","), ")"));
}

// Names of axes in the order of the mesh.
std::vector<std::string> NamesOf(const std::vector<Digit>& digits, const Axes& axes) {
  std::vector<std::string> names;
  if (axes.IsListed()) return names;  // Digits of device numbers do not show positions in a listed mesh.
  if (const auto atoms = axes.AtomsAt(digits)) {
    for (const int atom : AxisSet::Of(*atoms).Atoms()) names.push_back(axes.atoms()[atom].name);
  }
  return names;
}

std::string Change(double was, double is) {
  return was == 0 || was == is ? "" : Format("%+.1f %%", 100 * (is - was) / was);
}

std::string Microseconds(double seconds) { return Format("%.2f", 1e6 * seconds); }

std::string SumsTable(const CollectiveReport& report) {
  std::vector<std::string> titles = {"kind", ">group", ">instructions", ">calls", ">bytes received"};
  if (report.topology) titles.emplace_back(">est us");
  TextTable table(std::move(titles));
  const auto add = [&](const CollectiveSum& sum, std::string group) {
    std::vector<std::string> cells = {std::string(sum.kind), std::move(group), Str(sum.instructions),
                                      HumanCount(sum.runs), HumanBytes(sum.bytes)};
    if (report.topology) cells.push_back(Microseconds(sum.seconds));
    table.Row(std::move(cells));
  };
  for (const CollectiveSum& sum : report.sums) add(sum, GroupText(sum));
  add(report.all, "");
  return table.Text();
}

std::string ComparedTable(const CollectiveReport& report, const CollectiveReport& against) {
  std::map<Key, std::pair<CollectiveSum, CollectiveSum>> sums;
  for (const CollectiveSum& sum : report.sums) sums[KeyOf(sum)].first = sum;
  for (const CollectiveSum& sum : against.sums) sums[KeyOf(sum)].second = sum;
  std::vector<std::string> titles = {"kind", ">group", ">calls", ">against", ">bytes received", ">against", ">change"};
  if (report.topology) titles.insert(titles.end(), {">est us", ">against", ">change"});
  TextTable table(std::move(titles));
  const auto add = [&](std::string_view kind, std::string group, const CollectiveSum& own, const CollectiveSum& other) {
    std::vector<std::string> cells = {
        std::string(kind),     std::move(group),        HumanCount(own.runs),          HumanCount(other.runs),
        HumanBytes(own.bytes), HumanBytes(other.bytes), Change(other.bytes, own.bytes)};
    if (report.topology) {
      for (std::string cell :
           {Microseconds(own.seconds), Microseconds(other.seconds), Change(other.seconds, own.seconds)})
        cells.push_back(std::move(cell));
    }
    table.Row(std::move(cells));
  };
  for (const auto& [key, pair] : sums) {
    const CollectiveSum& known = pair.first.instructions > 0 ? pair.first : pair.second;
    add(known.kind, GroupText(known), pair.first, pair.second);
  }
  add("all", "", report.all, against.all);
  return table.Text();
}

void AppendTime(JsonWriter& json, const CollectiveReport& report, double seconds) {
  if (report.topology) json.Key("est_us").Value(1e6 * seconds);
}

void AppendGroup(JsonWriter& json, const auto& of) {
  json.Key("group").Value(of.group_size.value_or(0)).Key("axes").Open('[');
  for (const std::string& axis : of.axes) json.Value(axis);
  json.Close(']');
}

void AppendSums(JsonWriter& json, const CollectiveReport& report) {
  json.Key("path").Value(report.module->source->name()).Key("module").Value(report.module->name());
  if (report.topology) json.Key("topology").Value(report.topology->name);
  json.Key("calls").Value(report.all.runs).Key("bytes").Value(report.all.bytes);
  AppendTime(json, report, report.all.seconds);
  json.Key("loops_of_unknown_trips").Value(report.unknown_loops.size()).Key("sums").Open('[');
  for (const CollectiveSum& sum : report.sums) {
    json.Open('{').Key("kind").Value(sum.kind);
    AppendGroup(json, sum);
    json.Key("instructions").Value(sum.instructions).Key("calls").Value(sum.runs).Key("bytes").Value(sum.bytes);
    AppendTime(json, report, sum.seconds);
    json.Close('}');
  }
  json.Close(']');
}

void Add(CollectiveSum& sum, const CollectiveRow& row) {
  ++sum.instructions;
  sum.runs += row.runs;
  sum.bytes += row.TotalBytes();
  sum.seconds += row.TotalSeconds();
}

}  // namespace

std::optional<Axes> NamedAxesOf(const Module& module) {
  std::vector<Sharding> meshes;
  const auto add = [&](const Mesh& mesh, const std::vector<AxisRef>& axes) {
    Sharding& sharding = meshes.emplace_back(Sharding{.kind = ShardingKind::kNamed});
    sharding.named.Mutable() = {.mesh = mesh, .dims = {{.axes = axes}}};
  };
  const auto stated = FrontendAttribute(module.header.frontend_attributes, kShardyMeshes);
  for (const Mesh& mesh : ReadShardyMeshes(stated.value_or(""))) add(mesh, {});
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      const auto* attrs = inst->attributes().GetIf<CollectiveAttrs>();
      if (attrs == nullptr) continue;
      if (const auto* groups = std::get_if<MeshGroups>(&attrs->replica_groups.groups)) add(groups->mesh, groups->axes);
    }
  }
  if (meshes.empty()) return std::nullopt;
  std::vector<const Sharding*> pointers;
  for (const Sharding& sharding : meshes) pointers.push_back(&sharding);
  return Axes::Of(pointers, DevicesOf(module));
}

CollectiveReport CollectivesOf(const Module& module, std::optional<Topology> topology,
                               const std::optional<Axes>& axes) {
  CollectiveReport report = {.module = &module, .topology = std::move(topology)};
  std::unordered_map<const Computation*, double> runs = {{&module.entry(), 1}};
  for (const Computation* computation : std::views::reverse(module.PostOrder())) {
    const auto own = runs.find(computation);
    if (own == runs.end()) continue;
    const double times = own->second;
    for (const Instruction* inst : computation->instructions()) {
      for (const auto& [called, count] : RunsOf(*inst)) runs[called] += times * count;
      if (inst->Is(Opcode::kWhile) && !TripCount(*inst)) report.unknown_loops.push_back(inst);
      const auto exchange = ExchangeOf(*inst);
      if (!exchange) continue;
      CollectiveRow row = {.inst = inst, .kind = KindOf(*inst), .runs = times, .bytes = exchange->result_bytes};
      if (inst->attributes().GetIf<CollectiveAttrs>() != nullptr) {
        row.group_size = GroupSizeOf(*inst);
        if (axes) row.axes = NamesOf(exchange->groups.digits, *axes);
      }
      if (report.topology) row.time = TimeOfExchange(*exchange, *report.topology);
      report.rows.push_back(std::move(row));
    }
  }
  std::map<Key, CollectiveSum> sums;
  for (const CollectiveRow& row : report.rows) {
    CollectiveSum& sum = sums[KeyOf(row)];
    sum.kind = row.kind;
    sum.group_size = row.group_size;
    sum.axes = row.axes;
    Add(sum, row);
    Add(report.all, row);
  }
  for (const auto& [key, sum] : sums) report.sums.push_back(sum);
  std::ranges::stable_sort(report.sums, std::greater(),
                           [](const CollectiveSum& sum) { return std::pair(sum.seconds, sum.bytes); });
  std::ranges::stable_sort(report.rows, std::greater(),
                           [](const CollectiveRow& row) { return std::pair(row.TotalSeconds(), row.TotalBytes()); });
  return report;
}

std::string CollectivesText(const CollectiveReport& report, const CollectiveReport* against, int64_t top) {
  std::string out = Str(report.module->source->name(), ": ", report.module->name(), "\n");
  if (against != nullptr) out += Str("against ", against->module->source->name(), ": ", against->module->name(), "\n");
  if (report.topology) out += Str("on ", report.topology->Text(), "\n");
  if (SplitsArrays(*report.module)) {
    out += Str("The module is not partitioned, so the collectives of its shardings do not exist yet. To see them:\n",
               "  hlo opt --passes=spmd-partitioner ", report.module->source->name(), " | hlo inspect collectives -\n");
  }
  if (report.rows.empty() && (against == nullptr || against->rows.empty())) return out + "There are no collectives.\n";
  out += "\n" + (against == nullptr ? SumsTable(report) : ComparedTable(report, *against));
  for (const Instruction* loop : report.unknown_loops)
    out += Str("  '", loop->name(), "' counts one trip, because its number of trips is unknown\n");
  if (report.rows.empty()) return out;
  const SourcePlaces places(*report.module);
  std::vector<std::string> titles = {"instruction", "kind", ">group", ">calls", ">bytes received"};
  if (report.topology) titles.emplace_back(">est us");
  titles.insert(titles.end(), {"computation", "source"});
  TextTable table(std::move(titles));
  const size_t shown = top == 0 ? report.rows.size() : std::min(report.rows.size(), static_cast<size_t>(top));
  for (const CollectiveRow& row : std::span(report.rows).first(shown)) {
    std::vector<std::string> cells = {std::string(row.inst->name()), std::string(row.kind), GroupText(row),
                                      HumanCount(row.runs), HumanBytes(row.TotalBytes())};
    if (report.topology) cells.push_back(Microseconds(row.TotalSeconds()));
    cells.push_back(row.inst->computation().name());
    cells.push_back(places.PlaceOf(*row.inst));
    table.Row(std::move(cells));
  }
  out += "\n" + table.Text();
  if (shown < report.rows.size()) out += Str("  ", report.rows.size() - shown, " more; --top=0 shows all\n");
  return out;
}

std::string CollectivesJson(const CollectiveReport& report, const CollectiveReport* against) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.collectives/1");
  AppendSums(json, report);
  json.Key("instructions").Open('[');
  const SourcePlaces places(*report.module);
  for (const CollectiveRow& row : report.rows) {
    json.Open('{').Key("name").Value(row.inst->name()).Key("kind").Value(row.kind);
    AppendGroup(json, row);
    json.Key("calls").Value(row.runs).Key("bytes").Value(row.bytes).Key("total_bytes").Value(row.TotalBytes());
    AppendTime(json, report, row.time.seconds);
    if (report.topology) json.Key("algorithm").Value(row.time.algorithm);
    json.Key("computation").Value(row.inst->computation().name()).Key("source").Value(places.PlaceOf(*row.inst));
    json.Close('}');
  }
  json.Close(']');
  if (against != nullptr) {
    json.Key("against").Open('{');
    AppendSums(json, *against);
    json.Close('}');
  }
  return json.Close('}').text() + "\n";
}

}  // namespace hlo
