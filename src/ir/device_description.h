// What passes and the planner of kernels need to know of a device: plain numbers, no handle. A row each in devices.def;
// a row is a model of a device, the device itself need not be there.
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
  int multiprocessors = 0;     // Cores on the host.
  // Of one block, at most. None on the host, where a kernel's shared arrays are memory as any other.
  std::optional<int64_t> shared_memory_bytes;
  int vector_bytes = 16;  // What one thread loads or stores at once, at most; on the host a register of its level.
  int64_t memory_bytes = 0;
  double memory_rate = 0;   // Bytes per second that a copy moves, reads and writes both counted.
  double cache_rate = 0;    // The same out of the last-level cache...
  int64_t cache_bytes = 0;  // ...and how much that holds.
  // Operations per second of dots and convolutions, of operands of 8, 16, 32 and 64 bits (ir/cost.h).
  std::array<double, 4> dot_rates = {};
  int64_t fetched_bytes = 64;   // That memory gives at a time at least.
  double instruction_rate = 0;  // Element operations (one lane's add) per second, the whole device.
  double launch_seconds = 0;    // What one more kernel costs in a row of kernels.
};

std::span<const DeviceDescription> AllDevices();
// Null when there is no such row.
const DeviceDescription* FindDevice(std::string_view name);
const DeviceDescription& DefaultDevice();  // h200: modules are optimised for it where nothing is said.

// The row `host` with so many cores, vectors of so many bytes, and so many that are fetched at a time, in the place of
// its own.
DeviceDescription HostDescription(int cores, int vector_bytes, int64_t fetched_bytes = 64);
// The row of a GPU by the name of the product ("NVIDIA A100-SXM4-80GB"); else the first of the highest compute
// capability that is not above its own.
const DeviceDescription& NearestDevice(std::string_view product, int compute_capability);

}  // namespace hlo

#endif  // HLO_IR_DEVICE_DESCRIPTION_H_
