// Estimates the time of one run on a described device. A kernel takes the time of its launch plus the longest of three
// times that overlap: memory traffic, dots and other arithmetic. Loops and calls are expanded, and their instructions
// count as often as they run.
#ifndef HLO_DRIVER_INSPECT_COST_H_
#define HLO_DRIVER_INSPECT_COST_H_

#include <array>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/analysis/cost.h"
#include "ir/device_description.h"

namespace hlo {

enum class Bound : uint8_t { kMemory, kDot, kCompute, kLaunch };
inline constexpr int kBounds = 4;

struct TimeEstimate {
  std::array<double, kBounds> seconds = {};  // Indexed by Bound.
  double launches = 0;

  double total() const;
  Bound bound() const;
  TimeEstimate& operator+=(const TimeEstimate& other);
  TimeEstimate Times(double count) const;
};

std::string_view ToString(Bound bound);

// The time of the kernels of `inst`, which together have this cost.
TimeEstimate EstimateOf(const Instruction& inst, const Cost& cost, const DeviceDescription& device);

// The estimated times of all instructions, each for one run of its computation. As in CostAnalysis, a loop counts all
// its trips, and a conditional its longest branch.
class TimeModel {
 public:
  // Both arguments must outlive the object.
  TimeModel(const Module& module, const DeviceDescription& device);

  TimeEstimate TimeOf(const Instruction& inst) const;
  const TimeEstimate& TimeOf(const Computation& computation) const { return sums_.at(&computation); }
  const CostAnalysis& costs() const { return costs_; }

 private:
  const DeviceDescription& device_;
  CostAnalysis costs_;
  std::unordered_map<const Computation*, TimeEstimate> sums_;
};

struct CostRow {
  const Instruction* inst;
  std::string kind;             // "row_reduction" from a plan, "gemm", "kLoop" of a fusion, "while, 12 trips", or the
                                // opcode.
  std::string op_name, source;  // From WithOrigin.
  double runs = 1;              // Executions in a run of the report's computation. `cost` and `time` are for all.
  Cost cost;
  TimeEstimate time;
  std::optional<double> measured_us;  // The time in a run according to a profile.
};

struct CostGroup {
  std::string name;
  int depth = 0;
  Cost cost;
  TimeEstimate time;
  std::optional<double> measured_us;
};

std::vector<std::string> CostKeyWords();

struct CostOptions {
  const Computation* computation = nullptr;  // Null reports the entry.
  bool expand_loops = true;                  // If false, a loop or call is a single row.
  std::string by;                            // One of CostKeyWords, or "".
};

struct CostReport {
  std::string path, module_name;
  std::string computation;  // "" for the entry.
  const DeviceDescription* device;
  bool fused = false;         // If false, every instruction counts as a kernel.
  std::vector<CostRow> rows;  // The longest first, without rows that cost nothing.
  Cost cost;
  TimeEstimate time;
  std::string by;
  std::vector<std::string> not_modelled;
};

CostReport CostReportOf(const Module& module, const DeviceDescription& device, const CostOptions& options = {});

// Groups rows by report.by. A scope includes nested scopes and follows its enclosing scopes. If a scope has all rows of
// its enclosing scope, only the inner scope is listed. Returns the `top` longest groups. 0 is all.
std::vector<CostGroup> CostGroupsOf(const CostReport& report, int64_t top);

// Prints groups instead of rows if report.by is set.
std::string CostText(const CostReport& report, int64_t top);  // `top` rows. 0 is all.
std::string CostCsv(const CostReport& report);
std::string CostJson(const CostReport& report);  // "hlo.cost/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_COST_H_
