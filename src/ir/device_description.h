// The numbers about a device that passes and the planner of kernels use. devices.def has a row for each known model;
// the device itself need not be present.
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
  int compute_capability = 0;  // 90 for sm_90; 0 on the host.
  int multiprocessors = 0;     // On the host the number of cores.
  // The limit for one block. Empty on the host, where shared arrays of kernels are ordinary memory.
  std::optional<int64_t> shared_memory_bytes;
  // The most bytes that a thread loads or stores at once; on the host the size of a vector register.
  int vector_bytes = 16;
  int64_t memory_bytes = 0;
  double memory_rate = 0;   // Bytes per second of a large copy, with reads and writes both counted.
  double cache_rate = 0;    // The same within the last-level cache.
  int64_t cache_bytes = 0;  // Size of the last-level cache.
  // Operations per second in dots and convolutions with operands of 8, 16, 32 and 64 bits (DotWidth in ir/cost.h).
  std::array<double, 4> dot_rates = {};
  int64_t fetched_bytes = 64;  // The smallest amount that one access fetches from memory.
  // Element operations per second of the whole device, where an operation is one addition in one lane.
  double instruction_rate = 0;
  double launch_seconds = 0;  // Time that one more kernel adds to a sequence of kernels.
};

std::span<const DeviceDescription> AllDevices();
const DeviceDescription* FindDevice(std::string_view name);
const DeviceDescription& DefaultDevice();  // h200, the target if none is given.

// The row `host` with these numbers in place of its own.
DeviceDescription HostDescription(int cores, int vector_bytes, int64_t fetched_bytes = 64);
// The GPU whose name is a word of the product name ("NVIDIA A100-SXM4-80GB"). Otherwise the GPU with the highest
// compute capability up to `compute_capability`, or the default device.
const DeviceDescription& NearestDevice(std::string_view product, int compute_capability);

}  // namespace hlo

#endif  // HLO_IR_DEVICE_DESCRIPTION_H_
