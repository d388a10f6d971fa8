#include "driver/profile/profile_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/profile/advice.h"
#include "driver/xml.h"

namespace hlo {
namespace {

constexpr std::string_view kHead = R"html(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>TITLE</title><style>
:root{color-scheme:light dark}
body{font:14px/1.5 system-ui,sans-serif;max-width:1200px;margin:0 auto;padding:0 16px 48px}
h1{overflow-wrap:anywhere}
h2{margin:36px 0 4px;border-top:1px solid #8886;padding-top:12px;font-size:18px}
table{border-collapse:collapse;margin:8px 0}.t{overflow-x:auto}
th,td{text-align:left;padding:2px 14px 2px 0;vertical-align:top}
th{font-weight:600;border-bottom:1px solid #8886}
.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.s{opacity:.65}
.b{min-width:140px}.b div{height:10px;margin-top:6px;background:#3f74b5}
svg{width:100%;height:auto;display:block;background:#8881;margin:8px 0}
svg text{font:11px system-ui,sans-serif;fill:currentColor}
.a{stroke:currentColor;stroke-opacity:.2}
.c{display:flex;flex-wrap:wrap;gap:12px}.c div{border:1px solid #8886;padding:6px 14px;min-width:110px}
.c b{display:block;font-size:20px}
@media(max-width:720px){body{padding:0 10px 32px}h1{font-size:22px}svg{min-width:720px}.s{overflow-wrap:anywhere}
.c{gap:6px}.c div{padding:4px 8px;min-width:calc(50% - 24px);flex:1}.b{min-width:60px}}
</style></head><body>
)html";

// By what a step is; the same in all pictures.
struct Colour {
  std::string_view what, code;
};
constexpr Colour kColours[] = {
    {"kernel", "#3f74b5"}, {"library call", "#2f9e62"}, {"copy or fill", "#d08c3c"}, {"by the interpreter", "#b3261e"}};

const Colour& ColourOf(const ProfiledStep* step) {
  if (step == nullptr || step->sort == gpu::StepKind::kCopy || step->sort == gpu::StepKind::kFill) return kColours[2];
  if (step->IsInterpreted()) return kColours[3];
  return step->sort == gpu::StepKind::kKernel ? kColours[0] : kColours[1];
}

// Pixels.
constexpr double kWidth = 1160, kLeft = 70, kRight = 20;

std::string Number(double value) { return Format("%.2f", value); }
std::string Label(double x, double y, std::string_view anchor, std::string_view text) {
  return Str("<text x=\"", Number(x), "\" y=\"", Number(y), "\" text-anchor=\"", anchor, "\">", XmlText(text),
             "</text>\n");
}
std::string Line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return Str("<line x1=\"", Number(x1), "\" y1=\"", Number(y1), "\" x2=\"", Number(x2), "\" y2=\"", Number(y2), "\" ",
             attributes, "/>\n");
}
std::string Svg(double height, const std::string& content) {
  return Str("<div class=\"t\"><svg viewBox=\"0 0 ", Number(kWidth), " ", Number(height), "\" role=\"img\">\n", content,
             "</svg></div>\n");
}

// 1, 2 or 5 times a power of ten, at most `most` of them in `range`.
double StepOf(double range, int most) {
  const double rough = std::max(range, 1e-12) / most, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Page {
 public:
  explicit Page(const ProfileSummary& summary) : summary_(summary) {}

  std::string Take() {
    out_ = kHead;
    out_.replace(out_.find("TITLE"), 5, XmlText(Str("Profile of ", summary_.module_name)));
    out_ += Str("<h1>", XmlText(summary_.module_name), "</h1>\n<p class=\"s\">", XmlText(summary_.path), " on ",
                XmlText(summary_.platform), " (", XmlText(summary_.device), "), planned for ", XmlText(summary_.target),
                "</p>\n");
    Cards();
    Advice();
    TimeLine();
    MemoryCurve();
    Roofline();
    Steps();
    Loops();
    Groups("By scope of op_name", summary_.scopes);
    Groups("By line of the source", summary_.sources);
    Held();
    return std::move(out_) + "</body></html>\n";
  }

 private:
  const ProfiledStep* StepOfSpan(const SampleSpan& span) const {
    return span.step < 0 ? nullptr : &summary_.steps[span.step].step;
  }

  void Card(std::string_view title, const std::string& value, const std::string& more = "") {
    out_ += Str("<div><span class=\"s\">", title, "</span><b>", XmlText(value), "</b><span class=\"s\">", XmlText(more),
                "</span></div>\n");
  }

  void Cards() {
    const auto percent = [](double share) { return Format("%.1f %%", 100 * share); };
    out_ += "<div class=\"c\">\n";
    Card("run", HumanMilliseconds(summary_.run_ms),
         Str("± ", HumanMilliseconds(summary_.deviation_ms), ", ", Counted(summary_.runs, "run")));
    Card("device busy", percent(summary_.Share(summary_.busy_ms)), HumanMilliseconds(summary_.busy_ms));
    for (int cause = 0; cause < kGapCauses; ++cause) {
      const GapFigures& gap = summary_.gaps[cause];
      if (gap.count > 0)
        Card(Str("gaps: ", ToString(static_cast<GapCause>(cause))), percent(summary_.Share(gap.ms)),
             HumanMilliseconds(gap.ms));
    }
    if (summary_.interpreted_ms > 0)
      Card("interpreter", percent(summary_.Share(summary_.interpreted_ms)), HumanMilliseconds(summary_.interpreted_ms));
    Card("memory", HumanBytes(static_cast<double>(summary_.memory.planned_bytes)),
         Str("live at most ", HumanBytes(static_cast<double>(summary_.memory.peak_bytes))));
    Card("overhead", percent(summary_.overhead), "of profiling");
    out_ += "</div>\n";
  }

  void Advice() {
    const std::vector<std::string> advice = AdviceOn(summary_);
    if (advice.empty()) return;
    out_ += "<h2>Advice</h2><ul>\n";
    for (const std::string& one : advice) out_ += Str("<li>", XmlText(one), "</li>\n");
    out_ += "</ul>\n";
  }

  // Of the run that is drawn.
  double X(double us) const {
    return kLeft + (kWidth - kLeft - kRight) * us / std::max(1e-9, 1000 * summary_.sample_ms);
  }

  std::string TimeAxis(double top, double bottom) const {
    std::string axis;
    const double most = 1000 * summary_.sample_ms, step = StepOf(most, 10);
    for (double us = 0; us <= most; us += step) {
      axis += Line(X(us), top, X(us), bottom, "class=\"a\"");
      axis += Label(X(us), bottom + 14, "middle", most < 5000 ? Format("%g us", us) : Format("%g ms", us / 1000));
    }
    return axis;
  }

  void TimeLine() {
    if (summary_.sample.empty()) return;
    out_ += Str("<h2>A run</h2>\n<p class=\"s\">The one nearest to the median, ", HumanMilliseconds(summary_.sample_ms),
                summary_.sample_left_out > 0 ? Str("; without its ", summary_.sample_left_out, " shortest events") : "",
                ". A step's name and time show under the mouse.</p>\n");
    constexpr double kTop = 10, kLane = 30;
    std::string lanes = TimeAxis(kTop, kTop + kLane * std::size(kColours));
    for (size_t lane = 0; lane < std::size(kColours); ++lane)
      lanes += Label(kLeft - 6, kTop + kLane * static_cast<double>(lane) + 19, "end",
                     lane == 3 ? "interpreter" : kColours[lane].what);
    for (const SampleSpan& span : summary_.sample) {
      const ProfiledStep* const step = StepOfSpan(span);
      const Colour& colour = ColourOf(step);
      const auto lane = static_cast<double>(&colour - kColours);
      lanes += Str("<rect x=\"", Number(X(span.begin_us)), "\" y=\"", Number(kTop + kLane * lane + 4), "\" width=\"",
                   Number(std::max(0.5, X(span.begin_us + span.us) - X(span.begin_us))), "\" height=\"", kLane - 8,
                   "\" fill=\"", colour.code, "\"><title>",
                   XmlText(step == nullptr ? "copies of the buffer plan" : Str(step->name, " (", step->kind, ")")),
                   Format(" %.2f us</title></rect>\n", span.us));
    }
    out_ += Svg(kTop + kLane * std::size(kColours) + 24, lanes);
  }

  void MemoryCurve() {
    const auto peak = static_cast<double>(summary_.memory.peak_bytes);
    if (summary_.sample.empty() || peak <= 0) return;
    out_ += Str("<h2>Memory</h2>\n<p class=\"s\">Temporaries and outputs over that run, at most ", HumanBytes(peak),
                " at '", XmlText(summary_.memory.peak_at), "'.</p>\n");
    constexpr double kTop = 10, kHeight = 120;
    std::string curve = TimeAxis(kTop, kTop + kHeight);
    const auto y = [&](double bytes) { return kTop + kHeight * (1 - bytes / peak); };
    for (const double part : {0.0, 0.5, 1.0})
      curve += Label(kLeft - 6, y(part * peak) + 4, "end", HumanBytes(part * peak));
    std::string points;
    double last = 0;
    for (const SampleSpan& span : summary_.sample) {
      const ProfiledStep* const step = StepOfSpan(span);
      if (step == nullptr) continue;
      points += Str(Number(X(span.begin_us)), ",", Number(y(last)), " ");
      last = static_cast<double>(step->live_bytes);
      points += Str(Number(X(span.begin_us)), ",", Number(y(last)), " ");
    }
    points += Str(Number(X(1000 * summary_.sample_ms)), ",", Number(y(last)));
    curve += Str("<polyline fill=\"none\" stroke=\"#3f74b5\" stroke-width=\"1.5\" points=\"", points, "\"/>\n");
    out_ += Svg(kTop + kHeight + 24, curve);
  }

  // Arithmetic for each byte against arithmetic for each second, both by powers of ten.
  void Roofline() {
    struct Dot {
      const StepRow* row;
      double intensity, rate;
    };
    std::vector<Dot> dots;
    for (const StepRow& row : summary_.steps) {
      const double work = row.step.cost.flops + row.step.cost.transcendentals, bytes = row.step.cost.bytes();
      if (work > 0 && bytes > 0 && row.figures.mean_us > 0 && !row.step.IsInterpreted())
        dots.push_back({&row, work / bytes, row.GigaflopsPerSecond()});
    }
    const double memory = summary_.memory_rate / 1e9, peak = *std::ranges::max_element(summary_.dot_rates) / 1e9;
    if (dots.empty() || memory <= 0 || peak <= 0) return;
    out_ += Str("<h2>Roofline</h2>\n<p class=\"s\">The roof is ", XmlText(summary_.roof_name),
                " as described, not measured: ", Format("%.3g GB/s, %.3g GFLOP/s", memory, peak),
                ". A disc's area is the share of the time; above the roof: out of caches.</p>\n");
    double left = peak / memory, right = left, low = peak, high = peak;
    for (const Dot& dot : dots) {
      left = std::min(left, dot.intensity), right = std::max(right, dot.intensity);
      low = std::min(low, dot.rate), high = std::max(high, dot.rate);
    }
    const auto floor_of = [](double value) { return std::floor(std::log10(std::max(value, 1e-6))); };
    const double x0 = floor_of(left), x1 = floor_of(right) + 1, y0 = floor_of(low), y1 = floor_of(high) + 1;
    constexpr double kTop = 10, kHeight = 320;
    const auto x = [&](double v) { return kLeft + (kWidth - kLeft - kRight) * (std::log10(v) - x0) / (x1 - x0); };
    const auto y = [&](double v) { return kTop + kHeight * (1 - (std::log10(v) - y0) / (y1 - y0)); };
    std::string plot;
    for (double power = x0; power <= x1; ++power) {
      const double at = std::pow(10, power);
      plot += Line(x(at), kTop, x(at), kTop + kHeight, "class=\"a\"");
      plot += Label(x(at), kTop + kHeight + 14, "middle", Format("%g", at));
    }
    for (double power = y0; power <= y1; ++power) {
      const double at = std::pow(10, power);
      plot += Line(kLeft, y(at), kWidth - kRight, y(at), "class=\"a\"");
      plot += Label(kLeft - 6, y(at) + 4, "end", Format("%g", at));
    }
    plot += Label((kLeft + kWidth) / 2, kTop + kHeight + 30, "middle", "flop for each byte");
    plot += Label(kLeft, kTop - 1, "start", "GFLOP/s");
    constexpr std::string_view kRoof = "stroke=\"#d08c3c\" stroke-width=\"2\"";
    const double from = std::max(std::pow(10, x0), std::pow(10, y0) / memory), bend = peak / memory;
    plot += Line(x(from), y(from * memory), x(bend), y(peak), kRoof);
    plot += Line(x(bend), y(peak), x(std::pow(10, x1)), y(peak), kRoof);
    for (const Dot& dot : dots) {
      const double radius = 2.5 + 22 * std::sqrt(std::min(1.0, summary_.Share(dot.row->figures.ms)));
      plot +=
          Str("<circle cx=\"", Number(x(dot.intensity)), "\" cy=\"", Number(y(std::max(dot.rate, std::pow(10, y0)))),
              "\" r=\"", Number(radius), "\" fill=\"", ColourOf(&dot.row->step).code,
              "\" fill-opacity=\"0.55\"><title>", XmlText(dot.row->step.name), " (", XmlText(dot.row->step.kind),
              Format(") %.3g flop/byte, %.3g GFLOP/s, %.1f %% of the run</title></circle>\n", dot.intensity, dot.rate,
                     100 * summary_.Share(dot.row->figures.ms)));
    }
    out_ += Svg(kTop + kHeight + 40, plot);
  }

  // Titles that begin with '>' are of numbers.
  void Head(std::span<const std::string_view> titles) {
    out_ += "<div class=\"t\"><table>\n<tr>";
    for (const std::string_view title : titles) {
      const bool right = title.starts_with('>');
      out_ += Str(right ? "<th class=\"n\">" : "<th>", XmlText(title.substr(right ? 1 : 0)), "</th>");
    }
    out_ += "</tr>\n";
  }
  static std::string Cell(const std::string& text) { return Str("<td>", XmlText(text), "</td>"); }
  static std::string NumberCell(const std::string& text) { return Str("<td class=\"n\">", XmlText(text), "</td>"); }
  std::string Bar(double ms) const {
    return Format("<td class=\"b\"><div style=\"width:%.1f%%\"></div></td>", std::min(100.0, 100 * summary_.Share(ms)));
  }

  void Steps() {
    constexpr size_t kMost = 200;
    constexpr std::string_view kTitles[] = {"step",  "kind",  "",         ">%",    ">ms",   ">count",  ">us",
                                            ">bits", ">GB/s", ">GFLOP/s", ">roof", "bound", "op_name", "source"};
    out_ += "<h2>Steps</h2>\n";
    Head(kTitles);
    size_t rows = 0;
    for (const StepRow& row : summary_.steps) {
      if (row.figures.executions == 0 || rows == kMost) break;
      ++rows;
      const ProfiledStep& step = row.step;
      out_ += Str(
          "<tr>", Cell(step.name), Cell(step.kind), Bar(row.figures.ms),
          NumberCell(Format("%.1f", 100 * summary_.Share(row.figures.ms))), NumberCell(Format("%.4f", row.figures.ms)),
          NumberCell(Format("%g", row.figures.executions)), NumberCell(Format("%.2f", row.figures.mean_us)),
          NumberCell(Str(step.bits)), NumberCell(Format("%.1f", row.GigabytesPerSecond())),
          NumberCell(Format("%.2f", row.GigaflopsPerSecond())), NumberCell(Format("%.0f %%", 100 * row.OfRoof())),
          Cell(std::string(ToString(step.bound))), Cell(step.op_name), Cell(step.source), "</tr>\n");
    }
    out_ += "</table></div>\n";
    if (rows < summary_.steps.size())
      out_ += Str("<p class=\"s\">", summary_.steps.size() - rows, " more take less, or did not run.</p>\n");
  }

  void Loops() {
    if (summary_.loops.empty()) return;
    constexpr std::string_view kTitles[] = {"loop", "", ">%", ">ms", ">trips", ">us of a trip", "op_name", "source"};
    out_ += "<h2>Loops</h2>\n";
    Head(kTitles);
    for (const auto& [loop, figures] : summary_.loops)
      out_ +=
          Str("<tr>", Cell(loop.name), Bar(figures.ms), NumberCell(Format("%.1f", 100 * summary_.Share(figures.ms))),
              NumberCell(Format("%.4f", figures.ms)), NumberCell(Format("%g", figures.trips)),
              NumberCell(Format("%.2f", figures.trips > 0 ? 1000 * figures.ms / figures.trips : 0)), Cell(loop.op_name),
              Cell(loop.source), "</tr>\n");
    out_ += "</table></div>\n";
  }

  void Groups(std::string_view title, const std::vector<GroupRow>& groups) {
    if (groups.empty()) return;
    constexpr size_t kMost = 50;
    constexpr std::string_view kTitles[] = {"", ">%", ">ms", ">count", "name"};
    out_ += Str("<h2>", title, "</h2>\n");
    Head(kTitles);
    for (size_t i = 0; i < std::min(kMost, groups.size()); ++i)
      out_ += Str("<tr>", Bar(groups[i].ms), NumberCell(Format("%.1f", 100 * summary_.Share(groups[i].ms))),
                  NumberCell(Format("%.4f", groups[i].ms)), NumberCell(Format("%g", groups[i].executions)),
                  Cell(groups[i].name), "</tr>\n");
    out_ += "</table></div>\n";
    if (groups.size() > kMost) out_ += Str("<p class=\"s\">", groups.size() - kMost, " more take less.</p>\n");
  }

  void Held() {
    if (summary_.memory.at_peak.empty()) return;
    constexpr size_t kMost = 50;
    constexpr std::string_view kTitles[] = {">bytes", "value", "shape", "from", "to", "op_name", "source"};
    out_ += "<h2>Held where the most is</h2>\n";
    Head(kTitles);
    const std::vector<HeldValue>& all = summary_.memory.at_peak;
    for (size_t i = 0; i < std::min(kMost, all.size()); ++i)
      out_ += Str("<tr>", NumberCell(HumanBytes(static_cast<double>(all[i].bytes))),
                  Cell(Str(all[i].name, all[i].is_output ? " (output)" : "")), Cell(all[i].shape), Cell(all[i].from),
                  Cell(all[i].to), Cell(all[i].op_name), Cell(all[i].source), "</tr>\n");
    out_ += "</table></div>\n";
    if (all.size() > kMost) out_ += Str("<p class=\"s\">", all.size() - kMost, " smaller ones.</p>\n");
  }

  const ProfileSummary& summary_;
  std::string out_;
};

}  // namespace

std::string ProfileHtml(const ProfileSummary& summary) { return Page(summary).Take(); }

}  // namespace hlo
