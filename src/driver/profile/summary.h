// What a profile comes to: the tables that a person reads (--profile), a program (--profile_json, "hlo.profile/1") and
// a browser (profile_page.h). All three are made of this one value, which reads back from the JSON.
#ifndef HLO_DRIVER_PROFILE_SUMMARY_H_
#define HLO_DRIVER_PROFILE_SUMMARY_H_

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/profile/figures.h"
#include "driver/profile/profile.h"

namespace hlo {

struct StepRow {
  ProfiledStep step;
  StepFigures figures;
  std::vector<int64_t> runs_ns;  // Of SampledStepsNs.
  int64_t place = 0;             // In the order of the program.

  // Of one execution; 0 where it took no time.
  double GigabytesPerSecond() const { return PerMicrosecond(step.cost.bytes()) / 1000; }
  double GigaflopsPerSecond() const { return PerMicrosecond(step.cost.flops + step.cost.transcendentals) / 1000; }
  // The time that the device should need, by its description, over the one that it needed. Above 1: out of caches.
  double OfRoof() const { return PerMicrosecond(step.least_seconds * 1e6); }

 private:
  double PerMicrosecond(double amount) const { return figures.mean_us > 0 ? amount / figures.mean_us : 0; }
};

struct LoopRow {
  ProfiledLoop loop;
  LoopFigures figures;
};

// Steps that have something in common: the scope of their op_name, a line of a source.
struct GroupRow {
  std::string name;
  double executions = 0, ms = 0;
};

// One event of the run that stands for all, for pictures.
struct SampleSpan {
  int step;  // Into ProfileSummary::steps; -1: copies of the plan.
  double begin_us, us;
};

// One execution of a loop in that run.
struct SampleLoop {
  int loop;   // Into ProfileSummary::loops.
  int depth;  // How many loops it runs in.
  double begin_us, us;
  int64_t trips;
};

struct ProfileSummary {
  std::string path, module_name;
  uint64_t input = 0, code = 0;  // As of Profile.
  std::string platform, device, target;
  bool is_host = true;
  std::string roof_name;
  double memory_rate = 0, instruction_rate = 0;
  std::array<double, kDotWidths> dot_rates = {};

  int64_t runs = 0, whole_runs = 0, dropped = 0;  // Profiled, those of them that figures are of, events left out.
  bool waits_for_each = false;
  std::string timing;            // TimingText.
  std::vector<int64_t> runs_ns;  // Of SampledRunsNs.
  double run_ms = 0, median_ms = 0, deviation_ms = 0, overhead = 0;
  int64_t examples_per_run = 0;
  double busy_ms = 0, interpreted_ms = 0;
  std::array<GapFigures, kGapCauses> gaps;
  std::array<TimeShare, kTimeClasses> classes;
  std::map<int, TimeShare> bits;
  TensorCoreFigures tensor_cores;
  double launches = 0, short_executions = 0;
  CopyFigures plan_copies;
  MemoryProfile memory;
  std::vector<StepRow> steps;  // The longest first.
  std::vector<LoopRow> loops;
  std::vector<GroupRow> scopes, sources;

  double sample_ms = 0;            // The run whose time is next to the median.
  std::vector<SampleSpan> sample;  // Its longest events, in their order.
  int64_t sample_left_out = 0;
  std::vector<SampleLoop> sample_loops;  // Its executions of loops, outer loops first.

  double Share(double ms) const { return run_ms > 0 ? ms / run_ms : 0; }  // Of a run.
};

ProfileSummary SummaryOf(const Profile& profile);

// `full`: all rows, and the tables of scopes, sources and memory.
std::string ProfileText(const ProfileSummary& summary, bool full);
// What is held where the most is, at most so many rows.
std::string HeldTable(const MemoryProfile& memory, size_t most);
std::string ProfileJson(const ProfileSummary& summary);
// What ProfileJson wrote. Errors: A016, A024 for JSON that is no profile.
Result<ProfileSummary> ReadProfileSummary(const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_SUMMARY_H_
