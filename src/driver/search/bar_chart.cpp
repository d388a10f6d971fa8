#include "driver/search/bar_chart.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "driver/xml.h"

namespace hlo {
namespace {

// Sizes in pixels.
constexpr double kRow = 22, kBarHeight = 14, kPlot = 560, kCharacter = 6.9, kMargin = 16, kHead = 64, kGroup = 30,
                 kAxis = 46;

std::string Number(double value) { return Format("%.1f", value); }

std::string Text(double x, double y, std::string_view style, std::string_view text) {
  return SvgText(x, y, style, text, 1);
}
std::string Line(double x1, double y1, double x2, double y2, std::string_view style) {
  return SvgLine(x1, y1, x2, y2, style, 1);
}

struct Scale {
  double low = 0, high = 0, step = 1, left = 0;

  double X(double value) const { return left + kPlot * (value - low) / (high - low); }
};

Scale ScaleOf(const BarChart& chart) {
  Scale scale;
  size_t widest = 0;
  for (const BarGroup& group : chart.groups) {
    for (const Bar& bar : group.bars) {
      widest = std::max(widest, bar.name.size());
      if (bar.is_failure) continue;
      scale.low = std::min({scale.low, bar.value, bar.interval ? bar.interval->first : bar.value});
      scale.high = std::max({scale.high, bar.value, bar.interval ? bar.interval->second : bar.value});
    }
  }
  if (scale.high <= scale.low) scale.high = scale.low + 1;
  scale.step = AxisStep(scale.high - scale.low, 6);
  // A small negative value does not extend the axis by a whole step.
  scale.low = std::max(std::floor(scale.low / scale.step) * scale.step, scale.low - 0.1 * scale.step);
  scale.high = std::ceil(scale.high / scale.step) * scale.step;
  scale.left = kMargin + static_cast<double>(widest) * kCharacter + 10;
  return scale;
}

void AppendBar(const Bar& bar, const Scale& scale, double y, std::string* out) {
  const double zero = scale.X(0), end = scale.X(bar.value), middle = y + kRow / 2;
  *out += Text(scale.left - 8, middle + 4, "text-anchor=\"end\"", bar.name);
  if (bar.is_failure) {
    *out += Text(zero + 6, middle + 4, "fill=\"#b3261e\"", bar.label);
    return;
  }
  const double width = std::max(std::abs(end - zero), 1.0);
  *out += Str("<rect x=\"", Number(std::min(zero, end)), "\" y=\"", Number(middle - kBarHeight / 2), "\" width=\"",
              Number(width), "\" height=\"", Number(kBarHeight), "\" fill=\"", bar.value < 0 ? "#d08c3c" : "#3f74b5",
              "\"/>\n");
  double right = std::max(zero, end);
  if (bar.interval) {
    const double low = scale.X(bar.interval->first), high = scale.X(bar.interval->second);
    constexpr std::string_view kInk = "stroke=\"#222\"";
    *out += Line(low, middle, high, middle, kInk);
    for (const double x : {low, high}) *out += Line(x, middle - 4, x, middle + 4, kInk);
    right = std::max(right, high);
  }
  *out += Text(right + 6, middle + 4, "fill=\"#444\"", bar.label);
}

}  // namespace

std::string ChartSvg(const BarChart& chart) {
  const Scale scale = ScaleOf(chart);
  double rows = 0, longest_label = 0;
  for (const BarGroup& group : chart.groups) {
    rows += kRow * static_cast<double>(group.bars.size()) + (group.title.empty() ? 0 : kGroup);
    for (const Bar& bar : group.bars)
      longest_label = std::max(longest_label, kCharacter * static_cast<double>(bar.label.size()));
  }
  const double titles = kCharacter * static_cast<double>(std::max(chart.title.size() * 4 / 3, chart.subtitle.size()));
  const double width = std::max(scale.left + kPlot + longest_label, titles) + 2 * kMargin;
  const double bottom = kHead + rows, height = bottom + kAxis;
  std::string out = Str("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", Number(width), " ", Number(height),
                        "\" width=\"", Number(width), "\" height=\"", Number(height),
                        "\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"12\">\n"
                        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n");
  out += Text(kMargin, 26, "font-size=\"16\" font-weight=\"bold\"", chart.title);
  out += Text(kMargin, 46, "fill=\"#555\"", chart.subtitle);
  const int64_t first = std::llround(std::ceil(scale.low / scale.step)), last = std::llround(scale.high / scale.step);
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * scale.step, x = scale.X(value);
    out += Line(x, kHead, x, bottom, i == 0 ? "stroke=\"#999\"" : "stroke=\"#e4e4e4\"");
    out += Text(x, bottom + 16, "text-anchor=\"middle\" fill=\"#555\"", Format("%g", std::round(value * 1e6) / 1e6));
  }
  out += Text(scale.left + kPlot / 2, bottom + 36, "text-anchor=\"middle\" fill=\"#555\"", chart.axis);
  double y = kHead;
  for (const BarGroup& group : chart.groups) {
    if (!group.title.empty()) {
      out += Text(kMargin, y + kGroup - 10, "font-weight=\"bold\"", group.title);
      y += kGroup;
    }
    for (const Bar& bar : group.bars) {
      AppendBar(bar, scale, y, &out);
      y += kRow;
    }
  }
  return out + "</svg>\n";
}

}  // namespace hlo
