#include "gpu/runtime/tuning/guarded_device.h"

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace hlo::gpu {
namespace {

constexpr uint8_t kPattern = 0xA5;
// The larger, the further a wild write may go and still be seen; small ones are cheap to lay and to look at.
constexpr int64_t kLeastZone = 4 << 10, kMostZone = 8 << 20;
static_assert(kLeastZone % kBufferAlignment == 0);

}  // namespace

int64_t GuardedDevice::ZoneBytes(int64_t bytes) {
  return std::clamp((bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment, kLeastZone, kMostZone);
}

Result<void*> GuardedDevice::Allocate(int64_t bytes) {
  if (!zones_) return device_.Allocate(bytes);
  const int64_t zone = ZoneBytes(bytes);
  void* const all = TRY(device_.Allocate(zone + bytes + zone));
  auto* const first = static_cast<std::byte*>(all);
  void* const given = first + zone;
  allocations_[given] = {all, bytes, zone};
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
