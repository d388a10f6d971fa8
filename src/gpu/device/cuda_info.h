// Properties of a CUDA device.
#ifndef HLO_GPU_DEVICE_CUDA_INFO_H_
#define HLO_GPU_DEVICE_CUDA_INFO_H_

#include <algorithm>
#include <string>

#include "base/text.h"
#include "gpu/device/cuda_driver.h"
#include "ir/device_description.h"

namespace hlo::gpu {

struct CudaDeviceInfo {
  int handle = 0;
  int version = 0;  // The driver's, 12040 for CUDA 12.4.
  int compute = 0;  // 90 for sm_90.
  int multiprocessors = 0, cache_bytes = 0, shared_bytes = 0;
  size_t memory_bytes = 0;
  std::string product;

  std::string VersionText() const { return Str(version / 1000, ".", version % 1000 / 10); }
  // Newer devices get PTX for sm_90.
  std::string Arch() const { return Str("sm_", std::min(compute, 90)); }
  std::string Text() const;
  DeviceDescription Describe() const;
};

std::string CudaName(int ordinal);
// Initializes the driver. Fails if hlokit does not support the driver or device.
Result<CudaDeviceInfo> FindCudaDevice(const Driver& driver, int ordinal);

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_CUDA_INFO_H_
