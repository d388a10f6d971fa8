// The devices that meet in a collective, and their positions in a topology. Formulas of groups stay formulas: the work
// does not grow with the number of devices.
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
  // Otherwise the members of each group, or the source and target of each pair. Empty if there are `digits`.
  std::vector<std::vector<int64_t>> listed;

  // The size of the largest group. 1 if each device meets only itself.
  int64_t Members() const;
  // The most members that a group has on each level: {8, 4} are four nodes with eight members each. If members do not
  // divide evenly over nodes, they count as evenly spread. The topology must be from For.
  std::vector<int64_t> MembersAtLevels(const Topology& topology) const;
  // The groups of a program for `times` as many devices, if the major digit of the device number becomes longer.
  // Members of a group that differ in this digit become more. Other groups stay. `devices` is the number of devices
  // before.
  ExchangeGroups Grown(int64_t devices, int64_t times) const;
};

// For an instruction with CollectiveAttrs or PermuteAttrs.
ExchangeGroups ExchangeGroupsOf(const Instruction& inst);

// The number of devices of the header, or more if a collective names more.
int64_t DevicesOf(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_MESH_EXCHANGE_GROUPS_H_
