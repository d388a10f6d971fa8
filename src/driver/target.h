// The device of --target, for which passes and planners work. It need not be present.
#ifndef HLO_DRIVER_TARGET_H_
#define HLO_DRIVER_TARGET_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/device_description.h"

namespace hlo {

// A description, and the text that its name refers to.
struct Target {
  std::string name;
  DeviceDescription device;
};

// Finds "h200" and similar, sm_NN for the first device of that compute capability, or a file with XLA's target
// configuration (--xla_gpu_target_config_filename), a GpuTargetConfigProto as text. Errors: an unknown name (usage,
// with similar names); an invalid file (A017, with its place).
Result<std::shared_ptr<const Target>> FindTarget(const std::string& name);

std::shared_ptr<const Target> TargetOf(const DeviceDescription& device);

// The GPU of a platform ("cuda:1", "auto"), the default target of a run. Null if there is none: the host runs kernels
// planned for the default device, so that it finds faults in these kernels. With `for_speed`, kernels are planned for
// the host. `why_not` receives the reason why a device could not be opened.
std::shared_ptr<const Target> TargetOfPlatform(const std::string& platform, bool for_speed,
                                               const std::vector<std::string>& library_path = {},
                                               std::string* why_not = nullptr);

// The names of all devices: "h200, h100, a100, host".
std::string TargetNames();

// Reads a target configuration file.
Result<std::shared_ptr<const Target>> ReadTarget(const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_TARGET_H_
