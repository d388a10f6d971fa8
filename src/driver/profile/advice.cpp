#include "driver/profile/advice.h"

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "driver/inspect/text.h"

namespace hlo {
namespace {

std::string Percent(double share) { return Format("%.1f %%", 100 * share); }

// Time and longest rows of steps that meet a condition.
struct Chosen {
  double ms = 0;
  std::vector<const StepRow*> rows;

  std::string Names() const {
    constexpr size_t kFew = 3;
    std::string names;
    for (size_t i = 0; i < std::min(kFew, rows.size()); ++i)
      names += Str(i == 0 ? "'" : ", '", rows[i]->step.name, "'");
    return names + (rows.size() > kFew ? Str(" and ", rows.size() - kFew, " more") : "");
  }
};

Chosen Choose(const ProfileSummary& summary, const std::function<bool(const StepRow&)>& holds) {
  Chosen chosen;
  for (const StepRow& row : summary.steps) {
    if (row.figures.executions == 0 || !holds(row)) continue;
    chosen.ms += row.figures.ms;
    chosen.rows.push_back(&row);
  }
  return chosen;
}

std::string NoisyRuns(const ProfileSummary& summary) {
  if (summary.run_ms <= 0 || summary.deviation_ms < 0.1 * summary.run_ms) return "";
  return Str("runs differ by ", Percent(summary.deviation_ms / summary.run_ms),
             ": other work on this machine disturbs them, so small differences in time mean nothing");
}

std::string CostlyProfile(const ProfileSummary& summary) {
  if (summary.overhead < 0.03) return "";
  return Str("runs take ", Percent(summary.overhead),
             " longer because they are profiled: --bench measures without profiling");
}

std::string OtherTarget(const ProfileSummary& summary) {
  if (!summary.is_host || summary.target == summary.roof_name) return "";
  return Str("kernels are planned for ", summary.target, " and ran on ", summary.platform,
             ": --target=host plans them for this processor, as --bench does");
}

std::string Interpreted(const ProfileSummary& summary) {
  if (summary.Share(summary.interpreted_ms) < 0.01) return "";
  const Chosen chosen = Choose(summary, [](const StepRow& row) { return row.step.IsInterpreted(); });
  return Str("steps without a kernel take ", Percent(summary.Share(summary.interpreted_ms)),
             " of the time: ", chosen.Names(), "; the notes of the run give the reasons");
}

std::string LaunchGaps(const ProfileSummary& summary) {
  const GapFigures& gap = summary.gaps[static_cast<int>(GapCause::kLaunch)];
  if (summary.Share(gap.ms) < 0.05) return "";
  return Str(Format("%.0f", summary.short_executions), " steps under ", Format("%.0f", kShortUs), " us leave ",
             Percent(summary.Share(gap.ms)), " of the time between them unused: fewer kernels help",
             summary.is_host ? "" : ", and so does --cuda_graphs",
             "; 'hlo-opt --print_fusion_plan' says why the steps are not fused");
}

std::string GenericForms(const ProfileSummary& summary) {
  const Chosen chosen = Choose(summary, [](const StepRow& row) { return !row.step.slow.empty(); });
  if (summary.Share(chosen.ms) < 0.05) return "";
  return Str(chosen.Names(), " use a slow, general form and take ", Percent(summary.Share(chosen.ms)),
             " of the time: ", chosen.rows.front()->step.slow);
}

std::string NoLibrary(const ProfileSummary& summary) {
  const Chosen chosen = Choose(
      summary, [](const StepRow& row) { return row.step.sort == gpu::StepKind::kKernel && !row.step.refused.empty(); });
  if (summary.Share(chosen.ms) < 0.05) return "";
  return Str("no library computes ", chosen.Names(), ", which take ", Percent(summary.Share(chosen.ms)),
             " of the time: ", chosen.rows.front()->step.refused);
}

std::string UnusedTensorCores(const ProfileSummary& summary) {
  if (summary.is_host) return "";
  const Chosen chosen =
      Choose(summary, [](const StepRow& row) { return row.step.tensor_cores.eligible && !row.step.tensor_cores.used; });
  if (summary.Share(chosen.ms) < 0.05) return "";
  return Str(chosen.Names(), " could run on tensor cores but do not; they take ", Percent(summary.Share(chosen.ms)),
             " of the time: ", chosen.rows.front()->step.tensor_cores.why_not);
}

std::string Copies(const ProfileSummary& summary) {
  const Chosen chosen = Choose(summary, [](const StepRow& row) { return row.step.sort == gpu::StepKind::kCopy; });
  const double ms = chosen.ms + summary.plan_copies.ms;
  if (summary.Share(ms) < 0.05) return "";
  return Str("copies take ", Percent(summary.Share(ms)), " of the time",
             chosen.rows.empty() ? "" : Str(" (", chosen.Names(), ")"),
             ": if a loop or an update overwrites a value that is still read, the value is copied first");
}

std::string FarFromRoof(const ProfileSummary& summary) {
  const Chosen chosen = Choose(summary, [&](const StepRow& row) {
    return summary.Share(row.figures.ms) >= 0.1 && row.figures.mean_us >= 5 * kShortUs && row.step.cost.bytes() > 0 &&
           row.OfRoof() < 0.2 && !row.step.IsInterpreted();
  });
  if (chosen.rows.empty()) return "";
  const StepRow& row = *chosen.rows.front();
  return Str("'", row.step.name, "' takes ", Percent(summary.Share(row.figures.ms)), " of the time, which is ",
             Format("%.0f", 1 / row.OfRoof()), " times the time that ", summary.roof_name,
             " should need (limited by: ", ToString(row.step.bound), "); its form: ", row.step.how);
}

constexpr AdviceRule kRules[] = {
    {"noise", "the standard deviation of the runs is 10 % of their mean or more", NoisyRuns},
    {"overhead", "a profiled run takes 3 % longer or more", CostlyProfile},
    {"target", "the run is on a host, but its kernels are planned for another device", OtherTarget},
    {"interpreter", "steps by the interpreter take 1 % of a run or more", Interpreted},
    {"launch-gap", "for 5 % of a run or more nothing runs, because the next step is still being launched", LaunchGaps},
    {"general-form", "kernels of a slow, general form take 5 % of a run or more", GenericForms},
    {"no-library", "products that every library refused take 5 % of a run or more", NoLibrary},
    {"tensor-cores", "on a GPU, steps that could use tensor cores and run without them take 5 % of a run or more",
     UnusedTensorCores},
    {"copies", "copies take 5 % of a run or more", Copies},
    {"roof", "a step takes 50 us, 10 % of a run, and five times what the device should need, or more", FarFromRoof},
};

}  // namespace

std::span<const AdviceRule> AllAdvice() { return kRules; }

std::vector<std::string> AdviceOn(const ProfileSummary& summary) {
  std::vector<std::string> advice;
  for (const AdviceRule& rule : kRules) {
    if (std::string said = rule.say(summary); !said.empty()) advice.push_back(std::move(said));
  }
  return advice;
}

}  // namespace hlo
