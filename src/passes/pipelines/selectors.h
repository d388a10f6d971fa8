// Parses the names in `--xla_disable_hlo_passes` and similar flags, and the place of a planted fault.
#ifndef HLO_PASSES_PIPELINES_SELECTORS_H_
#define HLO_PASSES_PIPELINES_SELECTORS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pipeline.h"
#include "passes/pipelines/text.h"

namespace hlo {

// [stage/]name[#k]. The name of both a pass and a pipeline selects both, as in XLA; fusion/fusion selects only the
// pass.
struct Selector {
  std::string stage, name;
  int instance = 0;  // 0 means all.

  // `stages` are the stages around the instance, outermost first.
  bool Matches(const PassRun& run, std::span<const std::string_view> stages) const;
};

// Errors (usage): a name that is not a pass, not a pipeline in `pipeline` or the default one, and not a todo item of
// `pipeline`.
Result<Selector> ParseSelector(std::string_view text, const Pipeline& pipeline);
Result<std::vector<Selector>> ParseSelectors(const std::vector<std::string>& texts, const Pipeline& pipeline);

// A planted fault and the instances that have it: "algsimp#2:multiply_by_zero".
struct Injection {
  Selector where;
  std::string_view fault;  // Points into the table of faults.
};
Result<std::optional<Injection>> ParseInjection(const std::string& text, const Pipeline& pipeline);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINES_SELECTORS_H_
