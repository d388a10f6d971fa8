// Values that may differ between partitions although no sharding says so, because they depend on partition-id.
#ifndef HLO_IR_MESH_DEVICE_VALUES_H_
#define HLO_IR_MESH_DEVICE_VALUES_H_

#include <vector>

namespace hlo {

class Instruction;
class Module;

// For each instruction, by id, a partition-id on which its value or an element of its value depends, or null. The
// results of collectives and of manual regions count as independent.
std::vector<const Instruction*> PartitionIdsOf(const Module& module);

}  // namespace hlo

#endif  // HLO_IR_MESH_DEVICE_VALUES_H_
