// Arguments of a run (from a file, --arg or generated), and the reference's results.
#ifndef HLO_DRIVER_RUN_ARGUMENTS_H_
#define HLO_DRIVER_RUN_ARGUMENTS_H_

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"

namespace hlo {

struct RunArguments {
  std::vector<Literal> values;
  std::vector<std::vector<Literal>> by_device;  // Empty for one device.
  bool are_whole = false;            // Several devices got their parts of whole arrays, so results are joined.
  std::string description;           // "normal, seed 0" or "args.npz"
  std::optional<Literal> reference;  // The interpreter's results.
  double reference_ms = 0;
  double non_finite_share = 0;
  std::vector<std::string> notes;
  std::optional<ExactSummary> exact;  // Set by PrepareExact.
  double ms = 0;                      // Excludes reference_ms.
};

// ParseProfiles splits a list at commas. The list may contain "all".
Result<InputProfile> ParseProfile(std::string_view text);
Result<std::vector<InputProfile>> ParseProfiles(std::string_view text);

Result<RunArguments> PrepareArguments(const Module& module, const RunOptions& options, bool interpret,
                                      const InterpretOptions& interpreter, Progress* progress = nullptr);

// Reads the results for --reference: arrays outN of a file (outN.i.j for leaves of nested tuples), or a snapshot's
// result. `notes` receives unused arrays, except argN. Errors: [A003] an output is missing, [A004] it has another shape
// or element type.
Result<Literal> ReadExpected(const std::string& path, const Shape& shape, CastArgs cast,
                             std::vector<std::string>* notes);

// "auto" opens cuda if that works, otherwise cpu with a note.
Result<std::unique_ptr<gpu::Device>> OpenPlatform(const std::string& platform,
                                                  const std::vector<std::string>& library_path,
                                                  std::vector<std::string>* notes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ARGUMENTS_H_
