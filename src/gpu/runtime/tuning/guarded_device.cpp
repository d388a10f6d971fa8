#include "gpu/runtime/tuning/guarded_device.h"

#include <immintrin.h>

#include <algorithm>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"

namespace hlo::gpu {
namespace {

constexpr uint8_t kPattern = 0xA5;
// Bytes before and after an allocation. Larger zones catch more writes, smaller ones are cheaper to check.
constexpr int64_t kLeastZone = 4 << 10, kMostZone = 8 << 20;
static_assert(kLeastZone % kBufferAlignment == 0);

// Least bytes that EmptyCaches writes on a GPU.
constexpr int64_t kLeastOtherMemory = 128 << 20;
constexpr int64_t kCacheLine = 64;

void DropLines(const std::byte* begin, int64_t bytes) {
  constexpr int64_t kGrain = 1 << 20;
  ParallelFor(bytes, kGrain, [&](int64_t from, int64_t to) {
    for (int64_t at = from; at < to; at += kCacheLine) _mm_clflush(begin + at);
  });
  _mm_mfence();
}

}  // namespace

GuardedDevice::~GuardedDevice() {
  EndLibraryStates();
  if (other_memory_ != nullptr) device_.Free(other_memory_);
}

int64_t GuardedDevice::ZoneBytes(int64_t bytes) { return std::clamp(AlignedBytes(bytes), kLeastZone, kMostZone); }

Result<void*> GuardedDevice::Allocate(int64_t bytes) {
  const int64_t zone = zones_ ? ZoneBytes(bytes) : 0;
  void* const all = TRY(device_.Allocate(zone + bytes + zone));
  auto* const first = static_cast<std::byte*>(all);
  void* const given = first + zone;
  allocations_[given] = {all, bytes, zone};
  if (zone == 0) return given;
  TRY(device_.Fill(first, kPattern, 1, zone));
  TRY(device_.Fill(first + zone + bytes, kPattern, 1, zone));
  return given;
}

void GuardedDevice::Free(void* memory) {
  const auto found = allocations_.find(memory);
  if (found == allocations_.end()) {
    device_.Free(memory);
    return;
  }
  device_.Free(found->second.all);
  allocations_.erase(found);
}

Result<std::vector<std::shared_ptr<const LoadedKernel>>> GuardedDevice::Load(
    std::span<const std::shared_ptr<const KernelCode>> code) {
  auto loaded = TRY(device_.Load(code));
  for (const auto& kernel : loaded) spilled_bytes_ = std::max(spilled_bytes_, kernel->spilled_bytes());
  return loaded;
}

Status GuardedDevice::EmptyCaches() {
  if (device_.IsHost()) {
    for (const auto& [given, allocation] : allocations_)
      DropLines(static_cast<const std::byte*>(given), allocation.bytes);
    return {};
  }
  const int64_t bytes = std::max(kLeastOtherMemory, 2 * device_.Describe().cache_bytes);
  if (other_memory_ == nullptr) other_memory_ = TRY(device_.Allocate(bytes));
  return device_.Fill(other_memory_, 0, 4, bytes / 4);
}

Result<int64_t> GuardedDevice::Written(const void* zone, int64_t bytes) {
  std::vector<uint8_t> read(bytes);
  TRY(device_.CopyOut(read.data(), zone, bytes));
  return bytes - std::ranges::count(read, kPattern);
}

Result<std::string> GuardedDevice::Violation() {
  TRY(device_.Synchronize());
  for (const auto& [given, allocation] : allocations_) {
    const auto* const first = static_cast<const std::byte*>(allocation.all);
    const int64_t before = TRY(Written(first, allocation.zone));
    const int64_t behind = TRY(Written(first + allocation.zone + allocation.bytes, allocation.zone));
    if (before + behind == 0) continue;
    return Str(before > 0 ? before : behind, before > 0 ? " bytes before" : " bytes behind", " an allocation of ",
               HumanBytes(static_cast<double>(allocation.bytes)));
  }
  return "";
}

}  // namespace hlo::gpu
