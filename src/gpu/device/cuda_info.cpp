#include "gpu/device/cuda_info.h"

namespace hlo::gpu {
namespace {

constexpr int kOldestDriver = 12030;  // The first driver with PTX 8.3.

Error NoDevice(int ordinal, int count) {
  return DeviceError("R011", Str("no ", CudaName(ordinal), ": the CUDA driver finds ", count,
                                 count == 1 ? " device" : " devices"))
      .Hint("--platform=cpu runs the program on this machine without a GPU");
}

}  // namespace

std::string CudaName(int ordinal) { return Str("cuda:", ordinal); }

std::string CudaDeviceInfo::Text() const {
  return Str(product, ", sm_", compute, ", ", multiprocessors, " SMs, ", HumanBytes(static_cast<double>(memory_bytes)),
             ", driver for CUDA ", VersionText());
}

DeviceDescription CudaDeviceInfo::Describe() const {
  DeviceDescription device = NearestDevice(product, compute);
  device.compute_capability = compute;
  device.multiprocessors = multiprocessors;
  device.shared_memory_bytes = shared_bytes;
  device.memory_bytes = static_cast<int64_t>(memory_bytes);
  device.cache_bytes = cache_bytes;
  return device;
}

Result<CudaDeviceInfo> FindCudaDevice(const Driver& driver, int ordinal) {
  CudaDeviceInfo info;
  TRY(driver.Check("cuDriverGetVersion", driver.driver_version(&info.version)));
  if (info.version < kOldestDriver) {
    FAIL(DeviceError("R012", Str("the CUDA driver is too old: it is for CUDA ", info.VersionText(),
                                 ", but kernels need CUDA ", kOldestDriver / 1000, ".3")));
  }
  const Status32 status = driver.init(0);
  if (status == kCudaNoDevice) FAIL(NoDevice(ordinal, 0));
  if (status != 0) FAIL(driver.Failed("cuInit", status));
  int count = 0;
  TRY(driver.Check("cuDeviceGetCount", driver.device_count(&count)));
  if (ordinal >= count) FAIL(NoDevice(ordinal, count));
  TRY(driver.Check("cuDeviceGet", driver.device_get(&info.handle, ordinal)));
  char name[256] = {};
  TRY(driver.Check("cuDeviceGetName", driver.device_name(name, sizeof name, info.handle)));
  info.product = name;
  TRY(driver.Check("cuDeviceGetAttribute",
                   driver.device_attribute(&info.multiprocessors, kMultiprocessors, info.handle)));
  TRY(driver.Check("cuDeviceGetAttribute", driver.device_attribute(&info.cache_bytes, kCacheBytes, info.handle)));
  TRY(driver.Check("cuDeviceGetAttribute", driver.device_attribute(&info.shared_bytes, kSharedBytes, info.handle)));
  int major = 0, minor = 0;
  TRY(driver.Check("cuDeviceGetAttribute", driver.device_attribute(&major, kComputeMajor, info.handle)));
  TRY(driver.Check("cuDeviceGetAttribute", driver.device_attribute(&minor, kComputeMinor, info.handle)));
  info.compute = 10 * major + minor;
  if (info.compute < 80)
    FAIL(DeviceError(
        "R012", Str(CudaName(ordinal), " '", info.product, "' is sm_", info.compute, "; kernels need sm_80 or later")));
  TRY(driver.Check("cuDeviceTotalMem", driver.device_total_memory(&info.memory_bytes, info.handle)));
  return info;
}

}  // namespace hlo::gpu
