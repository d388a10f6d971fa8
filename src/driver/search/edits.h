// Edits that make a module smaller and keep instruction ids. The caller must verify the result.
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
  kOperand,    // The first operand with the same shape.
  kParameter,  // A new parameter, only in the entry.
  kShared,     // The first parameter with the same shape, only in the entry.
  kZero,
  kOne,
};

// Compared in order: a weighted count of instructions, the number of elements, the number of characters.
using ModuleSize = std::tuple<int64_t, int64_t, size_t>;
ModuleSize SizeOf(const Module& module, size_t characters);
int64_t ElementCount(const Module& module);

// Ids of instructions that have this replacement, the entry first, operands before users.
std::vector<int> Replaceable(const Module& module, Stand stand);
bool Replace(Module& module, std::span<const int> ids, Stand stand);

int64_t OutputCount(const Module& module);  // 1 if the entry's result is not a tuple.
bool DropOutputs(Module& module, std::span<const int> outputs);

// Calls, fusions, loops and conditionals.
std::vector<int> Flattenable(const Module& module);
// Inlines branch `branch` of conditionals. If it is 0, also inlines calls and fusions, and replaces a loop by one
// execution of its body.
bool Flatten(Module& module, std::span<const int> ids, size_t branch);

enum class Remark : uint8_t { kMetadata, kConfig, kPlan, kSharding, kLayout, kPrecision };
bool ForgetRemarks(Module& module, Remark remark);

// Dimension sizes above 1, the largest first.
std::vector<int64_t> SizesOf(const Module& module);
// Changes dimensions of size `from` to `to`, and with `multiples` k * from to k * to. Infers dependent shapes, so that
// slices and windows fit.
bool Resize(Module& module, int64_t from, int64_t to, bool multiples);
bool Retype(Module& module, PrimitiveType from, PrimitiveType to);

// Removes dead instructions, uncalled computations, and unused parameters and header data of the entry, and restores a
// valid schedule.
void Tidy(Module& module);

}  // namespace hlo

#endif  // HLO_DRIVER_SEARCH_EDITS_H_
