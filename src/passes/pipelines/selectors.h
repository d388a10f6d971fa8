// What switches name: `--xla_disable_hlo_passes` and its kin, and where a fault is planted.
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

// [stage/]name[#k]. A name that a pass and a pipeline have is both, as in XLA; fusion/fusion is the pass alone.
struct Selector {
  std::string stage, name;
  int instance = 0;  // 0: all.

  // `stages`: those that the instance is in, from the outside.
  bool Matches(const PassRun& run, std::span<const std::string_view> stages) const;
};

// Errors (usage): names that are none of a pass, of a pipeline in `pipeline` or in the default one, or of what
// `pipeline` has as todo.
Result<Selector> ParseSelector(std::string_view text, const Pipeline& pipeline);
Result<std::vector<Selector>> ParseSelectors(const std::vector<std::string>& texts, const Pipeline& pipeline);

// A planted fault, and the instances that have it: "algsimp#2:multiply_by_zero".
struct Injection {
  Selector where;
  std::string_view fault;  // Of the table that has it.
};
Result<std::optional<Injection>> ParseInjection(const std::string& text, const Pipeline& pipeline);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINES_SELECTORS_H_
