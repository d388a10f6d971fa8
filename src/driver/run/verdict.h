// The verdict on a run, and who is wrong.
#ifndef HLO_DRIVER_RUN_VERDICT_H_
#define HLO_DRIVER_RUN_VERDICT_H_

#include <optional>
#include <string_view>

#include "base/result.h"
#include "driver/progress.h"
#include "driver/run/arguments.h"
#include "driver/run/run.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "interp/interpreter.h"

namespace hlo {

// What a run was made of. The last three are null for the interpreter.
struct Compiled {
  const Module& module;
  const Module* optimized;
  gpu::Executable* executable;
  gpu::Device* device;
};

// A match is one "(with stubs)" where there are stubs.
void SetVerdict(RunReport* report, Verdict verdict, std::string_view reason);

// The outputs against what is expected, and all parts of the run that the mode asks for; the verdict. `interpreted`:
// the interpreter's results where a file has those that are expected, if there are any yet.
Status CompareResults(const Compiled& compiled, const RunArguments& arguments, const Literal& expected,
                      std::optional<Literal> interpreted, const Literal& outputs, const InterpretOptions& interpret,
                      const RunOptions& options, Progress& progress, RunReport* report);

// The same without anything that is expected: by the kernels and the passes alone. `result`: the shape of the outputs.
Status JudgeParts(const Compiled& compiled, std::span<const Literal> arguments, const Shape& result,
                  const RunOptions& options, Progress& progress, RunReport* report);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_VERDICT_H_
