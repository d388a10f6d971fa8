// Selectors of pass instances, as in `--xla_disable_hlo_passes`, and planted faults.
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

// [stage/]name[#k]. A name of a pass and a pipeline selects both, as in XLA. fusion/fusion selects only the pass.
struct Selector {
  std::string stage, name;
  int instance = 0;  // 0 means all.

  // `stages` enclose the instance, outermost first.
  bool Matches(const PassRun& run, std::span<const std::string_view> stages) const;
};

// Accepts passes, pipelines in `pipeline` or the default one, and todo items of `pipeline`. Otherwise a usage error.
Result<Selector> ParseSelector(std::string_view text, const Pipeline& pipeline);
Result<std::vector<Selector>> ParseSelectors(const std::vector<std::string>& texts, const Pipeline& pipeline);

// A planted fault and its instances: "algsimp#2:multiply_by_zero".
struct Injection {
  Selector where;
  std::string_view fault;  // Points into the table of faults.
};
Result<std::optional<Injection>> ParseInjection(const std::string& text, const Pipeline& pipeline);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINES_SELECTORS_H_
