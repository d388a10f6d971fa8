// --reproducer=DIR: writes a folder that reproduces a finding about a pass, a kernel or a library call:
//
//   before.hlo   the module before the pass, or kernel.hlo: the kernel alone
//   args.npz     if a value is wrong: the arguments of the run, or the operands of the kernel's first execution
//   cmd.sh       one command that can run from any folder
//   output.txt   the output of this command when the folder was made, and its exit code
//
// A folder appears complete or not at all. An existing folder is never replaced.
#ifndef HLO_DRIVER_RUN_REPRODUCER_H_
#define HLO_DRIVER_RUN_REPRODUCER_H_

#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "driver/run/experiment.h"
#include "driver/run/run.h"
#include "ir/literal.h"
#include "ir/module.h"
#include "passes/pipeline.h"

namespace hlo {

// Error: [A012] the folder cannot be made.
Status MakeReproducerDirectory(const ReproducerOptions& options);

// Reproduces a wrong pass. Returns a line for the report: the folder and whether its command shows the finding, or why
// there is no folder. From `options`, it uses the pipeline's device and rules, the limits for judging, and the load
// options.
std::string ReproduceWrongPass(const Module& before, const PassRun& run, std::span<const Literal> arguments,
                               const RunOptions& options);
// The same for the first instance `name` in the pipeline of `options`, run on `input`.
std::string ReproduceWrongPass(const Module& input, const std::string& name, std::span<const Literal> arguments,
                               const RunOptions& options);

// The same for the kernel or library call `name`.
std::string ReproduceWrongStep(Experiment& experiment, const std::string& name);

// Adds the reproducer of the culprit to the report if --reproducer is set. Otherwise adds, for a kernel or library
// call, the command that makes one.
Status ReportReproducer(Experiment& experiment, RunReport* report);

// Adds the reproducer's line as a note to an error of a pass that failed or left an invalid module.
Error Reproduced(Error error, const Module& input, const RunOptions& options);

// Runs the passes on a copy in another process. Returns an error with a reproducer if a pass crashes.
Status TryPasses(const Module& input, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_REPRODUCER_H_
