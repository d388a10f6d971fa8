// Which elements of each instruction a slice computes. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_SLICE_PLAN_H_
#define HLO_JUDGE_BOUNDS_SLICE_PLAN_H_

#include <cstdint>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "judge/bounds/dot_lines.h"
#include "judge/bounds/slice.h"
#include "judge/bounds/slice_sources.h"

namespace hlo::shadow {

struct Places {
  bool all = false;
  Indices at;  // Null if `all`. Sorted when the plan is complete.

  void Add(const Indices& more);
};

void MakeAscending(Indices& at, int64_t count);

using Instructions = std::unordered_set<const Instruction*>;
template <typename Value>
using OfInstruction = std::unordered_map<const Instruction*, Value>;

struct SlicePlan {
  const Cone* cone = nullptr;
  std::vector<std::vector<int64_t>> points;  // For each output.
  std::vector<const Instruction*> outputs;
  std::vector<Instruction*> order;
  OfInstruction<Places> places;
  Instructions made_whole;
  OfInstruction<Origins> origins;
  OfInstruction<Landings> landings;
  OfInstruction<Indices> terms;
  OfInstruction<DotLines> lines;
  int64_t steps = 0;
};

std::vector<const Instruction*> OutputsOf(const Cone& cone);
Result<SlicePlan> PlanSlice(const Cone& cone, std::vector<std::vector<int64_t>> points);

// Whether element i needs element i of each operand, and scalars.
bool HasSameIndex(const Instruction& inst);
bool IsPlainReduce(const Instruction& inst);

// An argument of two slices, with the elements that either needs. Keys: ConeArgument::key.
struct SharedArgument {
  const Literal* literal = nullptr;
  Places places;
};
using SharedArguments = std::map<int, SharedArgument>;

// With `shared`, the slice has one parameter for each of these arguments, in their order.
Slice BuildSlice(SlicePlan plan, const SharedArguments& shared = {});

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_SLICE_PLAN_H_
