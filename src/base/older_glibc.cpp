// Defines arc4random, which linked libraries call and glibc has since 2.36. The program must run with 2.35
// (scripts/glibc checks its symbols).
#include <sys/random.h>
#include <time.h>

#include <cstdint>

// No secret is derived from these numbers.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_nsec);
}
