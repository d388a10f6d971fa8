// --isolate judges each part of a program alone (run_check.h), so that no part hides or causes an error of another.
// Parts are kernels and library calls, or the instructions of the input.
//
// No passes run over a kernel. An instruction becomes a module that passes optimize, so a wrong pass also shows.
#ifndef HLO_DRIVER_RUN_ISOLATE_H_
#define HLO_DRIVER_RUN_ISOLATE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "driver/pattern.h"
#include "driver/progress.h"
#include "driver/run/run.h"

namespace hlo {

// Inputs of a part. kGolden: the interpreter's values at the part's first execution. kActual: the compiled run's
// values, with errors of earlier parts. kRandom: generated values.
enum class IsolateInputs : uint8_t { kGolden, kActual, kRandom };
template <>
struct EnumWords<IsolateInputs> {
  static constexpr std::string_view kWords[] = {"golden", "actual", "random"};
};

struct IsolateOptions {
  bool instructions = false;
  IsolateInputs inputs = IsolateInputs::kGolden;
  // A pattern for opcodes may match any instruction in a kernel.
  std::optional<Pattern> filter_by_name, skip_by_name, filter_by_opcode, skip_by_opcode;
};

enum class IsolatedState : uint8_t {
  kWrong,
  kUndecided,
  kNotRun,
  kNotReached,
  kRight,
  kInterpreted,  // The part has no kernel.
  kNothing,      // The passes leave only views or constants.
};

struct IsolatedPart {
  int64_t number = 0;  // In program order, from 1.
  std::string name, kind, shape, source;
  IsolatedState state = IsolatedState::kNotReached;
  std::string why;
  RunReport report;
};

struct Isolation {
  std::string path, module_name, inputs, platform, device;
  bool instructions = false;
  std::vector<IsolatedPart> parts;
  int64_t left_out = 0;
  std::string planted;  // `planted_parts` parts have this fault.
  int64_t planted_parts = 0;
  std::vector<std::string> notes;

  int64_t Count(IsolatedState state) const;
  // kMismatch if a part is wrong, else kInconclusive if one is undecided, did not run or was not reached.
  Verdict verdict() const;
};

// Errors: [F004] the interpreter runs the module, [F008] the patterns select nothing, errors until the program is
// compiled, and failures of the device. Other errors are in IsolatedPart::why.
Result<Isolation> Isolate(const std::string& path, const RunOptions& run, const IsolateOptions& options,
                          Progress& progress);

// Bad parts come first, the first few with details.
std::string IsolationText(const Isolation& isolation);
std::string IsolationJson(const Isolation& isolation);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_ISOLATE_H_
