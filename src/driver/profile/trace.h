// A profile as a Chrome trace, which Perfetto (ui.perfetto.dev) and chrome://tracing open.
//
//   host (pid 1)      main: what the command did before and after, laid end to end by how long it took; the runs.
//                     launcher: calls that launch, tied to what they launched, where the device is one of its own.
//   device (pid 100)  compute, copies: steps and copies of the buffer plan; what overlaps moves to a lane of its own.
//                     From these: loops with their trips, the scopes of op_name, lines of the source, gaps with their
//                     cause, runs; counters of memory and of how busy the device was.
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

// A time that the host spent on something; what it is made of follows it with a higher depth.
struct HostSpan {
  std::string name;
  double ms = 0;
  int depth = 0;
};

struct TraceOptions {
  int64_t most_events = 0;         // Steps and copies, from the first on; what follows from them comes along. 0: all.
  std::vector<std::string> flags;  // As the command got them.
  std::vector<HostSpan> before, after;  // What the host did beside the runs, in that order.
};

struct TraceReport {
  int64_t kept = 0, all = 0;  // Steps and copies.
};

using TraceSink = std::function<Status(std::string_view bytes)>;  // Gets the text piece by piece.

Result<TraceReport> WriteTrace(const Profile& profile, const TraceOptions& options, const TraceSink& sink);
// To a file that is there whole or not at all; compressed where its name ends in .gz. Errors: A011.
Result<TraceReport> WriteTraceFile(const Profile& profile, const TraceOptions& options, const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_TRACE_H_
