// Philox 4x32-10, which maps a key and a counter to four random words. Source: Salmon et al., SC 2011.
#ifndef HLO_INTERP_ARGUMENTS_PHILOX_H_
#define HLO_INTERP_ARGUMENTS_PHILOX_H_

#include <cstdint>

namespace hlo {

struct PhiloxBlock {
  uint32_t words[4];

  uint64_t Wide() const { return static_cast<uint64_t>(words[1]) << 32 | words[0]; }
};
PhiloxBlock Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high);

// First words of the blocks of consecutive counters, in a vectorisable form.
inline constexpr int kPhiloxLanes = 16;
void PhiloxFirstWords(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t (&words)[kPhiloxLanes]);

}  // namespace hlo

#endif  // HLO_INTERP_ARGUMENTS_PHILOX_H_
