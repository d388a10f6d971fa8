// Passes at random: which, in which order, and with which options.
#ifndef HLO_DRIVER_FUZZ_DRAW_PASSES_H_
#define HLO_DRIVER_FUZZ_DRAW_PASSES_H_

#include <cstdint>
#include <string>

namespace hlo {

// "cse,fusion{instructions=16},algsimp,cse": a list as --passes takes it, the same for the same seed and table of
// passes. Any pass may stand anywhere, for each has to leave a valid module of the same meaning whatever it is given,
// and what has no kernel then is interpreted.
std::string DrawPasses(uint64_t seed);

}  // namespace hlo

#endif  // HLO_DRIVER_FUZZ_DRAW_PASSES_H_
