// What lives in memory when a prepared module runs, and from when to when.
//
// A *value* is one array that some instruction computes, or one that control flow carries: the state of a `while`, the
// result of a `conditional`. Views (tuple, get-tuple-element, bitcast, call, what a loop passes through unchanged) make
// no value of their own; each leaf of each instruction names the value it is.
//
// Time is a line of positions, one for each step, in which the steps of called computations stand where they are
// called:
//
//   while: E (state written) | condition | body | B (state written again)
//   conditional: branch 0 | B0 (result written) | branch 1 | B1 | ...
//
// A position takes four units: operands of the step at p are live until 4p + 2, results are live from 4p + 1. So what a
// step reads and what it writes touch, in [4p + 1, 4p + 2] only when the operand's life ends there.
//
// A value that is used inside a loop but computed outside of it lives to the end of the loop, since the loop comes
// back. The state of a loop has a hole, from its last use in the body to B: there the next state may take its place.
#ifndef HLO_GPU_RUNTIME_VALUES_H_
#define HLO_GPU_RUNTIME_VALUES_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace hlo::gpu {

struct Interval {
  int64_t begin, end;  // Both included.
};

enum class ValueKind : uint8_t {
  kParameter,  // Of the entry; `leaf` counts its leaves.
  kConstant,
  kComputed,
  kState,  // Written by copies at the points of `merges`, if not in place.
  kScratch,
};

struct Value {
  ValueKind kind;
  const Instruction* definition;  // For kState the while or conditional.
  int leaf;
  const Shape* shape;  // Of the leaf.
  int64_t bytes;
  int loop;          // The innermost loop that holds its definition; -1 for none.
  int64_t position;  // Of the definition.
  bool is_output = false;
  std::vector<Interval> live;  // Sorted, disjoint.
};

// At `position` the value `from` becomes the state `to`: they share memory, or a copy is made there.
struct Merge {
  int64_t position;
  int from, to;
};

// A leaf of an operand and a leaf of the result of a step that may be one buffer: each thread reads an element before
// it writes the one in the same place.
struct Share {
  int64_t operand;
  int operand_leaf, result_leaf;
  bool must;  // The step writes a part only (of a copy: nothing); the operand's bytes have to be there before.
};
using ShareTable = std::unordered_map<const Instruction*, std::vector<Share>>;

// The same of values.
struct InPlace {
  int64_t position;
  int operand, result;
  bool may;  // The step reads the operand through shareable leaves only.
  bool must;
};

struct Values {
  std::vector<Value> values;
  std::vector<std::vector<int>> of_instruction;  // By id, by leaf; empty for what is not on the line.
  std::vector<Merge> merges;
  std::vector<InPlace> in_place;
  std::vector<int64_t> position_of;  // By id; -1 for views. Of while E, of conditional where the selector is read.
  std::vector<std::vector<int64_t>> ends_of;  // By id: of while {B}, of conditional {B0, B1, ...}.
  int64_t positions = 0;
};

// `module` comes from Prepare.
Values FindValues(const Module& module, const ShareTable& shares);

// A value of the step at `position` alone. Returns its number.
int AddScratch(Values& values, const Instruction& inst, int64_t position, int64_t bytes);

// The number of a leaf, in the order of ForEachLeaf.
int LeafNumber(const Shape& shape, const ShapeIndex& index);

// Whether two lives have a common unit outside of both allowed intervals.
constexpr Interval kNever = {0, -1};
bool Overlap(const std::vector<Interval>& a, const std::vector<Interval>& b, Interval allowed = kNever,
             Interval also_allowed = kNever);

}  // namespace hlo::gpu

#endif  // HLO_GPU_RUNTIME_VALUES_H_
