#include "ir/device_description.h"

namespace hlo {
namespace {

constexpr DeviceDescription kDevices[] = {
    // Rates are what large copies and products reach, below the data sheet; f32 without TF32, f64 at half of it;
    // instructions: 132 multiprocessors of 128 lanes at 1.7 GHz.
    {.name = "h200",
     .is_gpu = true,
     .compute_capability = 90,
     .multiprocessors = 132,
     .shared_memory_bytes = 227 * 1024,
     .memory_bytes = 141'000'000'000,
     .memory_rate = 4.1e12,
     .cache_rate = 7e12,
     .cache_bytes = 50 << 20,
     .dot_rates = {1.4e15, 7.8e14, 5.2e13, 2.6e13},
     .instruction_rate = 2.9e13,
     .launch_seconds = 1e-6},
    // Of these the data sheets, times what of its own an H200 reaches: 0.855 of memory, 0.78 of arithmetic.
    {.name = "h100",
     .is_gpu = true,
     .compute_capability = 90,
     .multiprocessors = 132,
     .shared_memory_bytes = 227 * 1024,
     .memory_bytes = 80'000'000'000,
     .memory_rate = 2.86e12,
     .cache_rate = 7e12,
     .cache_bytes = 50 << 20,
     .dot_rates = {1.4e15, 7.8e14, 5.2e13, 2.6e13},
     .instruction_rate = 2.9e13,
     .launch_seconds = 1e-6},
    {.name = "a100",
     .is_gpu = true,
     .compute_capability = 80,
     .multiprocessors = 108,
     .shared_memory_bytes = 163 * 1024,
     .memory_bytes = 80'000'000'000,
     .memory_rate = 1.74e12,
     .cache_rate = 4e12,
     .cache_bytes = 40 << 20,
     .dot_rates = {4.9e14, 2.4e14, 1.5e13, 7.6e12},
     .instruction_rate = 7.6e12,
     .launch_seconds = 1e-6},
    {.name = "a10",
     .is_gpu = true,
     .compute_capability = 86,
     .multiprocessors = 72,
     .shared_memory_bytes = 99 * 1024,
     .memory_bytes = 24'000'000'000,
     .memory_rate = 5.1e11,
     .cache_rate = 1.5e12,
     .cache_bytes = 6 << 20,
     .dot_rates = {2.0e14, 9.8e13, 2.4e13, 3.8e11},
     .instruction_rate = 1.2e13,
     .launch_seconds = 1e-6},
    {.name = "l40s",
     .is_gpu = true,
     .compute_capability = 89,
     .multiprocessors = 142,
     .shared_memory_bytes = 99 * 1024,
     .memory_bytes = 48'000'000'000,
     .memory_rate = 7.4e11,
     .cache_rate = 4e12,
     .cache_bytes = 96 << 20,
     .dot_rates = {5.7e14, 2.8e14, 7.1e13, 1.1e12},
     .instruction_rate = 3.6e13,
     .launch_seconds = 1e-6},
    // A plain two-core x86-64 machine with 8-lane vectors at 3 GHz; two fused multiply-adds a cycle.
    {.name = "host",
     .is_gpu = false,
     .compute_capability = 0,
     .multiprocessors = 2,
     .shared_memory_bytes = 256 * 1024,
     .memory_bytes = 8'000'000'000,
     .memory_rate = 2e10,
     .cache_rate = 6e10,
     .cache_bytes = 32 << 20,
     .dot_rates = {1.9e11, 1.9e11, 1.9e11, 9.6e10},
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
