// Adds the place of an instruction to device errors that have no place.
#ifndef HLO_GPU_RUNTIME_LOCATED_H_
#define HLO_GPU_RUNTIME_LOCATED_H_

#include <utility>

#include "base/result.h"
#include "ir/instruction.h"

namespace hlo::gpu {

template <class T>
Result<T> LocatedAt(const Instruction& inst, Result<T> result) {
  if (result || result.error().exit != ExitCode::kDevice || result.error().source != nullptr) return result;
  Error& error = result.error();
  Error located = ErrorAt(inst, error.code(), error.message(), error.exit);
  located.diagnostics.front().notes = std::move(error.diagnostics.front().notes);
  located.diagnostics.front().hint = std::move(error.diagnostics.front().hint);
  error = std::move(located);
  return result;
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_LOCATED_H_
