// hlo bisect finds the pass instance, rewrite, rule, flag, fusion, autotuning decision or library that causes a
// property (symptom.h).
//
// The property must hold with all parts (the bad end) and not without them (the good end). For passes, bisect finds the
// smallest --opt_bisect_limit with the property, then the smallest --xla_fuel of that pass. For sets (rules, flags,
// fusions, decisions of a lock), it finds a minimal subset by delta debugging. Each trial is a process, which does only
// the deciding work.
#ifndef HLO_DRIVER_SEARCH_BISECT_H_
#define HLO_DRIVER_SEARCH_BISECT_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/run/run.h"
#include "driver/search/symptom.h"

namespace hlo {

enum class BisectOver : uint8_t { kPasses, kRules, kFlags, kFusions, kLibraries, kAutotune };
template <>
struct EnumWords<BisectOver> {
  static constexpr std::string_view kWords[] = {"passes", "rules", "flags", "fusions", "libraries", "autotune"};
};

struct BisectOptions {
  RunOptions run;  // For flags: the options of the good end. For autotuning: options that read a lock and measure
                   // nothing.
  Property property;
  BisectOver over = BisectOver::kPasses;
  int confirm = 3;
  double trial_seconds = 0;  // 0 is ten times the first trial plus ten seconds.
  // Required for autotuning decisions, which the model does not cover.
  bool measured = false;
  std::string directory;  // For the modules before and after, or the locks. "" for none.
  // Flags of the bad end. `with_flags` returns options with a subset of them.
  std::vector<std::string> flags;
  std::function<Result<RunOptions>(const std::vector<std::string>& flags)> with_flags;
  // Called with a sentence after each finding. May be empty.
  std::function<void(const std::string&)> on_known = {};
};

struct Bisection {
  Symptom symptom;
  std::string good_end, bad_end;       // "no pass", "all 65 pass instances"
  std::vector<std::string> trials;     // "limit 32 bad"
  std::vector<std::string> culprits;   // Several if they are needed together.
  std::string culprit;                 // "pass instance 19, algsimp#1 of simplification"
  int bad_with = 0, good_without = 0;  // Numbers of the `confirm` trials with these answers.
  std::string rewrite;                 // "rewrite 2 of algsimp, by A.mul.3 (...)", or "" if unknown.
  std::string change;
  std::vector<std::string> files;
  std::string show_flags, without_flags;  // Flags of hlo-run with and without the failure.
  bool others = false;                    // The property also holds without the culprit.
};

// Errors: the module cannot be read. N003 if the property does not hold at the bad end, holds at the good end, or is
// not reproducible.
Result<Bisection> Bisect(const std::string& path, const BisectOptions& options,
                         const std::function<void(const std::string&)>& announce);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_BISECT_H_
