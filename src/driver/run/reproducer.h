// --reproducer=DIR: what was found of a pass, a kernel or a library call, a folder that shows it once more by itself:
//
//   before.hlo   the module as the pass got it; kernel.hlo: the kernel alone
//   args.npz     the arguments, where the finding is a wrong value; of a kernel what it read, the first time
//   cmd.sh       the one command, to be run from anywhere
//   output.txt   what it printed when the folder was made, and how it ended
//
// A folder appears whole or not at all, and replaces none.
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

// Errors: [A012] where it cannot be made.
Status MakeReproducerDirectory(const ReproducerOptions& options);

// Of a pass that is wrong. The line of a report: where the folder is and whether its command shows the finding, or why
// there is none. Of `options`: the pipeline's device and rules, how values are judged, how modules are read.
std::string ReproduceWrongPass(const Module& before, const PassRun& run, std::span<const Literal> arguments,
                               const RunOptions& options);
// The same of the first instance of that name in the pipeline, which the options have, on the input.
std::string ReproduceWrongPass(const Module& input, const std::string& name, std::span<const Literal> arguments,
                               const RunOptions& options);

// Of the kernel or library call of that name.
std::string ReproduceWrongStep(Experiment& experiment, const std::string& name);

// Adds it to what the report says of who is wrong, where it is wanted; of a kernel else the command that makes it. A
// pass says itself what shows it.
Status ReportReproducer(Experiment& experiment, RunReport* report);

// Of a pass that `error` names, since it failed or left what is no module: the error with that line as a note.
Error Reproduced(Error error, const Module& input, const RunOptions& options);

// Does a pass crash? They are tried on a copy in a process of their own. An error, as above, when one does.
Status TryPasses(const Module& input, const RunOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_REPRODUCER_H_
