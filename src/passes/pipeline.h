// Runs passes: a preset, or a pipeline that somebody wrote. The presets and their grammar: pipelines/.
#ifndef HLO_PASSES_PIPELINE_H_
#define HLO_PASSES_PIPELINE_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "passes/pass.h"

namespace hlo {

// One pass instance that was to run.
struct PassRun {
  int number = 0;                   // 1, 2, ... over the whole run, skipped ones counted.
  std::string pipeline;             // Its innermost stage.
  std::vector<std::string> stages;  // All that it is in, from the outside; none in a list without any.
  const PassRow* pass = nullptr;
  int instance = 0;      // 1, 2, ... of this pass: `algsimp#2`.
  bool skipped = false;  // Disabled, or beyond the bisection limit.
  bool changed = false;
  bool misreported =
      false;  // [I010]: its own report and the fingerprint disagree; `changed` is the fingerprint's word.
  double milliseconds = 0;
  double after_milliseconds = 0;  // Fingerprint and verifier.
  // What the process computed in that time, on all of its threads: waiting for others does not count.
  double processor_milliseconds = 0, after_processor_milliseconds = 0;
  int64_t instructions = 0;  // Afterwards.
  PassOptions options;
  std::string_view fault;  // Planted in it, or "".
  // Of the rules that it applied, how often each.
  std::vector<std::pair<std::string_view, int64_t>> rewrites;
};

// "algsimp#2".
std::string NameOf(const PassRun& run);

// Called for each instance with the module as it is then (before) or has become (after). An error stops the run and is
// the run's result.
using PassObserver = std::function<Status(const PassRun&, Module&)>;

struct PipelineOptions {
  // Instead of a preset: a pipeline's text (pipelines/text.h), "" is the empty one.
  std::optional<std::string> passes;
  std::string pipeline = "default";        // A preset, or where `text` is from.
  std::shared_ptr<const SourceText> text;  // Of a pipeline that is no preset.
  // Names that do not run: a pass, a stage, `name#k` for its k-th instance, `stage/name` or `stage/name#k`.
  std::vector<std::string> disabled;
  // When not empty, only these run. The same spellings.
  std::vector<std::string> only;
  int opt_bisect_limit = -1;  // Instances with a higher number are skipped; -1: no limit.
  // A slice: what stands before `start_from`, from `stop_before` on, or behind `stop_after`, is skipped. The first
  // instance counts, or `name#k`; of a stage its beginning, and for `stop_after` its end. The spellings of `disabled`.
  std::string start_from, stop_before, stop_after;
  // Rules that no pass applies: ids, or what several begin with (rewrite.h).
  std::vector<std::string> disabled_rules;
  // "algsimp=5", "A.add.1=5": rewrites over the whole run, of a pass (for passes that count theirs) or of a rule.
  std::vector<std::pair<std::string, int64_t>> fuel;
  // "algsimp:multiply_by_zero" plants that fault, "algsimp#2:..." in the second instance only; tests only.
  std::string inject;
  // Check after each pass that the module is sound; null: nothing is checked. The driver passes Verify.
  std::function<Status(const Module&)> verify;
  PassObserver before, after;
  FusionLog* fusions = nullptr;  // Where passes that fuse write why (fusion/log.h); null: nobody asks.

  const DeviceDescription* device = &DefaultDevice();
};

struct PipelineReport {
  std::vector<PassRun> runs;
  bool changed = false;
  std::map<std::string_view, int64_t> rewrites;  // By rule; those that were applied.
  std::vector<std::string> cycles;               // One sentence each: rules or passes that undo each other.
  int items = 0;                                 // Passes that the text names, gates that were shut left out...
  std::vector<std::string> todo;                 // ...and those of them that are still to be written.
  int planted = 0;                               // Instances that the planted fault made do something else.
  std::vector<std::string> unmet;                // Ends of the slice that were not come to: "--stop_after=dce#9".
};

// What is run.
std::shared_ptr<const SourceText> TextOf(const PipelineOptions& options);

// Errors: unknown names, a text that is none, a fixed point that does not end (usage); what a pass, an observer or the
// verifier returns. A verifier's error after a pass is our bug: it keeps its words and names the pass.
Result<PipelineReport> RunPipeline(Module& module, const PipelineOptions& options = {});

// One pass on a module, as a pipeline runs it: named as the maker of what is new, the planted fault `context.fault` in
// it, the schedule of a scheduled module whole again. True when it says that the module changed.
Result<bool> RunOnePass(Module& module, const PassRun& run, const PassContext& context);

// The names in `passes`, `disabled`, `only`, `disabled_rules`, `fuel`, `inject` and of the slice are known ones.
Status CheckNames(const PipelineOptions& options);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINE_H_
