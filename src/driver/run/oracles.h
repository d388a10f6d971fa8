// The oracles that judge a run (docs/comparison.md), for the report's lines, --compare_mode and `hlo help oracles`.
#ifndef HLO_DRIVER_RUN_ORACLES_H_
#define HLO_DRIVER_RUN_ORACLES_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

enum class Need : uint8_t {
  kCode,        // Compiled code, which the interpreter does not have.
  kReference,   // From the interpreter, a file or another platform.
  kPartitions,  // An unpartitioned module for several partitions, and the interpreter's results.
};

// The behaviour beyond --work_limit: judge samples, leave the oracle out, or exceed the limit.
enum class Beyond : uint8_t { kSample, kLeaveOut, kAllTheSame };

struct Oracle {
  std::string_view name;  // Also its line in the report and its word in `hlo help`.
  std::string_view what;
  Need need;
  Beyond beyond;
  Status (*judge)(Experiment& experiment, RunReport* report);
  std::string (*line)(const RunReport& report);  // "" if the oracle did not judge, or has a table instead.
};
std::span<const Oracle> AllOracles();  // In the order of judging.
std::string_view ToString(Need need);
std::string_view ToString(Beyond beyond);

struct CompareModeRow {
  CompareMode mode;
  std::string_view what;
  std::vector<std::string_view> oracles;
  // Whether the comparison with the reference decides, or is only shown.
  bool outputs_decide = false;
  // Kernels and passes decide, so no reference is needed.
  bool parts_decide = false;

  bool Has(const Oracle& oracle) const;
};
std::span<const CompareModeRow> AllCompareModes();
const CompareModeRow& ModeOf(const RunOptions& options);

// Estimated scalar steps, to compare with --work_limit.
double StepsOfInterpreting(const Module& module);

// Estimated from counts of operations and bytes, for two processor cores of 2020.
double SecondsOfRunning(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ORACLES_H_
