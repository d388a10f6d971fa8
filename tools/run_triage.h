#ifndef HLO_TOOLS_RUN_TRIAGE_H_
#define HLO_TOOLS_RUN_TRIAGE_H_

#include <optional>
#include <string>

#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct TriageFlags {
  std::optional<std::string> directory;  // "" means a folder named after the module's file.
  double seconds = 60;

  bool asked() const { return directory.has_value(); }
};

void AddTriageFlags(FlagSet& flags, TriageFlags* triage);
// `given` has the flags for the bundle. The exit code is 1 if a failure repeats each time, otherwise 7.
Result<ExitCode> TriageModule(const std::string& path, RunOptions run, const TriageFlags& flags, const FlagSet& given,
                              const std::optional<std::string>& json, bool quiet);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_TRIAGE_H_
