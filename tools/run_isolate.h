#ifndef HLO_TOOLS_RUN_ISOLATE_H_
#define HLO_TOOLS_RUN_ISOLATE_H_

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/run/isolate.h"
#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct IsolateFlags {
  std::optional<std::string> by;
  bool instructions = false;
  IsolateInputs inputs = IsolateInputs::kGolden;
  std::string filter_by_name, skip_by_name, filter_by_opcode, skip_by_opcode;

  bool asked() const { return by.has_value() || instructions; }
};
void AddIsolateFlags(FlagSet& flags, IsolateFlags* f);

// Returns the worst exit code.
Result<ExitCode> IsolateModules(const std::vector<std::string>& paths, const RunOptions& run, const IsolateFlags& f,
                                const std::optional<std::string>& json, bool quiet, bool silent);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_ISOLATE_H_
