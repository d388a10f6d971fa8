#include "driver/inspect/pass_stats.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/text.h"

namespace hlo {
namespace {

std::string Signed(double difference) {
  return difference == 0 ? "" : Str(difference > 0 ? "+" : "-", HumanCount(std::abs(difference)));
}

std::string SignedBytes(double difference) {
  return difference == 0 ? "" : Str(difference > 0 ? "+" : "-", HumanBytes(std::abs(difference)));
}

std::string Percent(double difference, double whole) {
  if (difference == 0 || whole <= 0) return "";
  const std::string text = Format("%+.1f%%", 100 * difference / whole);
  return text == "+0.0%" || text == "-0.0%" ? "" : text;
}

}  // namespace

Result<ModuleFigures> FiguresOf(const Module& module, const DeviceDescription& device) {
  const auto live = module.Clone();
  TRY(FindPass("dce")->function(*live, {.device = &device}));
  const CostReport report = CostReportOf(*live, device);
  return ModuleFigures{.instructions = live->InstructionCount(),
                       .kernels = report.time.launches,
                       .bytes = report.cost.bytes(),
                       .seconds = report.time.total()};
}

Status PassStats::Begin(const Module& module) {
  begin_ = last_ = TRY(FiguresOf(module, *device_));
  return {};
}

Status PassStats::After(const PassRun& run, const Module& module) {
  auto row = std::ranges::find(rows_, run.pass->name, &Row::name);
  if (row == rows_.end()) row = rows_.insert(row, Row{.name = run.pass->name, .delta = {}});
  row->skipped += run.skipped;
  if (run.skipped) return {};
  ++row->runs;
  row->ms += run.milliseconds;
  for (const auto& [rule, count] : run.rewrites) row->rewrites += count;
  if (!run.changed) return {};
  ++row->changed;
  const ModuleFigures now = TRY(FiguresOf(module, *device_));
  row->delta.instructions += now.instructions - last_.instructions;
  row->delta.kernels += now.kernels - last_.kernels;
  row->delta.bytes += now.bytes - last_.bytes;
  row->delta.seconds += now.seconds - last_.seconds;
  last_ = now;
  return {};
}

std::string PassStats::Text(bool all) const {
  TextTable table({">#", "pass", ">runs", ">changed", ">ms", ">rewrites", ">instructions", ">kernels", ">bytes moved",
                   ">est. time"});
  const auto count = [](int64_t n) { return n == 0 ? std::string() : Str(n); };
  int number = 0, runs = 0, changed = 0, unchanged = 0, skipped = 0;
  double ms = 0;
  for (const Row& row : rows_) {
    ++number;
    runs += row.runs;
    changed += row.changed;
    ms += row.ms;
    skipped += row.runs == 0;
    unchanged += row.changed == 0 && row.runs > 0;
    if (row.changed == 0 && !all) continue;
    table.Row({Str(number), std::string(row.name), Str(row.runs), count(row.changed), Format("%.1f", row.ms),
               count(row.rewrites), Signed(static_cast<double>(row.delta.instructions)), Signed(row.delta.kernels),
               SignedBytes(row.delta.bytes), Percent(row.delta.seconds, begin_.seconds)});
  }
  table.Row({"", "total", Str(runs), Str(changed), Format("%.1f", ms), "",
             Signed(static_cast<double>(last_.instructions - begin_.instructions)),
             Signed(last_.kernels - begin_.kernels), SignedBytes(last_.bytes - begin_.bytes),
             Percent(last_.seconds - begin_.seconds, begin_.seconds)});
  std::string out = table.Text();
  out +=
      Str("  from ", Counted(begin_.instructions, "instruction"), ", ", HumanCount(begin_.kernels), " kernels, ",
          HumanBytes(begin_.bytes), ", est ", Format("%.1f us", begin_.seconds * 1e6), " to ", last_.instructions, ", ",
          HumanCount(last_.kernels), ", ", HumanBytes(last_.bytes), ", ", Format("%.1f us", last_.seconds * 1e6),
          "; estimates by the cost model of ", device_->name, ", without dead instructions\n");
  out += Str("  not changed by: ", unchanged, " of ", number, number == 1 ? " pass" : " passes",
             all || unchanged == 0 ? "" : " (--pass_stats=all lists them)",
             skipped == 0 ? "" : Str("; skipped: ", skipped), "\n");
  return out;
}

std::string PassStats::Json() const {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.pass_stats/1").Key("device").Value(device_->name);
  const auto figures = [&](std::string_view key, const ModuleFigures& f) {
    json.Key(key).Open('{').Key("instructions").Value(f.instructions).Key("kernels").Value(f.kernels);
    json.Key("bytes").Value(f.bytes).Key("est_us").Value(f.seconds * 1e6).Close('}');
  };
  figures("before", begin_);
  figures("after", last_);
  json.Key("passes").Open('[');
  for (const Row& row : rows_) {
    json.Open('{').Key("pass").Value(row.name).Key("runs").Value(row.runs).Key("changed").Value(row.changed);
    json.Key("skipped").Value(row.skipped).Key("ms").Value(row.ms).Key("rewrites").Value(row.rewrites);
    figures("difference", row.delta);
    json.Close('}');
  }
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
