// Who judges a run: a table, from which come the lines of the report, --compare_mode and `hlo help oracles`. How each
// of them judges: docs/comparison.md.
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

// What there must be for an oracle to judge.
enum class Need : uint8_t {
  kCode,       // Kernels and library calls: not in the interpreter as the platform.
  kReference,  // Results of the interpreter, over the whole module, or of a file.
};

// What it does where it would take more than --work_limit.
enum class Beyond : uint8_t { kSample, kLeaveOut, kAllTheSame };

struct Oracle {
  std::string_view name;  // Of its line in the report, and a word of `hlo help`.
  std::string_view what;  // What it judges, and by what.
  Need need;
  Beyond beyond;
  Status (*judge)(Experiment& experiment, RunReport* report);
  std::string (*line)(const RunReport& report);  // ""; it did not judge, or has a table.
};
std::span<const Oracle> AllOracles();  // In the order in which they judge, which is that of the report.
std::string_view ToString(Need need);
std::string_view ToString(Beyond beyond);

// A value of --compare_mode.
struct CompareMode {
  std::string_view name;
  std::string_view what;
  std::vector<std::string_view> oracles;
  // The comparison with the reference decides; else it is shown.
  bool outputs_decide = false;
  // Kernels and passes do, so that no reference need be there.
  bool parts_decide = false;

  bool Has(const Oracle& oracle) const;
};
std::span<const CompareMode> AllCompareModes();
const CompareMode& ModeOf(const RunOptions& options);

// What interpreting the whole module takes, in scalar steps, to be held against --work_limit.
double StepsOfInterpreting(const Module& module);

// What running it takes on two cores of 2020, by its counts of operations and bytes alone.
double SecondsOfRunning(const Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ORACLES_H_
