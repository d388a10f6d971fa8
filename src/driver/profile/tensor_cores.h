// Whether tensor cores can execute a step, whether they do, and the reason why not.
#ifndef HLO_DRIVER_PROFILE_TENSOR_CORES_H_
#define HLO_DRIVER_PROFILE_TENSOR_CORES_H_

#include <string>

#include "gpu/runtime/executable.h"
#include "ir/device_description.h"

namespace hlo {

struct TensorCoreUse {
  // A dot or convolution has operands of a type that the device's tensor cores multiply (f32 as TF32).
  bool eligible = false;
  // A kernel of ours with matrix instructions, or a library call with operand types that it multiplies on tensor cores.
  bool used = false;
  std::string why_not;  // If eligible but not used.
};

// `target` is the device of the plan. `is_host` means that it ran on the host instead.
TensorCoreUse TensorCoresOf(const gpu::StepInfo& step, const DeviceDescription& target, bool is_host, bool allow_tf32);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_TENSOR_CORES_H_
