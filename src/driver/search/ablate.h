// --ablate: what is each pass worth here? The module as the pipeline makes it, and once more without each pass (or
// pipeline, pass instance, rule) that changed it; or with all passes against none, over several modules.
//
// Time is modelled from the description of --target's device, which is exact and the same every time, or measured on
// the platform. Pairs of what is worth most are tried off together: what the two are worth beyond the sum of each is
// their interaction. Measured: each variant is a process; in each round all run once, in random order; the effect is
// the median over the rounds of its time by the baseline's time in that round, with a 95 % interval by bootstrap over
// the rounds.
#ifndef HLO_DRIVER_SEARCH_ABLATE_H_
#define HLO_DRIVER_SEARCH_ABLATE_H_

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/pattern.h"
#include "driver/run/run.h"
#include "driver/search/variant.h"

namespace hlo {

enum class AblateBy : uint8_t { kPass, kInstance, kPipeline, kRule, kAll };
std::optional<AblateBy> AblateByFromText(std::string_view text);

struct AblateOptions {
  RunOptions run;
  AblateBy by = AblateBy::kPass;
  std::optional<Pattern> only;  // Of names.
  std::string pattern;          // As it was given.
  bool measured = false;
  int64_t rounds = 11;
  double threshold = 0.01;  // Effects below it are counted.
  int64_t examples_per_run = 0;
  int64_t pairs = 0;  // So many of the largest effects are tried two at a time, too.
};

struct Interval {
  double low = 0, high = 0;
};

struct AblationRow {
  std::string name;   // Of what is off.
  bool same = false;  // The module is the baseline's: something else does its work.
  VariantOutcome outcome;
  std::vector<double> ms;               // By round.
  double effect = 0;                    // Time by the baseline's, less 1.
  std::optional<Interval> interval;     // Of `effect`, where it is measured.
  std::optional<Interval> ms_interval;  // Of the median of `ms`.
  // Of a pair: the names of both, and the sum of their effects.
  std::vector<std::string> both;
  double sum = 0;

  double milliseconds() const;  // Modelled, or the median of `ms`.
};

struct Ablation {
  std::string path;
  AblationRow baseline;
  std::vector<AblationRow> rows;   // The largest effect first, then what failed. With kAll one: no passes at all.
  std::vector<AblationRow> pairs;  // What the two do together beyond what each does comes first.
  // Names that were not tried, since they changed nothing.
  std::vector<std::string> unchanged;
  int passes = 0;  // By name, that ran.
};

// `tell` is called with what goes on. Errors: the baseline's; the pattern meets nothing (usage).
Result<Ablation> Ablate(const std::string& path, const AblateOptions& options,
                        const std::function<void(const std::string&)>& tell);

std::string AblationText(std::span<const Ablation> ablations, const AblateOptions& options);
std::string AblationJson(std::span<const Ablation> ablations, const AblateOptions& options);  // "hlo.ablate/1"
// A row for each variant, with a line of titles; RFC 4180.
std::string AblationCsv(std::span<const Ablation> ablations);
std::string AblationSvg(std::span<const Ablation> ablations, const AblateOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_ABLATE_H_
