#include "gpu/device/cuda_driver.h"

#include <utility>

#include "base/log.h"
#include "base/text.h"
#include "gpu/device/emulated.h"

namespace hlo::gpu {

Error Driver::Failed(std::string_view call, Status32 status, std::string_view while_doing) const {
  *told = true;
  const char *name = nullptr, *words = nullptr;
  error_name(status, &name);
  error_string(status, &words);
  std::string message = Str(call, ": ", name ? name : "unknown error", " (", status, ")");
  if (words != nullptr) message += Str(", ", words);
  if (!while_doing.empty()) message += Str(" while ", while_doing);
  return DeviceError("R014", std::move(message));
}

void Driver::Ended(std::string_view call, Status32 status) const {
  if (status != 0 && !*told) VLOG(0, Failed(call, status).message());
}

Result<Driver> LoadDriver(const std::vector<std::string>& search) {
  auto driver = LoadApi<Driver>(search);
  if (!driver && driver.error().code() == "R013") {
    FAIL(DeviceError("R010", Str("no CUDA driver here: ", driver.error().message()))
             .Hint("--platform=cpu runs the program on this machine without a GPU"));
  }
  if (driver) driver->is_double = AttachEmulator(driver->library);
  return driver;
}

}  // namespace hlo::gpu
