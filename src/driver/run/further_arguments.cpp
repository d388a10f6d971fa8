#include "driver/run/further_arguments.h"

#include <utility>

#include "base/text.h"
#include "driver/run/oracles.h"
#include "ir/module.h"
#include "judge/reach/reach.h"

namespace hlo {
namespace {

// Kinds of sites in reports. Others, such as ties and the larger operand of a maximum, rarely change a program's
// behaviour.
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
  constexpr double kMostStepsOfARun = 3e7;
  constexpr int64_t kMostStepsOfASet = 3e7;
  FurtherArguments further;
  const bool is_one_device = module.header.replica_count == 1 && module.header.num_partitions == 1;
  if (!is_one_device || StepsOfInterpreting(module) > kMostStepsOfARun) return further;
  Reach reach(module);
  if (reach.Missing() == 0) return further;
  auto run = reach.Run(own, interpret);
  if (!run && run.error().exit == ExitCode::kInterrupted) FAIL(std::move(run).error());
  if (!run) return further;
  further.sets = ArgumentsThatReach(
      module, std::move(*run),
      {.seed = seed, .most_sets = most_sets, .most_steps = kMostStepsOfASet * most_sets, .interpret = interpret},
      reach);
  further.not_exercised = NotExercised(reach);
  return further;
}

}  // namespace hlo
