// A step that autotuning may choose for: as a program of its own, and by what equal ones are known.
#ifndef HLO_GPU_RUNTIME_TUNING_STEP_H_
#define HLO_GPU_RUNTIME_TUNING_STEP_H_

#include <memory>
#include <string>

#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "gpu/runtime/tuning/lock.h"
#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo::gpu {

// What decisions of this program are made for: tool, device with its driver and threads. Versions of libraries are
// asked for where `with_libraries`, which opens them.
LockContext ContextOf(const Device& device, const CompileOptions& options, bool with_libraries);

// A fusion whose plan nobody wrote: neither in the text nor an earlier pass, but for one that leaves the library open
// (passes/libraries/algorithm_pickers.cpp). No region: it is not one kernel.
bool MayTune(const Instruction& inst);

// `step` as the result of a module whose parameters are its operands, each once.
std::unique_ptr<Module> StepAlone(const Instruction& step);
// In that module.
Instruction& StepOf(const Module& alone);

// Of equal fusions the same in every process: their text without names, shapes and layouts at their ends, which
// operands are one value, what kernels are planned for and what the compiler may do, the context, of a library call the
// versions of the libraries, and that it finds little of its operands in the cache where that is so (reuse.h).
std::string KeyOf(const Instruction& step, bool is_cold, const LockContext& context, const CompileOptions& options);

std::string CategoryOf(const Instruction& step);
// "f32[64,1024],f32[1024]->f32[64]", of many operands the first few.
std::string SignatureOf(const Instruction& step);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_STEP_H_
