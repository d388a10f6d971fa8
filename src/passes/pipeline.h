// Runs a preset or a custom pipeline of passes. Presets and grammar: passes/pipelines/.
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

// A pass instance, run or skipped.
struct PassRun {
  int number = 0;                   // Counts from 1 over the run, with skipped instances.
  std::string pipeline;             // The innermost stage.
  std::vector<std::string> stages;  // Outermost first.
  const PassRow* pass = nullptr;
  int instance = 0;      // From 1, for this pass.
  bool skipped = false;  // An option skips it.
  bool changed = false;
  bool misreported = false;  // The pass reported another value than `changed`, which fingerprints determine (I010).
  double milliseconds = 0;
  double after_milliseconds = 0;  // Time of fingerprint and verifier.
  // Processor time of all threads.
  double processor_milliseconds = 0, after_processor_milliseconds = 0;
  int64_t instructions = 0;  // Number in the module after the pass.
  PassOptions options;
  std::string_view fault;
  // Applied rules and their numbers of rewrites.
  std::vector<std::pair<std::string_view, int64_t>> rewrites;
};

// "algsimp#2".
std::string NameOf(const PassRun& run);

// Functions cannot be compared, so only empty ones are equal.
template <class Signature>
struct Callback : std::function<Signature> {
  using std::function<Signature>::function;
  bool operator==(const Callback& other) const { return !*this && !other; }
};

// Called before or after each instance. An error stops the run.
using PassObserver = Callback<Status(const PassRun&, Module&)>;

struct PipelineOptions {
  // A pipeline (pipelines/text.h) instead of a preset. "" runs no pass.
  std::optional<std::string> passes;
  std::string pipeline = "default";  // The preset's name, or the name of the file with `text`.
  std::shared_ptr<const SourceText> text;
  // Whether the pipeline makes the program of one device (the gate `splits`). Kernels run the unpartitioned module.
  bool partitions = false;
  // Skipped names: a pass, a stage, `name#k` for its k-th instance, `stage/name` or `stage/name#k`.
  std::vector<std::string> disabled;
  // If not empty, only instances with these names run.
  std::vector<std::string> only;
  int opt_bisect_limit = -1;  // Skips instances with higher numbers. -1 skips none.
  // Skip instances before `start_from`, from `stop_before` on, and after `stop_after`. A pass means its first instance,
  // a stage its start, or for `stop_after` its end.
  std::string start_from, stop_before, stop_after;
  // Ids or prefixes of ids (rewrite.h).
  std::vector<std::string> disabled_rules;
  // "algsimp=5", "A.add.1=5": rewrites that a pass or rule may make in the run.
  std::vector<std::pair<std::string, int64_t>> fuel;
  // "algsimp:multiply_by_zero" plants this fault, "algsimp#2:..." only in the second instance. For tests.
  std::string inject;
  // Checks the module after each pass, if not null.
  Callback<Status(const Module&)> verify;
  PassObserver before, after;
  FusionLog* fusions = nullptr;  // May be null (fusion/log.h).

  const DeviceDescription* device = &DefaultDevice();

  bool operator==(const PipelineOptions&) const = default;
};

struct PipelineReport {
  std::vector<PassRun> runs;
  bool changed = false;
  std::map<std::string_view, int64_t> rewrites;
  std::vector<std::string> cycles;  // One sentence for each cycle of rules or passes that undo each other.
  int items = 0;                    // Passes in the text, except behind closed gates.
  std::vector<std::string> todo;    // Passes in the text that hlokit lacks.
  int planted = 0;                  // Instances that the planted fault changed.
  std::vector<std::string> notes;   // Of the passes, for the user. Each is listed once.
  std::vector<std::string> unmet;   // Limits that were not reached: "--stop_after=dce#9".
};

std::shared_ptr<const SourceText> TextOf(const PipelineOptions& options);

// Errors: unknown names, an invalid text, a fixed point that is not reached (usage), and errors of passes, observers
// and the verifier. A verifier error after a pass is our bug and names the pass.
Result<PipelineReport> RunPipeline(Module& module, const PipelineOptions& options = {});

// Runs one pass as a pipeline does: new instructions record their maker, and a scheduled module gets a valid order.
// Returns whether the pass reported a change.
Result<bool> RunOnePass(Module& module, const PassRun& run, const PassContext& context);

// Checks all names in the options, and the limits.
Status CheckNames(const PipelineOptions& options);

}  // namespace hlo

#endif  // HLO_PASSES_PIPELINE_H_
