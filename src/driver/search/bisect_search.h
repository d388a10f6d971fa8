// The steps of a bisection. Each search space has a function, in a file of its kind.
#ifndef HLO_DRIVER_SEARCH_BISECT_SEARCH_H_
#define HLO_DRIVER_SEARCH_BISECT_SEARCH_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/search/bisect.h"
#include "driver/search/bisect_judge.h"
#include "ir/module.h"

namespace hlo::bisect {

struct Search {
  const Text text;
  const BisectOptions& options;
  const std::function<void(const std::string&)>& announce;
  Judge judge;
  Bisection result = {};
};

struct Variant {
  Text text;
  RunOptions run;
};

Status ConfirmEnds(Search& s, const Variant& good, const Variant& bad);
void AnnounceFinding(const Search& s, const std::string& known);
void Note(Search& s, const std::string& what, Answer answer);
// Runs only the passes.
Symptom PassesOf(const Search& s, const RunOptions& run);
// Null if the passes fail.
std::unique_ptr<Module> OptimizedAs(const Text& text, const RunOptions& run);
// Shows and writes the modules before and after the change. They may be null.
Status Show(Search& s, const std::string& name, std::unique_ptr<Module> before, std::unique_ptr<Module> after);

using Items = std::vector<std::string>;
Items Without(const Items& all, const Items& some);
// Finds a bad set of items from which no item can be removed.
Status OverSet(Search& s, const Items& all, const std::string& noun,
               const std::function<Result<Variant>(const Items&)>& make);

Status OverPasses(Search& s);
Status OverRules(Search& s);
Status OverFlags(Search& s);
Status OverFusions(Search& s);
Status OverLibraries(Search& s);
Status OverDecisions(Search& s);

}  // namespace hlo::bisect

#endif  // HLO_DRIVER_SEARCH_BISECT_SEARCH_H_
