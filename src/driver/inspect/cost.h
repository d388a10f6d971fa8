// Where the time of one run should go on a device, by its description alone: for each instruction and fusion the
// longest of memory traffic, dots and other arithmetic, plus its launch. What loops and calls do stands there by
// itself, as often as it runs.
#ifndef HLO_DRIVER_INSPECT_COST_H_
#define HLO_DRIVER_INSPECT_COST_H_

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/cost.h"
#include "ir/device_description.h"

namespace hlo {

// What holds a kernel back.
enum class Bound : uint8_t { kMemory, kDot, kCompute, kLaunch };
inline constexpr int kBounds = 4;

struct TimeEstimate {
  std::array<double, kBounds> seconds = {};  // By what they are bound by.
  double launches = 0;

  double total() const;
  Bound bound() const;  // What most of it is bound by.
  TimeEstimate& operator+=(const TimeEstimate& other);
  TimeEstimate Times(double count) const;
};

std::string_view ToString(Bound bound);

// Of a kernel, or a step of several, that costs so much: the longest of memory traffic, dots and other arithmetic,
// which overlap, and the launches, which do not.
TimeEstimate EstimateOf(const Instruction& inst, const Cost& cost, const DeviceDescription& device);

// The time of any instruction of a module, in loops too, for one run of its computation. As CostAnalysis counts: loops
// by their trips, of branches the longest.
class TimeModel {
 public:
  // Both outlive it.
  TimeModel(const Module& module, const DeviceDescription& device);

  TimeEstimate Of(const Instruction& inst) const;
  const TimeEstimate& Of(const Computation& computation) const { return sums_.at(&computation); }
  const CostAnalysis& costs() const { return costs_; }

 private:
  const DeviceDescription& device_;
  CostAnalysis costs_;
  std::unordered_map<const Computation*, TimeEstimate> sums_;
};

struct CostRow {
  const Instruction* inst;
  std::string kind;             // row_reduction, by its plan; else kLoop, gemm, the opcode; "while, 12 trips".
  std::string op_name, source;  // Of WithOrigin.
  double runs = 1;              // In one run of the report's computation; cost and time are those of all of them.
  Cost cost;
  TimeEstimate time;
  std::optional<double> measured_us;  // What a profile says that it took in a run.
};

// Rows that have something in common.
struct CostGroup {
  std::string name;
  int depth = 0;  // Of a scope: how many of those around it have a row of their own.
  Cost cost;
  TimeEstimate time;
  std::optional<double> measured_us;
};

// What rows can be put together by; see kCostKeys in cost_groups.cpp.
std::vector<std::string> CostKeyWords();

struct CostOptions {
  const Computation* computation = nullptr;  // One run of it; null: of the entry.
  bool expand_loops = true;                  // False: a loop or call is a row.
  std::string by;                            // Of CostKeyWords; "": no groups.
};

struct CostReport {
  std::string path, module_name;
  std::string computation;  // "": the entry.
  const DeviceDescription* device;
  bool fused = false;         // Else every instruction counts as a kernel.
  std::vector<CostRow> rows;  // The longest first; what costs nothing is left out.
  Cost cost;
  TimeEstimate time;
  std::string by;
  std::vector<std::string> not_modelled;
};

// Of a module that was parsed.
CostReport CostReportOf(const Module& module, const DeviceDescription& device, const CostOptions& options = {});

// The rows put together by report.by, whose sums are those of the report. Of scopes each has what stands in it: those
// around a scope come before it, and one that is all of the one around it has no row of its own. At most `top`, which
// take longest; 0: all.
std::vector<CostGroup> CostGroupsOf(const CostReport& report, int64_t top);

// Groups instead of rows where the report has some.
std::string CostText(const CostReport& report, int64_t top);  // At most `top` rows; 0: all.
std::string CostCsv(const CostReport& report);
std::string CostJson(const CostReport& report);  // "hlo.cost/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_COST_H_
