#include "driver/profile/profile_page.h"

#include <algorithm>
#include <span>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/page.h"
#include "driver/profile/advice.h"
#include "driver/profile/profile_charts.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr std::string_view kRules = R"html(
h2{margin-top:36px;padding-top:12px;font-size:18px}
td .s{display:block;white-space:normal;overflow-wrap:anywhere;font-size:12px;line-height:1.35}
.b{min-width:140px}.b div{height:10px;margin-top:6px;background:#3f74b5}
svg{width:100%;height:auto;display:block;background:#8881}
svg text{font:11px system-ui,sans-serif;fill:currentColor}
.a{stroke:currentColor;stroke-opacity:.2}
.o{fill:#8883;stroke:currentColor;stroke-opacity:.4;stroke-width:.5}.i{stroke:none}
.c{display:flex;flex-wrap:wrap;gap:12px}.c div{border:1px solid #8886;padding:6px 14px;min-width:110px}
.c b{display:block;font-size:20px}
@media(max-width:720px){svg{min-width:720px}.c{gap:6px}.c div{padding:4px 8px;min-width:calc(50% - 24px);flex:1}
.b{min-width:60px}}
)html";

std::string OfRun(const ProfileSummary& summary, double ms) { return Format("%.1f", 100 * summary.Share(ms)); }
std::string Percent(double share) { return Format("%.1f %%", 100 * share); }

std::string Card(std::string_view title, const std::string& value, const std::string& more = "") {
  return Str("<div><span class=\"s\">", title, "</span>", Element("b", value), Element("span", more, "s"), "</div>\n");
}

std::string Cards(const ProfileSummary& summary) {
  std::string out = Card("run", HumanMilliseconds(summary.run_ms),
                         Str("± ", HumanMilliseconds(summary.deviation_ms), ", ", Counted(summary.runs, "run")));
  const auto share = [&](std::string_view title, double ms) {
    out += Card(title, Percent(summary.Share(ms)), HumanMilliseconds(ms));
  };
  share("device busy", summary.busy_ms);
  for (int cause = 0; cause < kGapCauses; ++cause) {
    const GapFigures& gap = summary.gaps[cause];
    if (gap.count > 0) share(Str("gaps: ", ToString(static_cast<GapCause>(cause))), gap.ms);
  }
  if (summary.interpreted_ms > 0) share("interpreter", summary.interpreted_ms);
  out += Card("memory", HumanBytes(static_cast<double>(summary.memory.planned_bytes)),
              Str("live at most ", HumanBytes(static_cast<double>(summary.memory.peak_bytes))));
  return Str("<div class=\"c\">\n", out, Card("overhead", Percent(summary.overhead), "of profiling"), "</div>\n");
}

std::string Advice(const ProfileSummary& summary) {
  std::string items;
  for (const std::string& one : AdviceOn(summary)) items += Str(Element("li", one), "\n");
  return items.empty() ? "" : Str("<h2>Advice</h2><ul>\n", items, "</ul>\n");
}

std::string NameCell(const std::string& name, const std::string& op_name, const std::string& source) {
  const std::string origin = OriginOf(op_name, source);
  return Str("<td class=\"x\">", XmlText(name), origin.empty() ? "" : Element("span", origin, "s"), "</td>");
}
std::string Bar(const ProfileSummary& summary, double ms) {
  return Format("<td class=\"b\"><div style=\"width:%.1f%%\"></div></td>", std::min(100.0, 100 * summary.Share(ms)));
}
// Cells of numbers.
template <class... Texts>
std::string Numbers(const Texts&... texts) {
  return Str(Cell(texts, "n")...);
}

std::string Section(std::string_view title, const std::vector<std::string>& rows, size_t left_out,
                    std::string_view what) {
  return Str("<h2>", title, "</h2>\n", HtmlRows(rows),
             left_out == 0 ? "" : Str("<p class=\"s\">", left_out, " ", what, "</p>\n"));
}

std::string StepTable(const ProfileSummary& summary) {
  constexpr size_t kMost = 200;
  std::vector<std::string> rows = {
      TitleCells({"step", "kind", "", ">%", ">ms", ">count", ">us", ">bits", ">GB/s", ">GFLOP/s", ">roof", "bound"})};
  for (const StepRow& row : summary.steps) {
    if (row.figures.executions == 0 || rows.size() > kMost) break;
    const ProfiledStep& step = row.step;
    rows.push_back(Str(
        NameCell(step.name, step.op_name, step.source), Cell(step.kind), Bar(summary, row.figures.ms),
        Numbers(OfRun(summary, row.figures.ms), Format("%.4f", row.figures.ms), Format("%g", row.figures.executions),
                Format("%.2f", row.figures.mean_us), Str(step.bits), Format("%.1f", row.GigabytesPerSecond()),
                Format("%.2f", row.GigaflopsPerSecond()), Format("%.0f %%", 100 * row.OfRoof())),
        Cell(ToString(step.bound))));
  }
  return Section("Steps", rows, summary.steps.size() - (rows.size() - 1), "more steps take less time or did not run.");
}

std::string Loops(const ProfileSummary& summary) {
  if (summary.loops.empty()) return "";
  std::vector<std::string> rows = {TitleCells({"loop", "", ">%", ">ms", ">trips", ">us per trip"})};
  for (const auto& [loop, figures] : summary.loops)
    rows.push_back(Str(NameCell(loop.name, loop.op_name, loop.source), Bar(summary, figures.ms),
                       Numbers(OfRun(summary, figures.ms), Format("%.4f", figures.ms), Format("%g", figures.trips),
                               Format("%.2f", figures.trips > 0 ? 1000 * figures.ms / figures.trips : 0))));
  return Section("Loops", rows, 0, "");
}

constexpr size_t kMostRows = 50;

std::string Groups(const ProfileSummary& summary, std::string_view title, const std::vector<GroupRow>& groups) {
  if (groups.empty()) return "";
  std::vector<std::string> rows = {TitleCells({"", ">%", ">ms", ">count", "name"})};
  const size_t shown = std::min(kMostRows, groups.size());
  for (size_t i = 0; i < shown; ++i)
    rows.push_back(
        Str(Bar(summary, groups[i].ms),
            Numbers(OfRun(summary, groups[i].ms), Format("%.4f", groups[i].ms), Format("%g", groups[i].executions)),
            NameCell(groups[i].name, "", "")));
  return Section(title, rows, groups.size() - shown, "more take less time.");
}

std::string Held(const ProfileSummary& summary) {
  const std::vector<HeldValue>& all = summary.memory.at_peak;
  if (all.empty()) return "";
  std::vector<std::string> rows = {TitleCells({">bytes", "value", "shape", "from", "to"})};
  const size_t shown = std::min(kMostRows, all.size());
  for (size_t i = 0; i < shown; ++i)
    rows.push_back(Str(Numbers(HumanBytes(static_cast<double>(all[i].bytes))),
                       NameCell(Str(all[i].name, all[i].is_output ? " (output)" : ""), all[i].op_name, all[i].source),
                       Cell(all[i].shape), Cell(all[i].from), Cell(all[i].to)));
  return Section("Values in memory at the peak", rows, all.size() - shown, "smaller values.");
}

}  // namespace

std::string ProfileHtml(const ProfileSummary& summary) {
  return Str(PageHead(Str("Profile of ", summary.module_name), kRules), Element("h1", summary.module_name),
             "\n<p class=\"s\">", XmlText(summary.path), " on ", XmlText(summary.platform), " (",
             XmlText(summary.device), "), planned for ", XmlText(summary.target), "</p>\n", Cards(summary),
             Advice(summary), TimeLine(summary), MemoryCurve(summary), Roofline(summary), StepTable(summary),
             Loops(summary), Groups(summary, "By scope of op_name", summary.scopes),
             Groups(summary, "By line of the source", summary.sources), Held(summary), kPageEnd);
}

}  // namespace hlo
