// Watches an interpretation: prints values, finds the first NaN or infinity (also in compiled code), and measures
// extremes and times.
#ifndef HLO_DRIVER_RUN_WATCH_H_
#define HLO_DRIVER_RUN_WATCH_H_

#include <span>
#include <string>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "gpu/runtime/executable.h"
#include "interp/interpreter.h"
#include "ir/module.h"

namespace hlo {

enum class Detection : uint8_t {
  kNone,
  kWarn,  // Continues.
  kFail,  // Stops.
};
template <>
struct EnumWords<Detection> {
  static constexpr std::string_view kWords[] = {"none", "warn", "fail"};
};

struct WatchOptions {
  std::string trace_values;  // Matches names of instructions.
  Detection detect_nan = Detection::kNone;
  Detection detect_inf = Detection::kNone;
  bool log_minmax = false;
  bool stats = false;
  bool to_stderr = false;

  bool operator==(const WatchOptions&) const = default;
  bool detects() const { return detect_nan != Detection::kNone || detect_inf != Detection::kNone; }
  bool any() const { return detects() || !trace_values.empty() || log_minmax || stats; }
};

struct Watched {
  Literal result;
  std::string report;
  // Findings with kWarn, and a pattern that matched nothing.
  std::vector<std::string> notes;
};
// After a NaN or infinity, interprets again to get the operands. Errors: like Interpret, and with kFail [N001]
// (NaN) or [N002] (infinity) with exit code 1.
Result<Watched> InterpretWatched(const Module& module, std::span<const Literal> args, const InterpretOptions& options,
                                 const WatchOptions& watch);

// A sentence for each argument with a NaN or infinity that `watch` detects.
std::vector<std::string> OddArguments(const Module& module, std::span<const Literal> args, const WatchOptions& watch);

// Runs the bound program once more. Finds the first step that makes a NaN or infinity from operands without one, and
// the instruction inside. Returns notes, or the error [N001] or [N002].
Result<std::vector<std::string>> DetectInSteps(gpu::Executable& executable, const InterpretOptions& options,
                                               const WatchOptions& watch);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_WATCH_H_
