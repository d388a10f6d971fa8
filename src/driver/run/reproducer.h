// --reproducer=DIR writes a folder that reproduces a finding about a pass, kernel or library call:
//
//   before.hlo   the module before the pass, or kernel.hlo
//   args.npz     if a value is wrong: the arguments, or the operands of the kernel's first execution
//   cmd.sh       one command that can run from any folder
//   output.txt   the output and exit code of this command
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

// Returns a line for the report: the folder and whether its command shows the finding, or why there is no folder.
std::string ReproduceWrongPass(const Module& before, const PassRun& run, std::span<const Literal> arguments,
                               const RunOptions& options);
// Reproduces the instance `name` of the pipeline that runs on `input`.
std::string ReproduceWrongPass(const Module& input, const std::string& name, std::span<const Literal> arguments,
                               const RunOptions& options);

std::string ReproduceWrongStep(Experiment& experiment, const std::string& name);

// Without --reproducer, suggests the command for a kernel or library call.
Status ReportReproducer(Experiment& experiment, RunReport* report);

// Adds a reproducer to the error of a pass that failed or left an invalid module.
Error Reproduced(Error error, const Module& input, const RunOptions& options);

// Runs the passes in another process. If they crash, returns an error with a reproducer.
Status TryPasses(const Module& input, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_REPRODUCER_H_
