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
  // The operand that must lie in the result when Run is called, by sharing its buffer or by a copy: a residual that is
  // added in place. -1: none.
  virtual int64_t InPlaceOperand() const { return -1; }
  // An operand (weights) that the library wants in an order of its own: Pack puts it into memory of this many bytes,
  // which Run then reads. As long as that operand does not change, it stays packed. 0: none.
  virtual int64_t PackedBytes() const { return 0; }
  virtual int64_t PackedOperand() const { return -1; }
  virtual Status Pack(std::span<void* const> operands, void* packed) const { return {}; }
  // One pointer for each operand of the fusion. `scratch` and `packed` are aligned to kBufferAlignment.
  virtual Status Run(std::span<void* const> operands, void* result, void* scratch, void* packed) const = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_LIBRARY_H_
