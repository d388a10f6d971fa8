// The devices that meet in a collective, and their positions in a topology. Formulas of groups are never expanded, so
// the work does not grow with the number of devices.
#ifndef HLO_IR_MESH_EXCHANGE_GROUPS_H_
#define HLO_IR_MESH_EXCHANGE_GROUPS_H_

#include <cstdint>
#include <vector>

#include "ir/digits.h"
#include "ir/mesh/topology.h"

namespace hlo {

class Instruction;
class Module;

struct ExchangeGroups {
  // The members of a group differ in these digits of the device number. All groups are alike.
  std::vector<Digit> digits;
  // Without `digits`, the members of each group, or the source and target of each pair.
  std::vector<std::vector<int64_t>> listed;

  // The size of the largest group.
  int64_t Members() const;
  // The most members that a group has on each level: {8, 4} are four nodes with eight members each. Members that divide
  // unevenly over nodes count as evenly spread. The topology must be from Topology::For.
  std::vector<int64_t> MembersAtLevels(const Topology& topology) const;
  // The groups after the number of devices grew from `devices` to `times` as many. The major digit of the device number
  // grows, and with it the groups whose members differ in this digit.
  ExchangeGroups Grown(int64_t devices, int64_t times) const;
};

// For an instruction with CollectiveAttrs or PermuteAttrs.
ExchangeGroups ExchangeGroupsOf(const Instruction& inst);

// The number of devices of the header, or more if a collective names more.
int64_t DevicesOf(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_MESH_EXCHANGE_GROUPS_H_
