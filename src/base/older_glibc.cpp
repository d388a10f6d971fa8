// What the libraries that are linked in ask of glibc and glibc has since 2.36 only. Defined here, the program runs
// with 2.35 (scripts/glibc looks at what it asks for).
#include <sys/random.h>
#include <time.h>

#include <cstdint>

// A number that nobody foresees, for names of temporary files and the like; nothing secret is made of it.
extern "C" uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) == sizeof number) return number;
  timespec now = {};  // A system without that call.
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint32_t>(now.tv_nsec);
}
