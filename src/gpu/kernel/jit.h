// Object code in memory, ready to run.
#ifndef HLO_GPU_KERNEL_JIT_H_
#define HLO_GPU_KERNEL_JIT_H_

#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace hlo::kernel {

class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  // Null when the object does not define it.
  virtual void* Symbol(const std::string& name) const = 0;
};

// Copies, relocates and makes executable. `object` is an ELF relocatable file; functions it calls are
// those of a table.
Result<std::shared_ptr<const LoadedObject>> LoadObject(std::span<const char> object);

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_JIT_H_
