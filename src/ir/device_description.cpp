#include "ir/device_description.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace hlo {
namespace {

constexpr DeviceDescription Row(std::string_view name, int compute_capability, int cores,
                                std::optional<int64_t> shared_memory_bytes, int vector_bytes, int64_t memory_bytes,
                                double memory_rate, double cache_rate, int64_t cache_mib, double rate8, double rate16,
                                double rate32, double rate64, double instruction_rate) {
  return {.name = name,
          .is_gpu = compute_capability > 0,
          .compute_capability = compute_capability,
          .multiprocessors = cores,
          .shared_memory_bytes = shared_memory_bytes,
          .vector_bytes = vector_bytes,
          .memory_bytes = memory_bytes,
          .memory_rate = memory_rate,
          .cache_rate = cache_rate,
          .cache_bytes = cache_mib << 20,
          .dot_rates = {rate8, rate16, rate32, rate64},
          .instruction_rate = instruction_rate,
          .launch_seconds = 1e-6};
}

constexpr DeviceDescription kDevices[] = {
#define DEVICE(name, sm, cores, shared_kib, ...) Row(#name, sm, cores, shared_kib * 1024, __VA_ARGS__),
#define HOST(name, cores, ...) Row(#name, 0, cores, std::nullopt, __VA_ARGS__),
#include "ir/devices.def"
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

DeviceDescription HostDescription(int cores, int vector_bytes, int64_t fetched_bytes) {
  DeviceDescription host = *FindDevice("host");
  const double more = static_cast<double>(cores) / host.multiprocessors * vector_bytes / host.vector_bytes;
  host.multiprocessors = cores;
  host.vector_bytes = vector_bytes;
  host.fetched_bytes = fetched_bytes;
  for (double& rate : host.dot_rates) rate *= more;
  host.instruction_rate *= more;
  return host;
}

const DeviceDescription& NearestDevice(std::string_view product, int compute_capability) {
  std::string words(product);
  std::ranges::transform(words, words.begin(), [](unsigned char c) { return std::isalnum(c) ? std::tolower(c) : ' '; });
  words = " " + words + " ";
  const DeviceDescription* nearest = nullptr;
  for (const DeviceDescription& device : kDevices) {
    if (!device.is_gpu) continue;
    if (words.find(" " + std::string(device.name) + " ") != std::string::npos) return device;
    const bool fits = device.compute_capability <= compute_capability;
    if (fits && (nearest == nullptr || device.compute_capability > nearest->compute_capability)) nearest = &device;
  }
  return nearest != nullptr ? *nearest : DefaultDevice();
}

}  // namespace hlo
