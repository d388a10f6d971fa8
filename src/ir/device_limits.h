// Limits of devices that planners, emitters and the CUDA device share.
#ifndef HLO_IR_DEVICE_LIMITS_H_
#define HLO_IR_DEVICE_LIMITS_H_

#include <cstdint>

namespace hlo {

// Bytes of shared memory for a block: on any GPU (sm_90), and without a request for more.
inline constexpr int64_t kMostSharedBytes = 227 << 10, kStaticSharedBytes = 48 << 10;
// The part of these that planners give to values. Collectives need the rest.
inline constexpr int64_t kMostValueBytes = 220 << 10, kStaticValueBytes = 40 << 10;
// Bytes in a core's first-level and second-level cache that a host's kernel uses, beside the lines in transfer.
inline constexpr int64_t kFirstCacheBytes = 8 << 10, kSecondCacheBytes = 256 << 10;

}  // namespace hlo

#endif  // HLO_IR_DEVICE_LIMITS_H_
