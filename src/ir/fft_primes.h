// The prime factors of an fft's length for which kernels compute butterflies. The error bounds of the judge hold for
// these. Another length becomes a convolution with a chirp (Bluestein), which rounds more often.
#ifndef HLO_IR_FFT_PRIMES_H_
#define HLO_IR_FFT_PRIMES_H_

#include <cstdint>

namespace hlo {

inline constexpr int64_t kFftPrimes[] = {2, 3, 5, 7, 11, 13};

constexpr bool HasOnlyFftPrimes(int64_t length) {
  for (const int64_t prime : kFftPrimes) {
    while (length > 1 && length % prime == 0) length /= prime;
  }
  return length == 1;
}

}  // namespace hlo

#endif  // HLO_IR_FFT_PRIMES_H_
