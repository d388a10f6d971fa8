// Steps for autotuning: as modules of their own, with a key that equal steps share.
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

// `with_libraries` adds the versions of libraries, which opens them.
LockContext ContextOf(const Device& device, const CompileOptions& options, bool with_libraries);

// Whether `inst` is a fusion without a plan, with a plan that leaves the library's algorithm open
// (passes/libraries/algorithm_pickers.cpp), or with our attention kernel, which a library may replace. False for
// dynamic sizes, and for regions, which are several kernels.
bool MayTune(const Instruction& inst);

// A module with the result `step`, and its distinct operands as parameters.
std::unique_ptr<Module> StepAlone(const Instruction& step);
Instruction& StepOf(const Module& alone);

// The step's key in lock files: equal for equal fusions in every process. Covers shapes, layouts, the text without
// names, equal operands, the target, compiler options, the context, and whether the step is cold (reuse.h). Keys of
// library calls and attention also cover library versions.
std::string KeyOf(const Instruction& step, bool is_cold, const LockContext& context, const CompileOptions& options);

std::string CategoryOf(const Instruction& step);
// "f32[64,1024],f32[1024]->f32[64]", with only the first of many operands.
std::string SignatureOf(const Instruction& step);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_TUNING_STEP_H_
