// tools/words.def explains the words.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/profile/advice.h"
#include "driver/profile/summary.h"

namespace hlo {
namespace {

constexpr size_t kFewRows = 15, kFewLoops = 5;

std::string Percent(double share) { return Format("%.1f %%", 100 * share); }
std::string Times(double count) {
  const bool is_whole = count == std::floor(count) || count >= 1000;
  return Format(is_whole ? "%.0f" : "%.1f", count);
}
std::string Microseconds(double us) { return Format(us < 100 ? "%.2f us" : "%.0f us", us); }
std::string Rate(double per_second, const char* unit) { return Str(HumanCount(per_second), unit); }

std::string Part(const ProfileSummary& summary, std::string_view what, double ms, const std::string& more = "") {
  std::string line = Format("      %-18s %7s  %10s", std::string(what).c_str(), Percent(summary.Share(ms)).c_str(),
                            HumanMilliseconds(ms).c_str());
  return Str(line, more.empty() ? "" : "   ", more, "\n");
}

std::string HeadText(const ProfileSummary& summary) {
  std::string out =
      Str("  profile  ", Counted(summary.runs, "run"), ", alternating with as many that are not profiled: overhead ",
          Percent(summary.overhead), "; ", summary.timing, "\n");
  if (summary.dropped > 0)
    out += Str("    incomplete: ", summary.dropped,
               " events were lost, because the memory for them was full; the figures are of ",
               summary.whole_runs > 0 ? Str("the ", Counted(summary.whole_runs, "run"), " before that")
                                      : "the events of the first runs that were kept",
               "\n");
  return out;
}

std::string TimeText(const ProfileSummary& summary) {
  std::string out =
      Str("    run  ", HumanMilliseconds(summary.run_ms), " (deviation ", HumanMilliseconds(summary.deviation_ms),
          ", median ", HumanMilliseconds(summary.median_ms), ")");
  if (summary.examples_per_run > 0 && summary.run_ms > 0)
    out += Format("   %.4g examples/s", static_cast<double>(summary.examples_per_run) * 1000 / summary.run_ms);
  out += "\n" + Part(summary, "device busy", summary.busy_ms);
  constexpr std::string_view kWords[] = {"launch gap", "waiting", "dependency"};
  for (int cause = 0; cause < kGapCauses; ++cause) {
    const GapFigures& gap = summary.gaps[cause];
    if (gap.count > 0)
      out += Part(summary, kWords[cause], gap.ms,
                  Str(Times(gap.count), gap.count == 1 ? " gap" : " gaps", ", median ", Microseconds(gap.median_us)));
  }
  if (summary.interpreted_ms > 0) out += Part(summary, "by the interpreter", summary.interpreted_ms);
  return out;
}

std::string ClassText(const ProfileSummary& summary) {
  double ms = 0;
  for (const TimeShare& share : summary.classes) ms += share.ms;
  std::vector<std::string> parts;
  for (int i = 0; i < kTimeClasses; ++i) {
    const TimeShare& share = summary.classes[i];
    if (share.count > 0)
      parts.push_back(Str(ToString(static_cast<TimeClass>(i)), " ", Percent(ms > 0 ? share.ms / ms : 0), " (",
                          Times(share.count), ")"));
  }
  return parts.empty() ? "" : Str("    spent on  ", Join(parts, ", "), "\n");
}

std::string PrecisionText(const ProfileSummary& summary) {
  double ms = 0, count = 0;
  for (const auto& [bits, share] : summary.bits) ms += share.ms, count += share.count;
  if (count == 0) return "";
  std::vector<std::string> parts;
  for (const auto& [bits, share] : summary.bits) {
    if (share.count > 0)
      parts.push_back(Str(bits, "-bit ", Percent(ms > 0 ? share.ms / ms : 0), " (", Times(share.count), ")"));
  }
  return Str("    precision  ", Join(parts, ", "), " of the time in ", Times(count), " kernels and calls\n");
}

std::string TensorCoreText(const ProfileSummary& summary) {
  const auto& [eligible, used] = summary.tensor_cores;
  if (eligible.count == 0) return "";
  std::string out = Str("    tensor cores  of ", summary.target, ": eligible ", Times(eligible.count), " in ",
                        HumanMilliseconds(eligible.ms));
  if (summary.is_host) return out + "; the host has no tensor cores\n";
  return Str(out, ", used ", Times(used.count), " in ", HumanMilliseconds(used.ms), "\n");
}

std::string LaunchText(const ProfileSummary& summary) {
  double ms = 0, copies = 0, bytes = 0, copy_ms = 0;
  for (const StepRow& row : summary.steps) {
    if (row.step.launches > 0) ms += row.figures.ms;
    if (row.step.sort != gpu::StepKind::kCopy) continue;
    copies += row.figures.executions;
    bytes += row.figures.executions * row.step.cost.bytes_written;
    copy_ms += row.figures.ms;
  }
  std::string out;
  if (summary.launches > 0)
    out += Str("    launches  ", Times(summary.launches), " in a run, ", Times(summary.short_executions), " under ",
               Format("%.0f", kShortUs), " us, mean ", Microseconds(1000 * ms / summary.launches), "\n");
  const CopyFigures& plan = summary.plan_copies;
  if (copies + plan.count > 0) {
    out += Str("    copies  ", Times(copies + plan.count), " in a run, ", HumanBytes(bytes + plan.bytes), " in ",
               HumanMilliseconds(copy_ms + plan.ms));
    if (plan.count > 0)
      out += Str("; ", Times(plan.count), " of them inserted by the buffer plan (", HumanBytes(plan.bytes), ")");
    out += "\n";
  }
  return out;
}

std::string MemoryText(const MemoryProfile& memory) {
  const double peak = static_cast<double>(memory.peak_bytes);
  return Str("    memory  ", HumanBytes(static_cast<double>(memory.planned_bytes)),
             " planned; temporaries and outputs at most ", HumanBytes(peak), ", at '", memory.peak_at, "'\n");
}

std::string RoofText(const ProfileSummary& summary) {
  return Str("    roof  ", summary.roof_name,
             " as described, not measured: ", Rate(summary.memory_rate, "B/s of memory, "),
             Rate(summary.dot_rates[static_cast<int>(DotWidth::k32)], "flop/s in f32 products, "),
             Rate(summary.instruction_rate, " other operations/s; a step above 100 % reads from caches\n"));
}

std::string WhereFrom(const std::string& op_name, const std::string& source) {
  return Str(op_name, op_name.empty() || source.empty() ? "" : "  ", source);
}

std::string StepTable(const ProfileSummary& summary, bool full) {
  const bool tensor_cores = summary.tensor_cores.eligible.count > 0 && !summary.is_host;
  std::vector<std::string> titles = {"step", "kind", ">count", ">ms", ">%", ">us", ">bits"};
  if (tensor_cores) titles.emplace_back("tc");
  for (const char* title : {">GB/s", ">GFLOP/s", ">roof", "bound", "op_name, source"}) titles.emplace_back(title);
  if (full) titles.emplace_back("form");
  TextTable table(std::move(titles));
  size_t shown = 0;
  for (const StepRow& row : summary.steps) {
    if (row.figures.executions == 0 || (!full && shown == kFewRows)) break;
    ++shown;
    const ProfiledStep& step = row.step;
    std::vector<std::string> cells = {step.name,
                                      step.kind,
                                      Times(row.figures.executions),
                                      Format("%.4f", row.figures.ms),
                                      Format("%.1f", 100 * summary.Share(row.figures.ms)),
                                      Format("%.2f", row.figures.mean_us),
                                      Str(step.bits)};
    if (tensor_cores) cells.emplace_back(step.tensor_cores.used ? "used" : step.tensor_cores.eligible ? "unused" : "-");
    const bool has_cost = step.cost.bytes() > 0 && !step.IsInterpreted();
    cells.push_back(has_cost ? Format("%.1f", row.GigabytesPerSecond()) : "-");
    cells.push_back(step.cost.flops > 0 ? Format("%.2f", row.GigaflopsPerSecond()) : "-");
    cells.push_back(has_cost ? Format("%.0f %%", 100 * row.OfRoof()) : "-");
    cells.emplace_back(has_cost ? ToString(step.bound) : "-");
    cells.push_back(WhereFrom(step.op_name, step.source));
    if (full) cells.push_back(step.how);
    table.Row(std::move(cells));
  }
  std::string out = table.Text("    ");
  const auto run = std::ranges::count_if(summary.steps, [](const StepRow& row) { return row.figures.executions > 0; });
  if (const auto more = run - static_cast<int64_t>(shown); more > 0)
    out += Str("    ... and ", more, " steps that take less time; --profile=full shows all\n");
  if (const auto never = std::ssize(summary.steps) - run; never > 0)
    out += Str("    ", Counted(never, "step"), " did not run, because branches were not taken",
               summary.is_host ? "" : " or another kernel computes the condition", "\n");
  return out;
}

std::string LoopTable(const ProfileSummary& summary, bool full) {
  if (summary.loops.empty()) return "";
  TextTable table({"loop", ">trips", ">ms", ">%", ">us per trip", "op_name, source"});
  for (size_t i = 0; i < summary.loops.size() && (full || i < kFewLoops); ++i) {
    const auto& [loop, figures] = summary.loops[i];
    table.Row({loop.name, Times(figures.trips), Format("%.4f", figures.ms),
               Format("%.1f", 100 * summary.Share(figures.ms)),
               Format("%.2f", figures.trips > 0 ? 1000 * figures.ms / figures.trips : 0),
               WhereFrom(loop.op_name, loop.source)});
  }
  return table.Text("    ");
}

std::string GroupTable(const ProfileSummary& summary, const std::vector<GroupRow>& groups, const char* title) {
  if (groups.empty()) return "";
  TextTable table({">ms", ">%", ">count", title});
  for (const GroupRow& group : groups)
    table.Row(
        {Format("%.4f", group.ms), Format("%.1f", 100 * summary.Share(group.ms)), Times(group.executions), group.name});
  return table.Text("    ");
}

std::string UnusedText(const ProfileSummary& summary) {
  std::string out;
  for (const StepRow& row : summary.steps) {
    const TensorCoreUse& use = row.step.tensor_cores;
    if (!use.eligible || use.used || row.figures.executions == 0 || summary.is_host) continue;
    out += Str("      ", row.step.name, ": ", use.why_not, "\n");
  }
  return out.empty() ? "" : "    eligible for tensor cores, but not run on them\n" + out;
}

}  // namespace

std::string HeldTable(const MemoryProfile& memory, size_t most) {
  TextTable table({">bytes", "value", "shape", "from", "to", "op_name, source"});
  for (size_t i = 0; i < std::min(most, memory.at_peak.size()); ++i) {
    const HeldValue& held = memory.at_peak[i];
    table.Row({HumanBytes(static_cast<double>(held.bytes)), Str(held.name, held.is_output ? " (output)" : ""),
               held.shape, held.from, held.to, WhereFrom(held.op_name, held.source)});
  }
  std::string out = table.empty() ? "" : table.Text("    ");
  if (memory.at_peak.size() > most) out += Str("    ... and ", memory.at_peak.size() - most, " smaller values\n");
  return out;
}

std::string ProfileText(const ProfileSummary& summary, bool full) {
  std::string out = HeadText(summary) + TimeText(summary) + ClassText(summary) + PrecisionText(summary) +
                    TensorCoreText(summary) + LaunchText(summary) + MemoryText(summary.memory) + RoofText(summary);
  std::vector<std::string> tables = {StepTable(summary, full), LoopTable(summary, full), UnusedText(summary)};
  if (full) {
    tables.push_back(GroupTable(summary, summary.scopes, "scope"));
    tables.push_back(GroupTable(summary, summary.sources, "source"));
    tables.push_back(HeldTable(summary.memory, kFewRows));
  }
  for (const std::string& table : tables) out += table.empty() ? "" : "\n" + table;
  const std::vector<std::string> advice = AdviceOn(summary);
  if (!advice.empty()) out += "\n";
  for (const std::string& one : advice) out += Str("    advice  ", one, "\n");
  return out + "\n";
}

}  // namespace hlo
