// The arguments of a run: from a file, from --arg, and made up for the rest; and the reference's results for them.
#ifndef HLO_DRIVER_RUN_ARGUMENTS_H_
#define HLO_DRIVER_RUN_ARGUMENTS_H_

#include "base/result.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"

namespace hlo {

struct RunArguments {
  std::vector<Literal> values;                  // Of device 0.
  std::vector<std::vector<Literal>> by_device;  // Empty for one device.
  bool were_cut = false;                        // They were whole arrays, so the results are joined.
  std::string description;                      // "normal, seed 0"; "args.npz".
  std::optional<Literal> reference;             // The interpreter's results, when wanted.
  double reference_ms = 0;                      // Of the last interpretation.
  double non_finite_share = 0;
  std::vector<std::string> notes;
  std::optional<ExactSummary> exact;  // Of PrepareExact (exact_check.h): what rounds them.
  double ms = 0;                      // Without the reference.
};

// Of --input_profile: one name; a list of names, of which "all" is all.
Result<InputProfile> ParseProfile(const std::string& text);
Result<std::vector<std::string>> ParseProfiles(const std::string& text);

// `progress` is told what goes on; null: nobody is.
Result<RunArguments> PrepareArguments(const Module& module, const RunOptions& options, bool interpret,
                                      const InterpretOptions& interpreter, Progress* progress = nullptr);

// Reads the arrays outN of a file (outN.i.j for leaves of tuples), or the result of a snapshot, as a value of `shape`,
// for
// --reference. Arrays of another element type are converted if `cast` allows it. Adds a note on further arrays of the
// file to `notes`. Errors: [A003] an output without a key, [A004] another shape or element type.
Result<Literal> ReadExpected(const std::string& path, const Shape& shape, CastArgs cast,
                             std::vector<std::string>* notes);

// "auto" is cuda where that works, else cpu, with a note.
Result<std::unique_ptr<gpu::Device>> OpenPlatform(const std::string& platform,
                                                  const std::vector<std::string>& library_path,
                                                  std::vector<std::string>* notes);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ARGUMENTS_H_
