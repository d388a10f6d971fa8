// What --target names: a device that passes and planners work for, which need not be there.
#ifndef HLO_DRIVER_TARGET_H_
#define HLO_DRIVER_TARGET_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/device_description.h"

namespace hlo {

// A description and what its name points to.
struct Target {
  std::string name;
  DeviceDescription device;
};

// "h200" and the like, sm_NN for the first of that compute capability, or a file in the form of XLA's target
// configurations (--xla_gpu_target_config_filename): a GpuTargetConfigProto as text. Errors: neither (usage, with near
// names); a file that is none (A017, located).
Result<std::shared_ptr<const Target>> FindTarget(const std::string& name);

// A device that is there, as it describes itself.
std::shared_ptr<const Target> TargetOf(const DeviceDescription& device);

// The GPU that a platform ("cuda:1", "auto") stands for, where there is one: what a run is planned for when nothing
// else is said. Null: none; the host runs kernels as they are planned for the default device, so that it tells what is
// wrong with those, but for_speed: then it is planned for itself. `why_not`: why a device could not be opened.
std::shared_ptr<const Target> TargetOfPlatform(const std::string& platform, bool for_speed,
                                               const std::vector<std::string>& library_path = {},
                                               std::string* why_not = nullptr);

// "h200, h100, a100, host": those that have a name.
std::string TargetNames();

// The description in the text of such a file.
Result<std::shared_ptr<const Target>> ReadTarget(const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_TARGET_H_
