// The summary of a profile for --profile, --profile_json ("hlo.profile/1") and profile_page.h.
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
  std::vector<int64_t> runs_ns;
  int64_t place = 0;  // Position in program order.

  // Rates are 0 if the step took no time.
  double GigabytesPerSecond() const { return PerMicrosecond(step.cost.bytes()) / 1000; }
  double GigaflopsPerSecond() const { return PerMicrosecond(step.cost.flops + step.cost.transcendentals) / 1000; }
  // The least time by the device's description over the actual time. Above 1 if data came from caches.
  double OfRoof() const { return PerMicrosecond(step.least_seconds * 1e6); }

 private:
  double PerMicrosecond(double amount) const { return figures.mean_us > 0 ? amount / figures.mean_us : 0; }
};

struct LoopRow {
  ProfiledLoop loop;
  LoopFigures figures;
};

struct GroupRow {
  std::string name;
  double executions = 0, ms = 0;
};

struct SampleSpan {
  int step;  // -1 for copies of the plan.
  double begin_us, us;
};

struct SampleLoop {
  int loop;  // Index in ProfileSummary::loops.
  int depth;
  double begin_us, us;
  int64_t trips;
};

struct ProfileSummary {
  std::string path, module_name;
  uint64_t input = 0, code = 0;
  std::string platform, device, target;
  bool is_host = true;
  std::string roof_name;
  double memory_rate = 0, instruction_rate = 0;
  std::array<double, kDotWidths> dot_rates = {};

  int64_t runs = 0, whole_runs = 0, dropped = 0;
  bool waits_for_each = false;
  std::string timing;
  std::vector<int64_t> runs_ns;
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

  double sample_ms = 0;            // Time of the run nearest to the median.
  std::vector<SampleSpan> sample;  // The longest events of that run, in order of time.
  int64_t sample_left_out = 0;
  std::vector<SampleLoop> sample_loops;  // Outer loops first.

  double Share(double ms) const { return run_ms > 0 ? ms / run_ms : 0; }
};

ProfileSummary SummaryOf(const Profile& profile);

// `full` prints all steps, loops, scopes, sources and memory.
std::string ProfileText(const ProfileSummary& summary, bool full);
std::string HeldTable(const MemoryProfile& memory, size_t most);
std::string ProfileJson(const ProfileSummary& summary);
// Errors: A016 for invalid JSON, A024 for JSON that is not a profile.
Result<ProfileSummary> ReadProfileSummary(const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_SUMMARY_H_
