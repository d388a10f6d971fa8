#include "interp/arguments/philox.h"

#include <algorithm>

namespace hlo {

PhiloxBlock Philox(uint64_t key, uint64_t counter_low, uint64_t counter_high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x0 = static_cast<uint32_t>(counter_low), x1 = static_cast<uint32_t>(counter_low >> 32);
  uint32_t x2 = static_cast<uint32_t>(counter_high), x3 = static_cast<uint32_t>(counter_high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * x0, p1 = uint64_t{0xCD9E8D57} * x2;
    const uint32_t y0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0, y2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x1 = static_cast<uint32_t>(p1);
    x3 = static_cast<uint32_t>(p0);
    x0 = y0;
    x2 = y2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{x0, x1, x2, x3}};
}

void PhiloxFirstWords(uint64_t key, uint64_t counter_low, uint64_t counter_high, uint32_t (&words)[kPhiloxLanes]) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x0[kPhiloxLanes], x1[kPhiloxLanes], x2[kPhiloxLanes], x3[kPhiloxLanes];
  for (int lane = 0; lane < kPhiloxLanes; ++lane) {
    const uint64_t counter = counter_low + static_cast<uint64_t>(lane);
    x0[lane] = static_cast<uint32_t>(counter);
    x1[lane] = static_cast<uint32_t>(counter >> 32);
    x2[lane] = static_cast<uint32_t>(counter_high);
    x3[lane] = static_cast<uint32_t>(counter_high >> 32);
  }
  for (int round = 0; round < 10; ++round) {
    for (int lane = 0; lane < kPhiloxLanes; ++lane) {
      const uint64_t p0 = uint64_t{0xD2511F53} * x0[lane], p1 = uint64_t{0xCD9E8D57} * x2[lane];
      const uint32_t y0 = static_cast<uint32_t>(p1 >> 32) ^ x1[lane] ^ k0;
      const uint32_t y2 = static_cast<uint32_t>(p0 >> 32) ^ x3[lane] ^ k1;
      x1[lane] = static_cast<uint32_t>(p1);
      x3[lane] = static_cast<uint32_t>(p0);
      x0[lane] = y0;
      x2[lane] = y2;
    }
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  std::copy(x0, x0 + kPhiloxLanes, words);
}

}  // namespace hlo
