// A profile as a Chrome trace, for Perfetto and chrome://tracing.
//
//   host (pid 1)      main: the command before and after the runs, as consecutive spans; the runs.
//                     launcher: launch calls with links to the launched work, if the device is not the host.
//   device (pid 100)  compute, copies: steps and copies of the buffer plan; overlapping events get their own lanes.
//                     Derived lanes: loops with trips, scopes of op_name, source lines, gaps with causes, runs.
//                     Counters: memory, and the load of the device.
#ifndef HLO_DRIVER_PROFILE_TRACE_H_
#define HLO_DRIVER_PROFILE_TRACE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "driver/profile/profile.h"

namespace hlo {

// A span of host time. Its parts follow, at a higher depth.
struct HostSpan {
  std::string name;
  double ms = 0;
  int depth = 0;
};

struct TraceOptions {
  int64_t most_events = 0;  // Steps and copies from the start. 0 is all.
  std::vector<std::string> flags;
  std::vector<HostSpan> before, after;
};

struct TraceReport {
  int64_t kept = 0, all = 0;
};

using TraceSink = std::function<Status(std::string_view bytes)>;  // Receives the text in pieces.

Result<TraceReport> WriteTrace(const Profile& profile, const TraceOptions& options, const TraceSink& sink);
// Writes completely or not at all, compressed if the name ends in .gz. Errors: A011.
Result<TraceReport> WriteTraceFile(const Profile& profile, const TraceOptions& options, const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_TRACE_H_
