#include "driver/inspect/collectives.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <unordered_map>

#include "base/json.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "ir/device_groups.h"
#include "ir/trip_count.h"

namespace hlo {
namespace {

using Key = std::pair<std::string_view, std::optional<int64_t>>;  // Kind and group size.

// The opcode without -start. "" for instructions that receive nothing by themselves.
std::string_view KindOf(const Instruction& inst) {
  std::string_view kind = ToString(inst.opcode());
  if (!inst.Is(kCollective) || kind.ends_with("-done")) return "";
  if (kind.ends_with("-start")) kind.remove_suffix(std::string_view("-start").size());
  return kind;
}

// The result of an all-gather-start and a collective-permute-start is the tuple (operands, results, ...).
const Shape& ReceivedShape(const Instruction& inst) {
  const bool has_operands = inst.Is(Opcode::kAllGatherStart) || inst.Is(Opcode::kCollectivePermuteStart);
  return has_operands && inst.shape().IsTuple() && inst.shape().elements().size() > 1 ? inst.shape().element(1)
                                                                                      : inst.shape();
}

CollectiveRow RowOf(const Instruction& inst, double runs) {
  CollectiveRow row = {.inst = &inst, .kind = KindOf(inst), .runs = runs, .bytes = ReceivedShape(inst).ByteSize()};
  if (inst.attributes().GetIf<CollectiveAttrs>() != nullptr) row.group_size = GroupSizeOf(inst);
  return row;
}

std::string GroupText(const std::optional<int64_t>& size) { return size ? Str(*size) : "pairs"; }

std::string Change(double was, double is) {
  return was == 0 || was == is ? "" : Format("%+.1f %%", 100 * (is - was) / was);
}

std::string SumsTable(const CollectiveReport& report) {
  TextTable table({"kind", ">group", ">instructions", ">calls", ">bytes received"});
  for (const CollectiveSum& sum : report.sums)
    table.Row({std::string(sum.kind), GroupText(sum.group_size), Str(sum.instructions), HumanCount(sum.runs),
               HumanBytes(sum.bytes)});
  table.Row({"all", "", Str(report.rows.size()), HumanCount(report.runs), HumanBytes(report.bytes)});
  return table.Text();
}

std::string ComparedTable(const CollectiveReport& report, const CollectiveReport& against) {
  std::map<Key, std::pair<CollectiveSum, CollectiveSum>> sums;
  for (const CollectiveSum& sum : report.sums) sums[{sum.kind, sum.group_size}].first = sum;
  for (const CollectiveSum& sum : against.sums) sums[{sum.kind, sum.group_size}].second = sum;
  TextTable table({"kind", ">group", ">calls", ">against", ">bytes received", ">against", ">change"});
  for (const auto& [key, pair] : sums) {
    const auto& [own, other] = pair;
    table.Row({std::string(key.first), GroupText(key.second), HumanCount(own.runs), HumanCount(other.runs),
               HumanBytes(own.bytes), HumanBytes(other.bytes), Change(other.bytes, own.bytes)});
  }
  table.Row({"all", "", HumanCount(report.runs), HumanCount(against.runs), HumanBytes(report.bytes),
             HumanBytes(against.bytes), Change(against.bytes, report.bytes)});
  return table.Text();
}

void AppendSums(JsonWriter& json, const CollectiveReport& report) {
  json.Key("path").Value(report.module->source->name()).Key("module").Value(report.module->name());
  json.Key("calls").Value(report.runs).Key("bytes").Value(report.bytes);
  json.Key("loops_of_unknown_trips").Value(report.unknown_loops.size()).Key("sums").Open('[');
  for (const CollectiveSum& sum : report.sums) {
    json.Open('{').Key("kind").Value(sum.kind).Key("group").Value(sum.group_size.value_or(0));
    json.Key("instructions").Value(sum.instructions).Key("calls").Value(sum.runs).Key("bytes").Value(sum.bytes);
    json.Close('}');
  }
  json.Close(']');
}

}  // namespace

CollectiveReport CollectivesOf(const Module& module) {
  CollectiveReport report = {.module = &module, .rows = {}, .sums = {}, .unknown_loops = {}};
  std::unordered_map<const Computation*, double> runs = {{&module.entry(), 1}};
  for (const Computation* computation : std::views::reverse(module.PostOrder())) {
    const auto own = runs.find(computation);
    if (own == runs.end()) continue;
    const double times = own->second;
    for (const Instruction* inst : computation->instructions()) {
      for (const auto& [called, count] : RunsOf(*inst)) runs[called] += times * count;
      if (!KindOf(*inst).empty()) report.rows.push_back(RowOf(*inst, times));
      if (inst->Is(Opcode::kWhile) && !TripCount(*inst)) report.unknown_loops.push_back(inst);
    }
  }
  std::map<Key, CollectiveSum> sums;
  for (const CollectiveRow& row : report.rows) {
    CollectiveSum& sum = sums[{row.kind, row.group_size}];
    sum.kind = row.kind;
    sum.group_size = row.group_size;
    ++sum.instructions;
    sum.runs += row.runs;
    sum.bytes += row.TotalBytes();
    report.runs += row.runs;
    report.bytes += row.TotalBytes();
  }
  for (const auto& [key, sum] : sums) report.sums.push_back(sum);
  std::ranges::stable_sort(report.sums, std::greater(), &CollectiveSum::bytes);
  std::ranges::stable_sort(report.rows, std::greater(), &CollectiveRow::TotalBytes);
  return report;
}

std::string CollectivesText(const CollectiveReport& report, const CollectiveReport* against, int64_t top) {
  std::string out = Str(report.module->source->name(), ": ", report.module->name(), "\n");
  if (against != nullptr) out += Str("against ", against->module->source->name(), ": ", against->module->name(), "\n");
  if (report.rows.empty() && (against == nullptr || against->rows.empty())) return out + "There are no collectives.\n";
  out += "\n" + (against == nullptr ? SumsTable(report) : ComparedTable(report, *against));
  for (const Instruction* loop : report.unknown_loops)
    out += Str("  '", loop->name(), "' counts one trip, because its number of trips is unknown\n");
  if (report.rows.empty()) return out;
  const SourcePlaces places(*report.module);
  TextTable table({"instruction", "kind", ">group", ">calls", ">bytes received", "computation", "source"});
  const size_t shown = top == 0 ? report.rows.size() : std::min(report.rows.size(), static_cast<size_t>(top));
  for (const CollectiveRow& row : std::span(report.rows).first(shown))
    table.Row({std::string(row.inst->name()), std::string(row.kind), GroupText(row.group_size), HumanCount(row.runs),
               HumanBytes(row.TotalBytes()), row.inst->computation().name(), places.PlaceOf(*row.inst)});
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
    json.Key("group").Value(row.group_size.value_or(0)).Key("calls").Value(row.runs).Key("bytes").Value(row.bytes);
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
