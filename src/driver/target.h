// The device of --target. It need not be present.
#ifndef HLO_DRIVER_TARGET_H_
#define HLO_DRIVER_TARGET_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"
#include "ir/device_description.h"

namespace hlo {

// `device.name` points into `name`.
struct Target {
  std::string name;
  DeviceDescription device;
};

// Finds a name such as "h200", sm_NN for the first device of that compute capability, or a file with XLA's
// GpuTargetConfigProto as text (--xla_gpu_target_config_filename). Errors: kUsage for an unknown name, A017 for an
// invalid file.
Result<std::shared_ptr<const Target>> FindTarget(const std::string& name);

std::shared_ptr<const Target> TargetOf(const DeviceDescription& device);

// A platform is one of these words or the name of a device (gpu::OpenDevice).
enum class PlatformKind : uint8_t { kAuto, kInterpreter, kDevice };
template <>
struct EnumWords<PlatformKind> {
  static constexpr std::string_view kWords[] = {"auto", "interpreter", ""};
};
inline PlatformKind KindOfPlatform(std::string_view platform) {
  return FromText<PlatformKind>(platform).value_or(PlatformKind::kDevice);
}

// The device for which kernels of a platform ("cuda:1", "auto") are planned. Null without a GPU: the host then runs
// kernels for the default device, which finds their faults. With `for_speed`, a host's kernels are planned for the
// host. `why_not` receives the reason if no device could be opened.
std::shared_ptr<const Target> TargetOfPlatform(const std::string& platform, bool for_speed,
                                               const std::vector<std::string>& library_path = {},
                                               std::string* why_not = nullptr);

std::string TargetNames();

Result<std::shared_ptr<const Target>> ReadTarget(const std::string& path);

}  // namespace hlo

#endif  // HLO_DRIVER_TARGET_H_
