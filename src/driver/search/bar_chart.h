// A bar chart as a self-contained SVG.
#ifndef HLO_DRIVER_SEARCH_BAR_CHART_H_
#define HLO_DRIVER_SEARCH_BAR_CHART_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hlo {

struct Bar {
  std::string name, label;  // The name is beside the axis, the label after the bar.
  double value = 0;
  std::optional<std::pair<double, double>> interval;  // Drawn as a whisker.
  bool is_failure = false;                            // Draws no bar, and the label in another colour.
};

struct BarGroup {
  std::string title;
  std::vector<Bar> bars;
};

struct BarChart {
  std::string title, subtitle, axis;
  std::vector<BarGroup> groups;  // Below each other, on one axis.
};

std::string ChartSvg(const BarChart& chart);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_BAR_CHART_H_
