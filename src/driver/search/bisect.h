// hlo bisect: which pass instance, single rewrite, rule, flag, fusion, decision of autotuning, or the libraries,
// brought a property (symptom.h).
//
// Both ends are confirmed first: with all of it the property holds, with nothing of it it does not. Over passes the
// smallest --opt_bisect_limit is searched at which it holds, then, of passes that count their rewrites, the smallest
// --xla_fuel. Over sets (rules, flags, fusions, decisions of a lock) the smallest one that brings it: halves, quarters,
// ... of what there is (delta debugging). Each trial is a process of its own and does only what decides the property: a
// wrong pass is found without compiling anything.
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
inline constexpr std::string_view kBisectOverWords[] = {"passes", "rules", "flags", "fusions", "libraries", "autotune"};

struct BisectOptions {
  RunOptions run;  // Of flags: the good end's. Of autotune: it reads a lock, and measures nothing.
  Property property;
  BisectOver over = BisectOver::kPasses;
  int confirm = 3;
  double trial_seconds = 0;  // Of one trial; 0: ten times what the first took, and ten seconds.
  bool measured = false;     // kSlower: by the clock. What decisions of autotuning are worth, no model knows.
  std::string directory;     // Where the modules before and after go, or the locks; "": nowhere.
  // Over flags: those of the bad end, and the options with some of them.
  std::vector<std::string> flags;
  std::function<Result<RunOptions>(const std::vector<std::string>& flags)> with_flags;
  // Called with a sentence on the findings so far, after each new finding. May be empty.
  std::function<void(const std::string&)> on_known = {};
};

struct Bisection {
  Symptom symptom;                     // Of the bad end.
  std::string good_end, bad_end;       // "no pass", "all 65 pass instances"
  std::vector<std::string> trials;     // "limit 32 bad"
  std::vector<std::string> guilty;     // One, unless several are needed.
  std::string culprit;                 // "pass instance 19, algsimp#1 of simplification"
  int bad_with = 0, good_without = 0;  // Of `confirm` trials.
  std::string rewrite;                 // "rewrite 2 of algsimp, by A.mul.3 (...)"; "": nothing is known of single ones.
  std::string change;                  // What it changed, as a diff.
  std::vector<std::string> files;
  std::string show_flags, without_flags;  // For hlo-run.
  bool others = false;                    // The property holds without it, too: there is another.
};

// Errors: what is wrong with a module that cannot be read; [N003] the property does not hold, holds at the good end, or
// not each time.
Result<Bisection> Bisect(const std::string& path, const BisectOptions& options,
                         const std::function<void(const std::string&)>& tell);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_BISECT_H_
