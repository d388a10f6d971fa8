// A module with smaller arrays, for tests that are too expensive with the original.
#ifndef HLO_TESTS_DRIVER_REDUCED_MODULE_H_
#define HLO_TESTS_DRIVER_REDUCED_MODULE_H_

#include <cstdint>
#include <memory>

#include "ir/module.h"

namespace hlo {

// A valid module with the same instructions and arrays of about `most_elements` elements or fewer. Each occurrence of a
// size is reduced to the same size. Remainders beyond tiles of 64, 16 or 8 are kept, so that odd sizes stay odd.
// Slices, windows and products of sizes are adapted. Sizes up to 15 and numbers in constants are kept. Indices in
// constants may therefore be out of range, and ops clamp them as defined.
std::unique_ptr<Module> Reduced(const Module& module, int64_t most_elements);

// The number of elements of the largest array.
int64_t MostElements(const Module& module);

}  // namespace hlo

#endif  // HLO_TESTS_DRIVER_REDUCED_MODULE_H_
