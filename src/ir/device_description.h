// The numbers of a device that passes and planners use. devices.def has a row for each model. The device need not be
// present.
#ifndef HLO_IR_DEVICE_DESCRIPTION_H_
#define HLO_IR_DEVICE_DESCRIPTION_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace hlo {

struct DeviceDescription {
  std::string_view name;  // "h200", "host".
  bool is_gpu = true;
  int compute_capability = 0;  // 90 for sm_90, 0 for the host.
  int multiprocessors = 0;     // The number of cores on the host.
  // Limit for one block. Empty on the host, where kernels use ordinary memory.
  std::optional<int64_t> shared_memory_bytes;
  // Bytes that a thread loads at once. On the host, the size of a vector register.
  int vector_bytes = 16;
  int64_t memory_bytes = 0;
  double memory_rate = 0;  // Bytes per second of a large copy, reads and writes counted.
  double cache_rate = 0;   // Bytes per second of a copy within the last-level cache.
  int64_t cache_bytes = 0;
  // Operations per second with operands of 8, 16, 32 and 64 bits (DotWidth in ir/analysis/cost.h).
  std::array<double, 4> dot_rates = {};
  int64_t fetched_bytes = 64;  // Bytes of the smallest access to memory.
  // Additions of f32 elements per second on the whole device.
  double instruction_rate = 0;
  double launch_seconds = 0;  // Time that one more kernel adds to a sequence.
};

std::span<const DeviceDescription> AllDevices();
const DeviceDescription* FindDevice(std::string_view name);
const DeviceDescription& DefaultDevice();  // h200.

// The row `host` with these numbers, and arithmetic rates scaled accordingly.
DeviceDescription HostDescription(int cores, int vector_bytes, int64_t fetched_bytes = 64);
// The GPU whose name is a word of the product name ("NVIDIA A100-SXM4-80GB"). Otherwise the GPU with the highest
// compute capability up to `compute_capability`, or the default device.
const DeviceDescription& NearestDevice(std::string_view product, int compute_capability);

}  // namespace hlo

#endif  // HLO_IR_DEVICE_DESCRIPTION_H_
