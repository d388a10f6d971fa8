// Whether tensor cores can execute a step, whether they do, and why not.
#ifndef HLO_DRIVER_PROFILE_TENSOR_CORES_H_
#define HLO_DRIVER_PROFILE_TENSOR_CORES_H_

#include <string>

#include "gpu/runtime/executable.h"
#include "ir/device_description.h"

namespace hlo {

struct TensorCoreUse {
  // Whether the device's tensor cores support the type of the operands (f32 as TF32).
  bool eligible = false;
  // Whether our kernel has matrix instructions, or a library uses tensor cores.
  bool used = false;
  std::string why_not;  // Only if eligible.
};

// `target` is the device of the plan. `is_host` means that the step ran on the host.
TensorCoreUse TensorCoresOf(const gpu::StepInfo& step, const DeviceDescription& target, bool is_host, bool allow_tf32);

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_TENSOR_CORES_H_
