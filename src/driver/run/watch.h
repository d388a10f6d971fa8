// Watches an interpretation: prints the values of named instructions, finds the first NaN or infinity with its
// operands, and measures extremes and times. Also finds the first NaN or infinity in compiled code.
#ifndef HLO_DRIVER_RUN_WATCH_H_
#define HLO_DRIVER_RUN_WATCH_H_

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/runtime/executable.h"
#include "interp/interpreter.h"
#include "ir/module.h"

namespace hlo {

struct WatchOptions {
  std::string trace_values;         // A regular expression for instruction names. Empty: none.
  std::string detect_nan = "none";  // none, warn (continue) or fail (stop at the first).
  std::string detect_inf = "none";
  bool log_minmax = false;
  bool stats = false;
  bool to_stderr = false;  // Print traced values to stderr instead of stdout.

  bool operator==(const WatchOptions&) const = default;
  bool detects() const { return detect_nan != "none" || detect_inf != "none"; }
  bool any() const { return detects() || !trace_values.empty() || log_minmax || stats; }
};

struct Watched {
  Literal result;
  std::string report;  // The tables of log_minmax and stats.
  // Findings of detect_nan=warn and detect_inf=warn, and a pattern that matched nothing.
  std::vector<std::string> notes;
};
// Interprets `module`, and once more to find the operands of the first NaN. Prints traced values immediately. Errors:
// from Interpret, and [N001] or [N002] with exit code 1 if --detect_nan or --detect_inf is `fail`.
Result<Watched> InterpretWatched(const Module& module, std::span<const Literal> args, const InterpretOptions& options,
                                 const WatchOptions& watch);

// A sentence for each argument with a detected value. No instruction made such a value.
std::vector<std::string> OddArguments(const Module& module, std::span<const Literal> args, const WatchOptions& watch);

// Runs the bound program once more. Finds the first step that makes a NaN (an infinity) from operands without one, and
// by the interpreter the instruction inside it. Returns notes, or the error [N001] or [N002] if the option is `fail`.
Result<std::vector<std::string>> DetectInSteps(gpu::Executable& executable, const InterpretOptions& options,
                                               const WatchOptions& watch);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WATCH_H_
