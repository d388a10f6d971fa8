// --ablate measures the effect of each pass, pipeline, pass instance or rule by leaving it out. kAll compares all
// passes with none.
//
// Times are modelled for --target's device, or measured on the platform. The interaction of a pair is its effect minus
// the sum of both single effects. For measurements, each variant is a process, and each round runs all once in random
// order. The effect is the median over rounds of the variant's time over the baseline's, with a 95 % bootstrap
// interval.
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
  std::optional<Pattern> only;
  std::string pattern;
  bool measured = false;
  int64_t rounds = 11;
  double threshold = 0.01;  // Smaller effects are only counted.
  int64_t examples_per_run = 0;
  int64_t pairs = 0;  // Number of the largest effects that are also tried in pairs.
};

struct Interval {
  double low = 0, high = 0;
};

struct AblationRow {
  std::string name;
  bool same = false;  // The module equals the baseline's, because another pass did the work.
  VariantOutcome outcome;
  std::vector<double> ms;  // Indexed by round.
  double effect = 0;       // Time divided by the baseline's, minus 1.
  std::optional<Interval> interval;
  std::optional<Interval> ms_interval;  // For the median of `ms`.
  // For a pair: both names, and in `sum` the sum of their single effects.
  std::vector<std::string> both;
  double sum = 0;

  double milliseconds() const;  // Modelled, or the median of `ms`.
};

struct Ablation {
  std::string path;
  AblationRow baseline;
  std::vector<AblationRow> rows;   // The largest effect first, failures last. A single row with kAll.
  std::vector<AblationRow> pairs;  // The largest interaction first.
  // Passes, rules, ... that did not change the module and were not tried.
  std::vector<std::string> unchanged;
  int passes = 0;  // Distinct passes that ran.
};

// `announce` receives progress messages. Errors: the module is invalid, the baseline fails, or the pattern matches
// nothing.
Result<Ablation> Ablate(const std::string& path, const AblateOptions& options,
                        const std::function<void(const std::string&)>& announce);

std::string AblationText(std::span<const Ablation> ablations, const AblateOptions& options);
std::string AblationJson(std::span<const Ablation> ablations, const AblateOptions& options);  // "hlo.ablate/1"
// RFC 4180, with a line of titles and a row for each variant.
std::string AblationCsv(std::span<const Ablation> ablations);
std::string AblationSvg(std::span<const Ablation> ablations, const AblateOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_ABLATE_H_
