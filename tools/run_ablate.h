#ifndef HLO_TOOLS_RUN_ABLATE_H_
#define HLO_TOOLS_RUN_ABLATE_H_

#include <optional>
#include <string>
#include <vector>

#include "driver/run/run.h"
#include "tools/flags.h"

namespace hlo {

struct AblateFlags {
  std::optional<std::string> ablate;
  std::string by, metric = "model", svg, csv;
  int64_t repeats = 11, pairs = 0;
  double threshold = 0.01;

  bool asked() const { return ablate.has_value() || !by.empty(); }
};

void AddAblateFlags(FlagSet& flags, AblateFlags* ablate);
Result<ExitCode> AblateModules(const std::vector<std::string>& paths, const RunOptions& run, const AblateFlags& flags,
                               const std::optional<std::string>& json, bool quiet);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_ABLATE_H_
