#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "driver/search/bisect_search.h"
#include "gpu/runtime/tuning/lock.h"

namespace hlo::bisect {

namespace {

std::string ChangeOf(const Symptom::Decision& decision) {
  const std::string more = decision.steps > 1 ? Str(" and ", decision.steps - 1, " like it") : "";
  return Str("@@ '", decision.step, "'", more, ", ", decision.signature, " @@\n- ",
             decision.without.empty() ? "no kernel" : decision.without, "\n+ ", decision.chosen, "\n");
}

Status WriteLocks(Search& s, const gpu::Lock& lock, const std::vector<std::string>& culprits) {
  if (s.options.directory.empty()) return {};
  TRY(MakeDirectories(s.options.directory));
  for (const bool with : {true, false}) {
    const std::string file = Str(s.options.directory, with ? "/guilty.lock" : "/without.lock");
    const auto keeps = [&](const gpu::Decision& decision) {
      return (std::ranges::find(culprits, decision.key) != culprits.end()) == with;
    };
    TRY(WriteFile(file, lock.Only(keeps).ToString()));
    (with ? s.result.show_flags : s.result.without_flags) =
        Str("--xla_gpu_load_autotune_results_from=", file, s.options.measured ? " --bench" : "");
  }
  return {};
}

}  // namespace

// Steps without a decision get the choice without measuring.
Status OverDecisions(Search& s) {
  s.announce("which decisions of the lock count for the module");
  const gpu::Lock lock = TRY(gpu::Lock::Parse(TRY(ReadSource(s.options.run.tuning.read_from))));
  RunOptions run = s.options.run;
  run.tuning.names_defaults = true;
  const Symptom whole = s.judge.Look(s.text, run);
  if (!whole.way.empty()) FAIL(NotHeld(Str("the lock cannot be used: ", whole.detail)));
  std::map<std::string, Symptom::Decision> decisions;
  Items items;
  for (const Symptom::Decision& decision : whole.decisions) {
    items.push_back(Str("'", decision.step, "' key=", decision.key));
    decisions[items.back()] = decision;
  }
  if (items.empty())
    FAIL(NotHeld(Str("no decision of '", Escaped(s.options.run.tuning.read_from), "' is for a step of this module")));
  const auto keys_of = [&](const Items& some) {
    std::vector<std::string> keys;
    for (const std::string& item : some) keys.push_back(decisions.at(item).key);
    return keys;
  };
  TRY(OverSet(s, items, "decision", [&](const Items& kept) -> Result<Variant> {
    Variant variant{s.text, s.options.run};
    variant.run.tuning.keys = keys_of(kept);
    return variant;
  }));
  for (const std::string& item : s.result.culprits) s.result.change += ChangeOf(decisions.at(item));
  return WriteLocks(s, lock, keys_of(s.result.culprits));
}

}  // namespace hlo::bisect
