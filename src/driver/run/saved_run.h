// Compares a run, instruction by instruction, with a saved one (--save_run=DIR, a bundle with values.npz) or one on
// another platform (--reference_platform=cpu). The oracles decide which is right.
//
// A value is identified by its input instruction. Values that passes made have names of the optimized module
// ("~fusion.3"), and are compared only if both optimized modules are equal. In loops, the first trip is compared.
#ifndef HLO_DRIVER_RUN_SAVED_RUN_H_
#define HLO_DRIVER_RUN_SAVED_RUN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"

namespace hlo {

struct ComparedValue {
  std::string name, step, shape;
  int64_t elements = 0, bad = 0;  // `bad` elements are beyond the tolerance of the type.
  double max_abs = 0, max_rel = 0;
  int64_t max_ulps = 0;
};

struct ValuesReport {
  std::string against;
  std::vector<ComparedValue> values;
  int64_t without = 0;
  std::string skipped;  // Why nothing was compared, or "".
};

// Runs the program once more. Errors: from running, [A011].
Status SaveValues(Experiment& experiment, const std::string& path);

// Sets report->values if the reference is a bundle or another platform.
Status CompareValues(Experiment& experiment, RunReport* report);

// Returns `path`, or a bundle's actual.npz. Errors: [A018] a folder is not a bundle, or the bundle was changed or has
// no outputs.
Result<std::string> ReferenceFile(const std::string& path);

std::string ToString(const ValuesReport& values);
void WriteJson(JsonWriter& json, const ValuesReport& values);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_SAVED_RUN_H_
