// hlo-run --triage.
#ifndef HLO_TOOLS_RUN_TRIAGE_H_
#define HLO_TOOLS_RUN_TRIAGE_H_

#include <optional>
#include <string>

#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct TriageFlags {
  std::optional<std::string> directory;  // "": a name from the module's.
  double seconds = 60;

  bool asked() const { return directory.has_value(); }
};

void AddTriageFlags(FlagSet& flags, TriageFlags* triage);
// `given`: what the bundle keeps flags of. `json`: --json. Exit 1 where something is wrong each time, 7 where not each
// time, or nothing is.
Result<ExitCode> TriageModule(const std::string& path, RunOptions run, const TriageFlags& flags, const FlagSet& given,
                              const std::optional<std::string>& json, bool quiet);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_TRIAGE_H_
