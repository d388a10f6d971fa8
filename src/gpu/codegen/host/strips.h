// A pass of the host lowering that moves loops in thread bodies outside the loop over lanes.
//
// The body of a phase or tile is cut at loops that are not unrolled and have the same bounds in all lanes. The code
// between two cuts is a *group*: a loop over the kStrip lanes of a strip. Each group repeats the index arithmetic that
// it needs. Other values that several groups use are stored in arrays with one element per lane. Uniform values are
// computed once, outside of groups.
#ifndef HLO_GPU_CODEGEN_HOST_STRIPS_H_
#define HLO_GPU_CODEGEN_HOST_STRIPS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gpu/codegen/host/segments.h"
#include "gpu/kernel/facts.h"

namespace hlo::kernel {

constexpr int64_t kStrip = 128;

struct StripPlan {
  bool needed = false;        // If false, nothing else is set.
  std::vector<bool> varying;  // Whether lanes differ. Indexed by value.
  std::vector<int> group_of;  // The defining group. Indexed by value; 0 if none.
  std::unordered_map<const Instruction*, int> group_of_member;
  std::vector<const Instruction*> definition;  // The defining instruction. Indexed by value.
  std::vector<int32_t> kept_values;            // Values stored in arrays.
  std::vector<int32_t> kept_variables;
};

// `segments` is null for a phase.
StripPlan PlanStrips(const HostFacts& facts, const Region& body, const SegmentPlan* segments);

enum class StripPart : uint8_t {
  kMember,   // Part of a group.
  kUniform,  // Emitted once for the strip.
  kCut,      // A loop around groups, or a branch that contains such a loop.
};
StripPart PartOf(const HostFacts& facts, const StripPlan& plan, const Instruction& instruction);

// Calls `uniform`, `group` and `cut` for the parts of the region, in order. Planning and emission share this function,
// so that group numbers agree.
template <class Uniform, class Group, class Cut>
void WalkStrip(const HostFacts& facts, const StripPlan& plan, const Region& region, Uniform uniform, Group group,
               Cut cut) {
  std::vector<const Instruction*> members;
  const auto flush = [&] {
    if (!members.empty()) group(members);
    members.clear();
  };
  for (const Instruction& instruction : region.body) {
    switch (PartOf(facts, plan, instruction)) {
      case StripPart::kMember: members.push_back(&instruction); break;
      case StripPart::kUniform: uniform(instruction); break;
      case StripPart::kCut: flush(); cut(instruction);
    }
  }
  flush();
}

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_HOST_STRIPS_H_
