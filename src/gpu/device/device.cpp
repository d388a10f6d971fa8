#include "gpu/device/device.h"

#include "base/text.h"

namespace hlo::gpu {

Result<void*> Device::LibraryState(const void* library, const std::function<Result<std::shared_ptr<void>>()>& make) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<void>& state = library_states_[library];
  if (state == nullptr) state = TRY(make());
  return state.get();
}

Result<std::unique_ptr<Device>> OpenDevice(std::string_view platform, const std::vector<std::string>& search) {
  const size_t colon = platform.find(':');
  const std::string_view kind = platform.substr(0, colon);
  int64_t ordinal = 0;
  if (colon != std::string_view::npos &&
      (!ParseInt(platform.substr(colon + 1), &ordinal) || ordinal < 0 || ordinal > 1024)) {
    FAIL(UsageError("F004", Str("--platform wants a device number after ':', not '", Escaped(platform), "'")));
  }
  if (kind == "cpu" || kind == "host") {
    if (ordinal != 0) FAIL(UsageError("F004", Str("--platform=", Escaped(platform), ": there is only one host")));
    return OpenHostDevice();
  }
  if (kind == "cuda" || kind == "gpu") return OpenCudaDevice(static_cast<int>(ordinal), search);
  FAIL(UsageError("F004", Str("--platform wants auto, interpreter, cpu or cuda[:N], not '", Escaped(platform), "'")));
}

}  // namespace hlo::gpu
