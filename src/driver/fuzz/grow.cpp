#include "driver/fuzz/grow.h"

#include "base/check.h"
#include "base/text.h"
#include "driver/fuzz/grower.h"
#include "driver/pattern.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

constexpr int kFocus = 20;

std::vector<GrowRow> AllRows() {
  std::vector<GrowRow> rows;
  for (const std::span<const GrowRow> family : {ElementwiseRows(), MovementRows(), IndexingRows(), ReductionRows(),
                                                ContractionRows(), ControlRows(), LinearRows()})
    rows.insert(rows.end(), family.begin(), family.end());
  return rows;
}

Result<std::vector<GrowRow>> RowsOf(const GrowOptions& options, bool wide) {
  std::vector<GrowRow> rows;
  const Pattern wanted = TRY(Pattern::Compile(options.ops, "ops"));
  for (GrowRow row : AllRows()) {
    const std::string name(ToString(row.opcode));
    const bool asked = std::find(options.focus.begin(), options.focus.end(), name) != options.focus.end();
    if (!options.ops.empty() && !wanted.Matches(name)) continue;
    // Opcodes in --focus may grow in any module, even if they have no kernels.
    if (!row.kernels && !wide && options.ops.empty() && !asked) continue;
    if (asked) row.weight *= kFocus;
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

Status CheckGrowOptions(const GrowOptions& options) {
  if (TRY(RowsOf(options, true)).empty())
    FAIL(UsageError("F004", Str("--ops: no opcode that hlo-fuzz generates matches '", Escaped(options.ops), "'")));
  const std::vector<GrowRow> rows = AllRows();
  for (const std::string& name : options.focus) {
    if (std::any_of(rows.begin(), rows.end(), [&](const GrowRow& row) { return ToString(row.opcode) == name; }))
      continue;
    std::vector<std::string_view> known;
    for (const GrowRow& row : rows) known.push_back(ToString(row.opcode));
    const std::vector<std::string> near = NearNames(name, known);
    FAIL(UsageError("F004", Str("--focus: hlo-fuzz does not generate an opcode '", Escaped(name), "'",
                                near.empty() ? "" : Str("; did you mean '", Join(near, "' or '"), "'?"))));
  }
  return {};
}

void Grower::GrowSome(int64_t count) {
  if (rows_.empty()) rows_ = *RowsOf(options_, wide_);
  int64_t weights = 0;
  for (const GrowRow& row : rows_) weights += row.weight;
  SetBudget(count);
  for (int64_t tries = 0; tries < 8 * count && scope_.budget > 0; ++tries) {
    int64_t at = chance.Below(weights);
    const GrowRow* row = rows_.data();
    while (at >= row->weight) at -= row++->weight;
    if (row->grow(*this, row->opcode)) --scope_.budget;
  }
}

std::unique_ptr<Module> GrowModule(const GrowOptions& options) {
  auto module = std::make_unique<Module>(Str("grown_", options.seed));
  Grower(*module, options).GrowEntry();
  if (options.shardings) GrowShardings(*module, options.seed);
  return module;
}

std::string ReplayCommand(const GrowOptions& options) {
  const GrowOptions defaults;
  std::string out = Str("hlo-fuzz --seed=", options.seed, " --count=1");
  if (options.max_instructions != defaults.max_instructions)
    out += Str(" --max_instructions=", options.max_instructions);
  if (options.max_elems != defaults.max_elems) out += Str(" --max_elems=", options.max_elems);
  if (options.depth != defaults.depth) out += Str(" --depth=", options.depth);
  if (!options.ops.empty()) out += Str(" '--ops=", options.ops, "'");
  if (!options.focus.empty()) out += Str(" --focus=", Join(options.focus, ","));
  if (options.shardings) out += " --shardings";
  return out;
}

std::string GrownText(const Module& module, const GrowOptions& options) {
  return Str("// Grown, version ", kGrowVersion, ": ", ReplayCommand(options), "\n", Print(module, ShortForm()));
}

}  // namespace hlo
