#include "driver/profile/profile_charts.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/profile/merged_lane.h"
#include "driver/xml.h"

namespace hlo {
namespace {

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

constexpr double kWidth = 1160, kLeft = 70, kRight = 20, kLane = 30, kNamedLane = 20;

std::string Number(double value) { return Format("%.2f", value); }
std::string Label(double x, double y, std::string_view anchor, std::string_view text) {
  return SvgText(x, y, Str("text-anchor=\"", anchor, "\""), text, 2);
}
std::string Line(double x1, double y1, double x2, double y2, std::string_view attributes) {
  return SvgLine(x1, y1, x2, y2, attributes, 2);
}
std::string Svg(double height, const std::string& content) {
  return Str("<div class=\"t\"><svg viewBox=\"0 0 ", Number(kWidth), " ", Number(height), "\" role=\"img\">\n", content,
             "</svg></div>\n");
}

// Approximate width of a character in a font of 11 pixels.
constexpr double kCharacter = 6.2;

// Cuts the text to `width` pixels, or to "" if fewer than four characters fit.
std::string Fitted(std::string_view text, double width) {
  auto fits = static_cast<size_t>(std::max(0.0, width / kCharacter));
  if (text.size() <= fits) return std::string(text);
  while (fits >= 4 && (text[fits - 1] & 0xC0) == 0x80) --fits;
  return fits < 4 ? "" : Str(text.substr(0, fits - 1), "\u2026");
}

// Length of the common path, including its last '/'.
size_t SharedPrefix(const std::vector<std::string_view>& names) {
  if (names.empty()) return 0;
  size_t shared = names.front().rfind('/') + 1;
  for (const std::string_view name : names) {
    while (shared > 0 && name.substr(0, shared) != names.front().substr(0, shared))
      shared = shared < 2 ? 0 : names.front().rfind('/', shared - 2) + 1;
  }
  return shared;
}

const ProfiledStep* StepOfSpan(const ProfileSummary& summary, const SampleSpan& span) {
  return span.step < 0 ? nullptr : &summary.steps[span.step].step;
}

// Horizontal place of a time of the run.
double X(const ProfileSummary& summary, double us) {
  return kLeft + (kWidth - kLeft - kRight) * us / std::max(1e-9, 1000 * summary.sample_ms);
}

std::string TimeAxis(const ProfileSummary& summary, double top, double bottom) {
  std::string axis;
  const double most = 1000 * summary.sample_ms, step = AxisStep(most, 10);
  for (double us = 0; us <= most; us += step) {
    axis += Line(X(summary, us), top, X(summary, us), bottom, "class=\"a\"");
    axis +=
        Label(X(summary, us), bottom + 14, "middle", most < 5000 ? Format("%g us", us) : Format("%g ms", us / 1000));
  }
  return axis;
}

std::string NamedBar(const ProfileSummary& summary, double begin, double end, double top, std::string_view name,
                     const std::string& tooltip) {
  const double width = std::max(0.5, X(summary, end) - X(summary, begin));
  const std::string label = Fitted(name, width - 6);
  constexpr double kWideEnough = 3;
  return Str("<rect class=\"", width < kWideEnough ? "o i" : "o", "\" x=\"", Number(X(summary, begin)), "\" y=\"",
             Number(top + 2), "\" width=\"", Number(width), "\" height=\"", kNamedLane - 4, "\"><title>",
             XmlText(tooltip), "</title></rect>\n",
             label.empty() ? "" : Label(X(summary, begin) + 3, top + 14, "start", label));
}

std::string StepLanes(const ProfileSummary& summary, const std::vector<size_t>& lanes, double top) {
  std::string out;
  for (size_t i = 0; i < lanes.size(); ++i)
    out += Label(kLeft - 6, top + kLane * static_cast<double>(i) + 19, "end",
                 lanes[i] == 3 ? "interpreter" : kColours[lanes[i]].what);
  for (const SampleSpan& span : summary.sample) {
    const ProfiledStep* const step = StepOfSpan(summary, span);
    const Colour& colour = ColourOf(step);
    const auto lane = std::ranges::find(lanes, static_cast<size_t>(&colour - kColours)) - lanes.begin();
    std::string about = "copies inserted by the buffer plan";
    if (step != nullptr) {
      const std::string origin = OriginOf(step->op_name, step->source);
      about = Str(step->name, " (", step->kind, ")", origin.empty() ? "" : "\n", origin, "\n");
    }
    out += Str("<rect x=\"", Number(X(summary, span.begin_us)), "\" y=\"",
               Number(top + kLane * static_cast<double>(lane) + 4), "\" width=\"",
               Number(std::max(0.5, X(summary, span.begin_us + span.us) - X(summary, span.begin_us))), "\" height=\"",
               kLane - 8, "\" fill=\"", colour.code, "\"><title>", XmlText(about),
               Format(" %.2f us</title></rect>\n", span.us));
  }
  return out;
}

std::string LoopLanes(const ProfileSummary& summary, double* top) {
  constexpr int kMostLanes = 3;
  std::string out;
  int lanes = 0;
  for (const SampleLoop& one : summary.sample_loops) {
    if (one.depth >= kMostLanes) continue;
    lanes = std::max(lanes, one.depth + 1);
    const ProfiledLoop& loop = summary.loops[one.loop].loop;
    const std::string name = loop.name.empty() ? "loop" : loop.name, origin = OriginOf(loop.op_name, loop.source);
    out += NamedBar(
        summary, one.begin_us, one.begin_us + one.us, *top + kNamedLane * one.depth,
        Str(name, ", ", Counted(one.trips, "trip")),
        Str(name, origin.empty() ? "" : "\n", origin, "\n ", Counted(one.trips, "trip"), Format(", %.2f us", one.us)));
  }
  if (lanes > 0) out += Label(kLeft - 6, *top + 15, "end", "loops");
  *top += lanes * kNamedLane;
  return out;
}

// The first lane shows the first component in which op_names differ.
std::string ScopeLanes(const ProfileSummary& summary, double* top) {
  constexpr size_t kMostLanes = 3;
  std::vector<std::string_view> names;
  for (const SampleSpan& span : summary.sample) {
    const ProfiledStep* const step = StepOfSpan(summary, span);
    if (step != nullptr && step->op_name.contains('/')) names.push_back(step->op_name);
  }
  const size_t shared = SharedPrefix(names);
  std::string out;
  size_t lanes = 0;
  const auto emit = [&](size_t depth, double begin, double end, std::string_view name) {
    if (depth >= kMostLanes) return;
    lanes = std::max(lanes, depth + 1);
    out += NamedBar(summary, begin, end, *top + kNamedLane * static_cast<double>(depth), name,
                    Str(name, Format("\n %.2f us", end - begin)));
  };
  MergedLane<double> scopes(/*is_nested=*/true);
  for (const SampleSpan& span : summary.sample) {
    const ProfiledStep* const step = StepOfSpan(summary, span);
    if (step == nullptr || step->op_name.empty()) continue;  // Such a step does not end a scope.
    const std::string_view name = step->op_name;
    const size_t end = name.rfind('/');  // The last part is the operation.
    const bool has_scope = end != std::string_view::npos && end > shared;
    scopes.Add(has_scope ? name.substr(shared, end - shared) : "", span.begin_us, span.begin_us + span.us, emit);
  }
  scopes.Close(0, emit);
  if (lanes > 0) out += Label(kLeft - 6, *top + 15, "end", "scopes");
  *top += static_cast<double>(lanes) * kNamedLane;
  return out;
}

struct Labelled {
  double x, y, radius;
  std::string_view name;
};

std::string NamesOf(const std::vector<Labelled>& discs, double top, double bottom) {
  constexpr size_t kMost = 12;
  constexpr double kHeight = 12;
  struct Box {
    double left, top, right, bottom;
  };
  std::vector<Box> taken;
  for (const Labelled& disc : discs) {
    const double inside = 0.7 * disc.radius;  // Half the side of the square in the disc.
    taken.push_back({disc.x - inside, disc.y - inside, disc.x + inside, disc.y + inside});
  }
  std::string out;
  for (size_t i = 0; i < std::min(kMost, discs.size()); ++i) {
    const Labelled& disc = discs[i];
    const std::string name = Fitted(disc.name, 30 * kCharacter);
    const double width = kCharacter * static_cast<double>(name.size()), beside = disc.radius + 3;
    const Box places[] = {{disc.x + beside, disc.y - 6, disc.x + beside + width, disc.y + 6},
                          {disc.x - beside - width, disc.y - 6, disc.x - beside, disc.y + 6},
                          {disc.x - width / 2, disc.y - beside - kHeight, disc.x + width / 2, disc.y - beside},
                          {disc.x - width / 2, disc.y + beside, disc.x + width / 2, disc.y + beside + kHeight},
                          {disc.x + 3, disc.y - beside - kHeight, disc.x + 3 + width, disc.y - beside},
                          {disc.x - 3 - width, disc.y - beside - kHeight, disc.x - 3, disc.y - beside},
                          {disc.x + 3, disc.y + beside, disc.x + 3 + width, disc.y + beside + kHeight},
                          {disc.x - 3 - width, disc.y + beside, disc.x - 3, disc.y + beside + kHeight}};
    for (const Box& box : places) {
      const auto meets = [&](const Box& other) {
        return box.left < other.right && other.left < box.right && box.top < other.bottom && other.top < box.bottom;
      };
      const bool is_inside = box.left >= kLeft && box.right <= kWidth - 4 && box.top >= top && box.bottom <= bottom;
      if (!is_inside || std::ranges::any_of(taken, meets)) continue;
      taken.push_back(box);
      out += Label(box.left, box.bottom - 2, "start", name);
      break;
    }
  }
  return out;
}

}  // namespace

std::string OriginOf(const std::string& op_name, const std::string& source) {
  return Str(op_name, op_name.empty() || source.empty() ? "" : "  ", source);
}

std::string TimeLine(const ProfileSummary& summary) {
  if (summary.sample.empty()) return "";
  std::string out =
      Str("<h2>A run</h2>\n<p class=\"s\">The run nearest to the median, ", HumanMilliseconds(summary.sample_ms),
          summary.sample_left_out > 0 ? Str("; without its ", summary.sample_left_out, " shortest events") : "",
          ". Point at a bar for its name, origin and time.</p>\n");
  std::vector<size_t> lanes;
  for (size_t lane = 0; lane < std::size(kColours); ++lane) {
    const auto is_here = [&](const SampleSpan& span) {
      return &ColourOf(StepOfSpan(summary, span)) == &kColours[lane];
    };
    if (std::ranges::any_of(summary.sample, is_here)) lanes.push_back(lane);
  }
  constexpr double kTop = 10;
  double bottom = kTop + kLane * static_cast<double>(lanes.size());
  const std::string loops = LoopLanes(summary, &bottom), scopes = ScopeLanes(summary, &bottom);
  return out + Svg(bottom + 24, Str(TimeAxis(summary, kTop, bottom), StepLanes(summary, lanes, kTop), loops, scopes));
}

std::string MemoryCurve(const ProfileSummary& summary) {
  const auto peak = static_cast<double>(summary.memory.peak_bytes);
  if (summary.sample.empty() || peak <= 0) return "";
  std::string out = Str("<h2>Memory</h2>\n<p class=\"s\">Temporaries and outputs over that run, at most ",
                        HumanBytes(peak), " at '", XmlText(summary.memory.peak_at), "'.</p>\n");
  constexpr double kTop = 10, kHeight = 120;
  std::string curve = TimeAxis(summary, kTop, kTop + kHeight);
  const auto y = [&](double bytes) { return kTop + kHeight * (1 - bytes / peak); };
  for (const double part : {0.0, 0.5, 1.0})
    curve += Label(kLeft - 6, y(part * peak) + 4, "end", HumanBytes(part * peak));
  std::string points;
  double last = 0;
  for (const SampleSpan& span : summary.sample) {
    const ProfiledStep* const step = StepOfSpan(summary, span);
    if (step == nullptr) continue;
    points += Str(Number(X(summary, span.begin_us)), ",", Number(y(last)), " ");
    last = static_cast<double>(step->live_bytes);
    points += Str(Number(X(summary, span.begin_us)), ",", Number(y(last)), " ");
  }
  points += Str(Number(X(summary, 1000 * summary.sample_ms)), ",", Number(y(last)));
  curve += Str("<polyline fill=\"none\" stroke=\"#3f74b5\" stroke-width=\"1.5\" points=\"", points, "\"/>\n");
  return out + Svg(kTop + kHeight + 24, curve);
}

std::string Roofline(const ProfileSummary& summary) {
  struct Dot {
    const StepRow* row;
    double intensity, rate;
  };
  std::vector<Dot> dots;
  for (const StepRow& row : summary.steps) {
    const double work = row.step.cost.flops + row.step.cost.transcendentals, bytes = row.step.cost.bytes();
    if (work > 0 && bytes > 0 && row.figures.mean_us > 0 && !row.step.IsInterpreted())
      dots.push_back({&row, work / bytes, row.GigaflopsPerSecond()});
  }
  const double memory = summary.memory_rate / 1e9, peak = *std::ranges::max_element(summary.dot_rates) / 1e9;
  if (dots.empty() || memory <= 0 || peak <= 0) return "";
  std::string out =
      Str("<h2>Roofline</h2>\n<p class=\"s\">The roof is ", XmlText(summary.roof_name),
          " as described, not measured: ", Format("%.3g GB/s, %.3g GFLOP/s", memory, peak),
          ". The area of a disc is its share of the time. A step above the roof reads from caches.</p>\n");
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
  plot += Label((kLeft + kWidth) / 2, kTop + kHeight + 30, "middle", "flop per byte");
  plot += Label(kLeft, kTop - 1, "start", "GFLOP/s");
  constexpr std::string_view kRoof = "stroke=\"#d08c3c\" stroke-width=\"2\"";
  const double from = std::max(std::pow(10, x0), std::pow(10, y0) / memory), bend = peak / memory;
  plot += Line(x(from), y(from * memory), x(bend), y(peak), kRoof);
  plot += Line(x(bend), y(peak), x(std::pow(10, x1)), y(peak), kRoof);
  std::vector<Labelled> discs;
  for (const Dot& dot : dots) {
    const double radius = 2.5 + 22 * std::sqrt(std::min(1.0, summary.Share(dot.row->figures.ms)));
    const ProfiledStep& step = dot.row->step;
    discs.push_back({x(dot.intensity), y(std::max(dot.rate, std::pow(10, y0))), radius, step.name});
    const std::string origin = OriginOf(step.op_name, step.source);
    plot += Str("<circle cx=\"", Number(discs.back().x), "\" cy=\"", Number(discs.back().y), "\" r=\"", Number(radius),
                "\" fill=\"", ColourOf(&step).code, "\" fill-opacity=\"0.55\"><title>", XmlText(step.name), " (",
                XmlText(step.kind), ")", origin.empty() ? "" : "\n", XmlText(origin),
                Format("\n%.3g flop/byte, %.3g GFLOP/s, %.1f %% of the run</title></circle>\n", dot.intensity, dot.rate,
                       100 * summary.Share(dot.row->figures.ms)));
  }
  plot += NamesOf(discs, kTop, kTop + kHeight);
  return out + Svg(kTop + kHeight + 40, plot);
}

}  // namespace hlo
