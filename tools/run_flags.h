// The flags of hlo-run. Commands that search by running modules accept all of them.
#ifndef HLO_TOOLS_RUN_FLAGS_H_
#define HLO_TOOLS_RUN_FLAGS_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/run/run.h"
#include "tools/flags.h"
#include "tools/module_flags.h"
#include "tools/run_ablate.h"
#include "tools/run_isolate.h"
#include "tools/run_triage.h"
#include "tools/tuning_flags.h"

namespace hlo {

enum class ToleranceKind : uint8_t { kDtype, kXla, kExact };
template <>
struct EnumWords<ToleranceKind> {
  static constexpr std::string_view kWords[] = {"dtype", "xla", "exact"};
};

enum class NanEquality : uint8_t { kEqual, kStrict };
template <>
struct EnumWords<NanEquality> {
  static constexpr std::string_view kWords[] = {"equal", "strict"};
};

struct RunFlags {
  RunOptions run;
  PassFlags passes;
  LogFlags log;
  CacheFlags cache;
  TuningFlags tuning;
  std::optional<std::string> json;
  std::string html;  // The file of the report page.
  std::vector<std::string> inject;
  std::optional<std::string> profile, command_buffers;
  std::optional<bool> concurrent;
  std::optional<ToleranceKind> tolerance;
  double abs_bound = -1, rel_bound = -1;
  int64_t max_ulp = -1, iterations = 1;
  NanEquality nan = NanEquality::kEqual;
  std::vector<InputProfile> input_profiles = {InputProfile::kNormal};
  bool quiet = false, silent = false;
  AblateFlags ablate;
  TriageFlags triage;
  IsolateFlags isolate;
  std::string path;
};

// `with_searches` adds --ablate, --isolate, --triage, --html, --bundle and --save_run.
void AddRunFlags(FlagSet& flags, RunFlags* f, bool with_searches = false);
Status ResolveRunFlags(RunFlags* f);

// A combination of flags that is refused.
struct FlagRule {
  bool (*breaks)(const RunFlags& f);
  std::string_view message;
  std::string_view hint = {};
  std::string (*value)(const RunFlags& f) = nullptr;  // Replaces the '%' of the message.
};
Status CheckRules(std::span<const FlagRule> rules, const RunFlags& f);

}  // namespace hlo

#endif  // HLO_TOOLS_RUN_FLAGS_H_
