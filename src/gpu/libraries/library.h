// Library calls. A LibraryCall is made when the module is compiled: all that depends on shapes only is done then, and
// it never changes. Bound to a device it can run, as often as that is wanted, there and elsewhere at the same time.
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

// A call on one device, for one set of buffers at a time: handles and descriptors that running changes are its own.
class BoundCall {
 public:
  virtual ~BoundCall() = default;

  // One pointer for each operand of the fusion.
  virtual Status Pack(std::span<void* const> operands, void* packed) { return {}; }
  // One pointer for each result. `scratch` and `packed` are aligned to kBufferAlignment.
  virtual Status Run(std::span<void* const> operands, std::span<void* const> results, void* scratch, void* packed) = 0;
};

class LibraryCall {
 public:
  virtual ~LibraryCall() = default;

  virtual std::string how() const = 0;  // "oneDNN 2.6.3 brgconv:avx512_core".
  // The same in a plan, where it chooses: "brgconv:avx512_core". Empty: the library has one way only.
  virtual std::string algorithm() const { return ""; }
  // The library does all of it, without kernels of ours beside.
  virtual bool is_whole() const { return true; }
  // What it might be asked for by name instead, in the library's order; some may be refused. With LibraryOptions::list.
  virtual std::vector<std::string> algorithms() const { return {}; }
  virtual int64_t ScratchBytes() const { return 0; }
  // The operand that must lie in the result when the call runs, by sharing its buffer or by a copy: a residual that is
  // added in place. -1: none.
  virtual int64_t InPlaceOperand() const { return -1; }
  // An operand (weights) that the library wants in an order of its own: Pack puts it into memory of this many bytes,
  // which Run then reads. As long as that operand does not change, it stays packed. 0: none.
  virtual int64_t PackedBytes() const { return 0; }
  virtual int64_t PackedOperand() const { return -1; }

  // The call lives as long as what is bound.
  virtual Result<std::unique_ptr<BoundCall>> Bind(Device& device) const = 0;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_LIBRARIES_LIBRARY_H_
