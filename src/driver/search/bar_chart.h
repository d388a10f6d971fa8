// Bars beside names, as SVG that needs nothing else.
#ifndef HLO_DRIVER_SEARCH_BAR_CHART_H_
#define HLO_DRIVER_SEARCH_BAR_CHART_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hlo {

struct Bar {
  std::string name, label;  // Beside the axis; behind the bar.
  double value = 0;
  std::optional<std::pair<double, double>> interval;  // A whisker.
  bool is_failure = false;                            // No bar: the label alone, in another colour.
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
