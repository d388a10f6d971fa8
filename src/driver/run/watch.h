// Watches an interpretation: values of named instructions as they come, the first NaN or infinity and what it was made
// from, extremes, times. Of compiled code the first NaN or infinity.
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
  std::string trace_values;         // A regular expression of names of instructions; empty: none.
  std::string detect_nan = "none";  // none, warn: go on; fail: stop at the first.
  std::string detect_inf = "none";
  bool log_minmax = false;
  bool stats = false;      // Time by opcode and by instruction.
  bool to_stderr = false;  // Traced values; stdout otherwise.

  bool operator==(const WatchOptions&) const = default;
  bool detects() const { return detect_nan != "none" || detect_inf != "none"; }
  bool any() const { return detects() || !trace_values.empty() || log_minmax || stats; }
};

// Interprets `module`, once, and once more to show what the first NaN was made from. Traced values are printed as they
// come. Errors: those of Interpret; [N001], [N002] with exit 1 where --detect_nan or --detect_inf is `fail`.
struct Watched {
  Literal result;
  std::string report;              // Tables of log_minmax and stats.
  std::vector<std::string> notes;  // What detect_nan=warn and detect_inf=warn found, and a pattern that met nothing.
};
Result<Watched> InterpretWatched(const Module& module, std::span<const Literal> args, const InterpretOptions& options,
                                 const WatchOptions& watch);

// Which arguments have what is detected, a sentence each: what comes of those, nobody made.
std::vector<std::string> OddArguments(const Module& module, std::span<const Literal> args, const WatchOptions& watch);

// One more run of what is bound: the first step that makes a NaN (an infinity) from operands without one, and in it, by
// the interpreter, the instruction. As notes; where the option is `fail`, as the error [N001] or [N002].
Result<std::vector<std::string>> DetectInSteps(gpu::Executable& executable, const InterpretOptions& options,
                                               const WatchOptions& watch);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WATCH_H_
