// A bar chart as a self-contained SVG.
#ifndef HLO_DRIVER_SEARCH_BAR_CHART_H_
#define HLO_DRIVER_SEARCH_BAR_CHART_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hlo {

struct Bar {
  std::string name, label;  // `label` is drawn after the bar.
  double value = 0;
  std::optional<std::pair<double, double>> interval;
  bool is_failure = false;  // Only the label is drawn.
};

struct BarGroup {
  std::string title;
  std::vector<Bar> bars;
};

struct BarChart {
  std::string title, subtitle, axis;
  std::vector<BarGroup> groups;
};

std::string ChartSvg(const BarChart& chart);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_BAR_CHART_H_
