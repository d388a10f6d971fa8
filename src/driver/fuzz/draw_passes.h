#ifndef HLO_DRIVER_FUZZ_DRAW_PASSES_H_
#define HLO_DRIVER_FUZZ_DRAW_PASSES_H_

#include <cstdint>
#include <string>

namespace hlo {

// A list for --passes such as "cse,fusion{instructions=16},algsimp,cse", in any order, because each pass must accept
// any module.
std::string DrawPasses(uint64_t seed);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_DRAW_PASSES_H_
