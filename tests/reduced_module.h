// A module with smaller arrays, for tests to which the whole is too much.
#ifndef HLO_TESTS_REDUCED_MODULE_H_
#define HLO_TESTS_REDUCED_MODULE_H_

#include <cstdint>
#include <memory>

#include "ir/module.h"

namespace hlo {

// The same instructions on arrays of at most about `most_elements` elements, a valid module. A size becomes the same
// smaller one wherever it stands, with what it leaves beyond tiles of 64, 16 or 8, so that what was odd stays odd; what
// hangs on it, in slices, windows and products of sizes, goes along. Sizes of 15 or less stay. Numbers in constants
// stay, too: masks and limits that are indices are clamped then, as the ops say.
std::unique_ptr<Module> Reduced(const Module& module, int64_t most_elements);

// Of the largest array.
int64_t MostElements(const Module& module);

}  // namespace hlo

#endif  // HLO_TESTS_REDUCED_MODULE_H_
