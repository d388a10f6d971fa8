// Whether tensor cores could take a step, whether they do, and why not.
#ifndef HLO_DRIVER_PROFILE_TENSOR_CORES_H_
#define HLO_DRIVER_PROFILE_TENSOR_CORES_H_

#include <string>

#include "gpu/runtime/executable.h"
#include "ir/device_description.h"

namespace hlo {

struct TensorCoreUse {
  // It has a dot or convolution whose operands are of a type that the device's tensor cores multiply (f32 as TF32).
  bool eligible = false;
  // A kernel of ours with matrix instructions; of a library, one whose operands it gives to them whenever it can.
  bool used = false;
  std::string why_not;  // Of what is eligible and not used.
};

// `target`: the device that the step is planned for. `is_host`: it ran on the host instead.
TensorCoreUse TensorCoresOf(const gpu::StepInfo& step, const DeviceDescription& target, bool is_host, bool allow_tf32);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_TENSOR_CORES_H_
