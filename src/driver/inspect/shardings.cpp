#include "driver/inspect/shardings.h"

#include "base/json.h"
#include "driver/inspect/source_place.h"
#include "driver/inspect/text.h"
#include "ir/mesh/unpartitioned.h"
#include "passes/pipeline.h"
#include "passes/sharding/propagation.h"

namespace hlo {
namespace {

std::string NameOf(const ShardingRow& row) {
  return row.index.empty() ? std::string(row.inst->name()) : Str(row.inst->name(), "{", Join(row.index, ","), "}");
}

std::string SplitText(const ShardingReport& report, const ShardingRow& row) {
  return row.split ? report.axes.Text(*row.split) : "?";
}

// Each computation must have one caller, because values of different callers may have different splits.
std::vector<std::string> ConflictsOf(const Module& module) {
  const std::unique_ptr<Module> flat = module.Clone();
  for (const char* const pass : {"fusion-dissolver", "call-inliner", "flatten-call-graph"}) {
    if (!RunOnePass(*flat, {.pass = FindPass(pass), .instance = 1}, {})) return {};
  }
  return Propagation(*flat).conflicts();
}

}  // namespace

ShardingReport ShardingReportOf(const Module& module) {
  ShardingReport report = {.module = &module, .axes = Axes::Of(module), .rows = {}, .conflicts = {}};
  report.is_partitioned = module.entry().name().ends_with("_spmd");
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      const auto stated = StatedShardings(*inst);
      int64_t leaf = 0;
      ForEachLeaf(inst->shape(), [&](const ShapeIndex& index, const Shape& shape) {
        const auto& entry = stated[leaf++];
        if (!shape.IsArray()) return;
        ++report.values;
        if (!entry) return;
        ShardingRow row = {.inst = inst, .index = index, .by = entry->by, .why_not = "", .local = shape};
        if (auto split = report.axes.Read(entry->sharding, shape.rank())) {
          if (!report.is_partitioned) row.local = report.axes.LocalShape(shape, *split);
          row.split = std::move(*split);
        } else {
          row.why_not = split.error().message();
        }
        row.bytes = row.local.ByteSize();
        report.rows.push_back(std::move(row));
      });
    }
  }
  if (!report.rows.empty() && IsUnpartitioned(module)) report.conflicts = ConflictsOf(module);
  return report;
}

std::string ShardingsText(const ShardingReport& report, int64_t top) {
  const Module& module = *report.module;
  std::string out = Str(module.source->name(), ": ", module.name(), "\n");
  if (report.rows.empty()) return Str(out, "The text states no shardings.\n");
  out += Str("  mesh    ", report.axes.atoms().empty() ? "one device" : report.axes.Text(), "  (",
             report.axes.devices(), report.axes.devices() == 1 ? " partition)\n" : " partitions)\n");
  out += Str("  text    has shardings of ", report.rows.size(), " of ", report.values, " arrays\n");
  if (report.is_partitioned) out += "  The module is partitioned: shapes are those of one device.\n";
  const SourcePlaces places(module);
  std::vector<std::string> notes;
  for (size_t begin = 0; begin < report.rows.size();) {
    const Computation& computation = report.rows[begin].inst->computation();
    size_t end = begin;
    while (end < report.rows.size() && &report.rows[end].inst->computation() == &computation) ++end;
    TextTable table({Str(&computation == &module.entry() ? "ENTRY " : "", computation.name()), "shape", "split",
                     "on a device", ">bytes", "attribute", "source"});
    const size_t shown = top == 0 ? end : std::min(end, begin + static_cast<size_t>(top));
    for (size_t i = begin; i < shown; ++i) {
      const ShardingRow& row = report.rows[i];
      table.Row({NameOf(row), SubShape(row.inst->shape(), row.index).ToString(), SplitText(report, row),
                 row.local.ToString(), HumanBytes(static_cast<double>(row.bytes)), std::string(ToString(row.by)),
                 places.PlaceOf(*row.inst)});
      if (!row.split) notes.push_back(Str("  ", NameOf(row), ": ", row.why_not, "\n"));
    }
    out += "\n" + table.Text();
    if (shown < end) out += Str("  ", end - shown, " more rows; --top=0 shows all\n");
    begin = end;
  }
  if (!notes.empty()) out += Str("\nShardings that do not split this mesh:\n", Join(notes, ""));
  if (!report.conflicts.empty()) out += Str("\nIgnored statements:\n  ", Join(report.conflicts, "\n  "), "\n");
  return out;
}

std::string ShardingsJson(const ShardingReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.shardings/1").Key("path").Value(report.module->source->name());
  json.Key("module").Value(report.module->name()).Key("partitions").Value(report.axes.devices());
  json.Key("is_partitioned").Value(report.is_partitioned).Key("arrays").Value(report.values);
  json.Key("mesh").Open('[');
  for (const Atom& atom : report.axes.atoms())
    json.Open('{')
        .Key("name")
        .Value(atom.name)
        .Key("size")
        .Value(atom.size)
        .Key("stride")
        .Value(atom.stride)
        .Close('}');
  json.Close(']').Key("values").Open('[');
  const SourcePlaces places(*report.module);
  for (const ShardingRow& row : report.rows) {
    json.Open('{').Key("name").Value(NameOf(row)).Key("computation").Value(row.inst->computation().name());
    json.Key("shape").Value(SubShape(row.inst->shape(), row.index).ToString());
    json.Key("stated_by").Value(ToString(row.by)).Key("source").Value(places.PlaceOf(*row.inst));
    if (row.split) json.Key("split").Value(report.axes.Text(*row.split));
    else json.Key("why_not").Value(row.why_not);
    json.Key("local_shape").Value(row.local.ToString()).Key("bytes").Value(row.bytes).Close('}');
  }
  json.Close(']').Key("conflicts").Open('[');
  for (const std::string& conflict : report.conflicts) json.Value(conflict);
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
