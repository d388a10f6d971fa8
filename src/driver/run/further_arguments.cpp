#include "driver/run/further_arguments.h"

#include <utility>

#include "base/text.h"
#include "driver/run/oracles.h"
#include "ir/module.h"
#include "judge/reach_search.h"

namespace hlo {
namespace {

// Ties and the operands that win a maximum are left out, because they rarely decide what a program does.
constexpr std::pair<SiteKind, std::string_view> kToldKinds[] = {
    {SiteKind::kSelect, "selects"},         {SiteKind::kCompare, "compares"}, {SiteKind::kClamp, "clamps"},
    {SiteKind::kStart, "starts of slices"}, {SiteKind::kIndex, "indices"},    {SiteKind::kBranch, "conditionals"}};

std::string NotExercised(const Reach& reach) {
  std::vector<std::string> parts;
  for (const auto& [kind, noun] : kToldKinds) {
    const ReachCount count = reach.CountOf(kind);
    const int64_t missing = count.sites - count.reached - count.proven;
    if (missing > 0) parts.push_back(Str(missing, " of ", count.sites, " ", noun));
  }
  return Join(parts, ", ");
}

}  // namespace

Result<FurtherArguments> FindFurtherArguments(const Module& module, std::span<const Literal> own, uint64_t seed,
                                              const InterpretOptions& interpret, int64_t most_sets) {
  // The search takes up to 40 runs, together about a second.
  constexpr double kMostSteps = 3e7;
  FurtherArguments further;
  const bool is_one_device = module.header.replica_count == 1 && module.header.num_partitions == 1;
  if (!is_one_device || StepsOfInterpreting(module) > kMostSteps) return further;
  Reach reach(module), of_run(module);
  auto sets = ArgumentsThatReach(module, own, {.seed = seed, .most_sets = most_sets, .interpret = interpret}, reach);
  if (!sets && sets.error().exit == ExitCode::kInterrupted) FAIL(std::move(sets).error());
  if (!sets) return further;
  further.sets = std::move(*sets);
  further.not_at_all = NotExercised(reach);
  if (of_run.Run(own, interpret)) further.not_by_run = NotExercised(of_run);
  return further;
}

std::string NotExercisedText(const FurtherArguments& further) {
  std::vector<std::string> parts;
  if (!further.not_by_run.empty()) parts.push_back("by the kernels " + further.not_by_run);
  if (!further.not_at_all.empty()) parts.push_back("by the passes " + further.not_at_all);
  return Join(parts, "; ");
}

}  // namespace hlo
