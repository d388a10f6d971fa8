// Edits that make a module smaller. The resulting module may be invalid and may no longer fail, so the caller verifies
// and tries it. Instruction ids are kept.
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

// The replacement of an instruction.
enum class Stand : uint8_t {
  kOperand,    // Its first operand with the same shape.
  kParameter,  // A new parameter; only in the entry.
  kShared,     // The first parameter with the same shape; only in the entry.
  kZero,       // All elements are 0.
  kOne,
};

// Compared by the number of operations, then of other instructions and elements, then of characters.
using ModuleSize = std::tuple<int64_t, int64_t, size_t>;
ModuleSize SizeOf(const Module& module, size_t characters);
int64_t ElementCount(const Module& module);  // Over all values.

// Ids of instructions that can be replaced, by computation with the entry first, users after operands.
std::vector<int> Replaceable(const Module& module, Stand stand);
// Replaces these instructions where possible. Returns whether any was replaced.
bool Replace(Module& module, std::span<const int> ids, Stand stand);

int64_t OutputCount(const Module& module);  // Elements of the entry's result tuple; 1 if it is not a tuple.
bool DropOutputs(Module& module, std::span<const int> outputs);

// Calls, fusions, loops and conditionals that can be replaced by their contents.
std::vector<int> Flattenable(const Module& module);
// Inlines their bodies: a loop's once, and of a conditional branch `branch`.
bool Flatten(Module& module, std::span<const int> ids, size_t branch);

// Annotations of instructions beside their operation; also layouts and plans.
enum class Remark : uint8_t { kMetadata, kConfig, kPlan, kSharding, kLayout, kPrecision };
bool ForgetRemarks(Module& module, Remark remark);

// The sizes of dimensions in the module, the largest first.
std::vector<int64_t> SizesOf(const Module& module);
// Changes every dimension of size `from` to `to`, and with `multiples` also k * from to k * to. Infers dependent
// shapes, so that slices and windows fit.
bool Resize(Module& module, int64_t from, int64_t to, bool multiples);
// Changes every array of type `from` to type `to`.
bool Retype(Module& module, PrimitiveType from, PrimitiveType to);

// Cleans up after an edit: removes dead instructions, uncalled computations and unused parameters, removes the entry's
// layout from the header, and restores a valid schedule.
void Tidy(Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_EDITS_H_
