// Ways to make a module smaller. Each says how the module may be changed, and leaves one that may be valid or not, and
// fail or not: whoever reduces verifies and tries it. Ids of instructions are kept.
#ifndef HLO_DRIVER_SEARCH_EDITS_H_
#define HLO_DRIVER_SEARCH_EDITS_H_

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <vector>

#include "ir/module.h"

namespace hlo {

// What takes the place of an instruction.
enum class Stand : uint8_t {
  kOperand,    // The first of its operands that has its shape.
  kParameter,  // A new parameter; in the entry.
  kShared,     // The first parameter that has its shape; in the entry.
  kZero,       // All elements 0.
  kOne,
};

// Fewer operations first, then fewer other instructions, elements, characters.
using ModuleSize = std::tuple<int64_t, int64_t, size_t>;
ModuleSize SizeOf(const Module& module, size_t characters);
int64_t ElementCount(const Module& module);  // Of all values.

// Ids of what something may take the place of, computation by computation, the entry first, users behind operands.
std::vector<int> Replaceable(const Module& module, Stand stand);
// Each of these, where that is possible. False: nowhere.
bool Replace(Module& module, std::span<const int> ids, Stand stand);

int64_t OutputCount(const Module& module);  // Elements of the tuple at the end of the entry; 1 where there is none.
bool DropOutputs(Module& module, std::span<const int> outputs);

// Calls, fusions, loops and branches that may be what is in them.
std::vector<int> Flattenable(const Module& module);
// The body in their place: of a loop once, of a conditional that of branch `branch`.
bool Flatten(Module& module, std::span<const int> ids, size_t branch);

// What is said of instructions beside what they compute; layouts; plans.
enum class Remark : uint8_t { kMetadata, kConfig, kPlan, kSharding, kLayout, kPrecision };
bool ForgetRemarks(Module& module, Remark remark);

// Sizes of dimensions that there are, the largest first.
std::vector<int64_t> SizesOf(const Module& module);
// Every dimension of size `from` gets size `to`; with `multiples`, those of k * from get k * to. What follows from
// operands is inferred, so that a slice or a window fits.
bool Resize(Module& module, int64_t from, int64_t to, bool multiples);
// Every array of type `from` gets type `to`.
bool Retype(Module& module, PrimitiveType from, PrimitiveType to);

// After an edit: what is dead or not called goes, and parameters that nobody reads; the header says nothing of the
// entry's parameters and results. The schedule is one again.
void Tidy(Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_EDITS_H_
