// Steps that have no kernel run in the interpreter, on the values that the kernels before them left.
#ifndef HLO_DRIVER_RUN_FALLBACK_H_
#define HLO_DRIVER_RUN_FALLBACK_H_

#include <memory>

#include "gpu/runtime/executable.h"
#include "interp/interpreter.h"

namespace hlo {

// For one executable. Random numbers and feeds go on from step to step, and begin anew with each execution.
std::shared_ptr<const gpu::HostCalls> InterpreterCalls(const InterpretOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_FALLBACK_H_
