// Two runs of a program against each other, instruction by instruction: of a saved one (--save_run=DIR, a bundle with
// values.npz in it) or of another platform (--reference_platform=cpu).
//
// A value goes by the instruction of the input module that it is the value of, whatever kernel made it; where passes
// made it, and both runs have the same optimized module, by its name there ("~fusion.3"). Values in loops are those of
// the first trip. Which of the two is right, this does not say: the oracles do.
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

// A value that both have.
struct ComparedValue {
  std::string name, step, shape;
  int64_t elements = 0, bad = 0;  // Beyond the tolerance of the type.
  double max_abs = 0, max_rel = 0;
  int64_t max_ulps = 0;
};

struct ValuesReport {
  std::string against;
  std::vector<ComparedValue> values;  // In the order of execution.
  int64_t without = 0;                // Values that the other run does not have.
  std::string skipped;                // Why none were compared.
};

// The values of one more run, to a file. Errors: those of running, [A011].
Status SaveValues(Experiment& experiment, const std::string& path);

// Where the reference has values, report->values. Errors [A018]: a bundle that was changed, or of which a part is
// missing.
Status CompareValues(Experiment& experiment, RunReport* report);

// The file of expected outputs that --reference names: in a bundle actual.npz. Errors [A018]: a folder that is no
// bundle, one that was changed.
Result<std::string> ReferenceFile(const std::string& path);

std::string ToString(const ValuesReport& values);
void WriteJson(JsonWriter& json, const ValuesReport& values);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_SAVED_RUN_H_
