// Loads object code into memory.
#ifndef HLO_GPU_CODEGEN_JIT_H_
#define HLO_GPU_CODEGEN_JIT_H_

#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace hlo::kernel {

class LoadedObject {
 public:
  virtual ~LoadedObject() = default;
  // The symbol's address, null if undefined.
  virtual void* Symbol(const std::string& name) const = 0;
};

// Makes an ELF relocatable file executable. Its code may call only the functions in jit.cpp's table.
Result<std::shared_ptr<const LoadedObject>> LoadObject(std::span<const char> object);

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_JIT_H_
