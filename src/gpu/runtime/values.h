// The values in memory when a prepared module runs, and their lives.
//
// A *value* is an array that an instruction computes or that control flow carries (the state of a `while`, the result
// of a `conditional`). Each leaf of each instruction refers to a value. Views share their operand's.
//
// Time is a line of positions: one for each step in run order, and more for control flow:
//
//   while: E (state written) | condition | predicate read | body | B (state written again)
//   conditional: selector read | branch 0 | B0 (result written) | branch 1 | B1 | ...
//
// A position has four units. The step at p needs its operands until 4p + 2 and its results from 4p + 1: they overlap.
//
// A value that is defined before a loop and used in it lives until the end of the loop. A loop's state is not live
// between its last use in the body and B, so the next state may use its memory.
#ifndef HLO_GPU_RUNTIME_VALUES_H_
#define HLO_GPU_RUNTIME_VALUES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo::gpu {

struct Interval {
  int64_t begin, end;  // Both inclusive.
};

enum class ValueKind : uint8_t {
  kParameter,  // A parameter of the entry. `leaf` counts the leaves of all parameters.
  kConstant,
  kComputed,
  kState,  // Written by copies at the positions of `merges`, or in place.
  kScratch,
};

struct BufferedValue {
  ValueKind kind;
  const Instruction* definition;  // For kState, the `while` or `conditional`.
  int leaf;
  const Shape* shape;
  int64_t bytes;
  int loop;  // The innermost loop. -1 for none.
  int64_t position;
  bool is_output = false;
  std::vector<Interval> live;  // Sorted, disjoint.
};

// At `position`, the value `from` becomes the state `to`, in place or by a copy.
struct Merge {
  int64_t position;
  int from, to;
};

// Leaves of an operand and of the result that may share a buffer, because each thread reads an element before it writes
// the same position.
struct Share {
  int64_t operand;
  int operand_leaf, result_leaf;
  bool must;  // The buffer must hold the operand, because the step does not write all elements.
};
using ShareTable = std::unordered_map<const Instruction*, std::vector<Share>>;

struct InPlace {
  int64_t position;
  int operand, result;
  bool may;  // The step reads the operand only through leaves that may share.
  bool must;
};

struct Values {
  std::vector<BufferedValue> values;
  std::vector<std::vector<int>> of_instruction;  // Indexed by id and leaf.
  std::vector<Merge> merges;
  std::vector<InPlace> in_place;
  // Indexed by id. A step: its position. A `while`: E. A conditional: where the selector is read. Otherwise -1.
  std::vector<int64_t> position_of;
  std::vector<std::vector<int64_t>> ends_of;  // Indexed by id: {B} for while, {B0, B1, ...} for conditional.
  int64_t positions = 0;
};

// `module` must come from Prepare.
Values FindValues(const Module& module, const ShareTable& shares);

// Adds a value that lives only during the step at `position`.
int AddScratch(Values& values, const Instruction& inst, int64_t position, int64_t bytes);

// The number of the leaf at `index`, in the order of ForEachLeaf.
int LeafNumber(const Shape& shape, const ShapeIndex& index);

constexpr Interval kNever = {0, -1};
// Whether two lives have common units that are in neither of the two allowed intervals.
bool Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b, Interval allowed = kNever,
             Interval also_allowed = kNever);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_VALUES_H_
