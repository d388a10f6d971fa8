// Loops in thread bodies, outside the loop over lanes: a pass of the host lowering.
//
// The body of a phase or tile is cut at loops whose bounds are the same for all lanes. What lies between the cuts is a
// group: a loop over the lanes of a strip. Values that cross from group to group are computed again when they are index
// arithmetic, and kept in arrays of one element per lane otherwise; so are the variables. What is the same for all
// lanes is computed once, outside.
#ifndef HLO_GPU_KERNEL_HOST_STRIPS_H_
#define HLO_GPU_KERNEL_HOST_STRIPS_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "gpu/kernel/host/facts.h"
#include "gpu/kernel/host/segments.h"

namespace hlo::kernel {

// Longer loops with the same bounds in all lanes run outside the loop over lanes, for so many lanes at a time.
constexpr int64_t kStrip = 128;

struct StripPlan {
  bool needed = false;        // Else nothing below is set: the body has no such loop.
  std::vector<bool> varying;  // By value: differs between lanes.
  std::vector<int> group_of;  // By value: where a varying value is defined; 0: not in a group.
  std::unordered_map<const Instruction*, int> group_of_member;
  std::vector<const Instruction*> definition;  // By value.
  std::vector<int32_t> kept_values;            // In arrays.
  std::vector<int32_t> kept_variables;
};

// `segments`: of the tile, null for a phase.
StripPlan PlanStrips(const HostFacts& facts, const Region& body, const SegmentPlan* segments);

// What is to be done with an instruction of a body that is cut.
enum class StripPart : uint8_t {
  kMember,   // Of a group: in a loop over the lanes.
  kUniform,  // Once for the strip, outside the loops over lanes.
  kCut,      // The body is cut here.
};
StripPart PartOf(const HostFacts& facts, const StripPlan& plan, const Instruction& instruction);

// Visits cuts, instructions of the strip and groups in order. Planning and emission go the same way, so that groups
// have the same numbers in both.
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

#endif  // HLO_GPU_KERNEL_HOST_STRIPS_H_
