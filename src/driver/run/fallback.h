// Runs steps without a kernel in the interpreter.
#ifndef HLO_DRIVER_RUN_FALLBACK_H_
#define HLO_DRIVER_RUN_FALLBACK_H_

#include <memory>

#include "gpu/runtime/executable.h"
#include "interp/interpreter.h"

namespace hlo {

// Host calls of one executable. Random numbers and feeds continue from step to step and restart with each execution.
std::shared_ptr<const gpu::HostCalls> InterpreterCalls(const InterpretOptions& options);

}  // namespace hlo

#endif  // HLO_DRIVER_RUN_FALLBACK_H_
