// A library call, made ready when the module is compiled: what depends on shapes only is done before it runs.
#ifndef HLO_GPU_LIBRARIES_LIBRARY_H_
#define HLO_GPU_LIBRARIES_LIBRARY_H_

#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace hlo::gpu {

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  virtual std::string how() const = 0;  // "oneDNN 2.6.3 brgconv:avx512_core".
  virtual int64_t ScratchBytes() const = 0;
  // One pointer for each operand of the fusion. `scratch` is aligned to kBufferAlignment.
  virtual Status Run(std::span<void* const> operands, void* result, void* scratch) const = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_LIBRARY_H_
