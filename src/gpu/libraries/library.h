// A LibraryCall is made at compile time and immutable. It can be bound to several devices and run concurrently.
#ifndef HLO_GPU_LIBRARIES_LIBRARY_H_
#define HLO_GPU_LIBRARIES_LIBRARY_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "gpu/device/device.h"

namespace hlo::gpu {

// A call on one device, for one set of buffers at a time.
class BoundCall {
 public:
  virtual ~BoundCall() = default;

  // Reorders weights into `packed`. `operands` has a pointer for each operand of the fusion.
  virtual Status Pack(std::span<void* const> operands, void* packed) { return {}; }
  // `scratch` and `packed` are aligned to kBufferAlignment.
  virtual Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) = 0;
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  virtual std::string how() const = 0;  // "oneDNN 2.6.3 brgconv:avx512_core"
  // Such as "brgconv:avx512_core". Empty if the library has only one algorithm.
  virtual std::string algorithm() const { return ""; }
  // Whether the library computes the result and its sums without our kernels.
  virtual bool is_whole() const { return true; }
  // All algorithms in the library's order. The library may refuse some. Empty without LibraryOptions::list.
  virtual std::vector<std::string> algorithms() const { return {}; }
  virtual int64_t ScratchBytes() const { return 0; }
  // The operand whose bytes the result must have before the call, such as a residual. -1 for none.
  virtual int64_t InPlaceOperand() const { return -1; }
  // Bytes of weights in the library's order, 0 without packing. Packed weights stay valid until the operand
  // PackedOperand() changes.
  virtual int64_t PackedBytes() const { return 0; }
  virtual int64_t PackedOperand() const { return -1; }

  // The call must outlive the bound calls.
  virtual Result<std::unique_ptr<BoundCall>> Bind(Device& device) const = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_LIBRARY_H_
