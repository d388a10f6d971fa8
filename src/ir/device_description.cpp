#include "ir/device_description.h"

namespace hlo {
namespace {

constexpr DeviceDescription kDevices[] = {
    // Rates: spec/gpu.md 0 and 2; instructions: 132 multiprocessors of 128 lanes at 1.7 GHz.
    {.name = "h200",
     .is_gpu = true,
     .compute_capability = 90,
     .multiprocessors = 132,
     .shared_memory_bytes = 227 * 1024,
     .memory_bytes = 141'000'000'000,
     .memory_rate = 4.1e12,
     .cache_rate = 7e12,
     .cache_bytes = 50 << 20,
     .instruction_rate = 2.9e13,
     .launch_seconds = 1e-6},
    // A plain two-core x86-64 machine with 8-lane vectors.
    {.name = "host",
     .is_gpu = false,
     .compute_capability = 0,
     .multiprocessors = 2,
     .shared_memory_bytes = 256 * 1024,
     .memory_bytes = 8'000'000'000,
     .memory_rate = 2e10,
     .cache_rate = 6e10,
     .cache_bytes = 32 << 20,
     .instruction_rate = 4.8e10,
     .launch_seconds = 1e-6},
};

}  // namespace

std::span<const DeviceDescription> AllDevices() { return kDevices; }

const DeviceDescription* FindDevice(std::string_view name) {
  for (const DeviceDescription& device : kDevices) {
    if (device.name == name) return &device;
  }
  return nullptr;
}

const DeviceDescription& DefaultDevice() { return kDevices[0]; }

}  // namespace hlo
