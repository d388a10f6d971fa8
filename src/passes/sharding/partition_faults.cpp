#include "passes/sharding/partition_faults.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "ir/device_groups.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

// Returns false without a change if the fault does not fit.
using PlantFault = bool (*)(Instruction& inst);

// Each device keeps its own term of a sum.
bool DroppedSum(Instruction& inst) {
  if (!inst.Is(Opcode::kAllReduce)) return false;
  const ModuleHeader& header = inst.module().header;
  std::vector<std::vector<int64_t>> groups(header.replica_count * header.num_partitions);
  for (size_t device = 0; device < groups.size(); ++device) groups[device] = {static_cast<int64_t>(device)};
  inst.mutable_attrs<CollectiveAttrs>().replica_groups = {.groups = std::move(groups)};
  return true;
}

// Each device sends to the neighbour of the right device.
bool WrongNeighbour(Instruction& inst) {
  if (!inst.Is(Opcode::kCollectivePermute)) return false;
  auto& pairs = inst.mutable_attrs<PermuteAttrs>().source_target_pairs;
  if (pairs.size() < 2) return false;
  const int64_t first = pairs.front()[1];
  for (size_t i = 0; i + 1 < pairs.size(); ++i) pairs[i][1] = pairs[i + 1][1];
  pairs.back()[1] = first;
  return true;
}

// The first devices of two groups change places.
bool WrongGroup(Instruction& inst) {
  if (!inst.Is(kCollective) || inst.attributes().GetIf<CollectiveAttrs>() == nullptr) return false;
  auto groups = ListGroups(inst.attrs<CollectiveAttrs>().replica_groups);
  if (groups.size() < 2) return false;
  std::swap(groups[0][0], groups[1][0]);
  inst.mutable_attrs<CollectiveAttrs>().replica_groups.groups = std::move(groups);
  return true;
}

// The devices count their parts from the last one.
bool WrongDigit(Instruction& inst) {
  if (!inst.Is(Opcode::kPartitionId)) return false;
  Computation& computation = inst.computation();
  const int64_t last = computation.module().header.num_partitions - 1;
  Instruction& constant = computation.AddConstant(Literal::Scalar(PrimitiveType::kU32, last));
  Instruction& reversed = computation.AddLike(inst, Opcode::kSubtract, inst.shape(), {&constant, &constant});
  inst.ReplaceAllUses(reversed);
  reversed.SetOperand(1, inst);
  return true;
}

bool DependsOnDevice(const Instruction& inst, std::set<int>* seen) {
  if (inst.Is(Opcode::kPartitionId)) return true;
  return std::ranges::any_of(inst.operands(), [&](const Instruction* operand) {
    return seen->insert(operand->id()).second && DependsOnDevice(*operand, seen);
  });
}

// Elements that are not in the device's part stay.
bool ForgottenMask(Instruction& inst) {
  std::set<int> seen;
  const bool is_mask = inst.Is(Opcode::kSelect) && DependsOnDevice(inst.operand(0), &seen);
  if (!is_mask) return false;
  inst.SetOperand(2, inst.operand(1));
  return true;
}

constexpr std::pair<std::string_view, PlantFault> kFaults[] = {{"dropped_sum", DroppedSum},
                                                               {"forgotten_mask", ForgottenMask},
                                                               {"wrong_digit", WrongDigit},
                                                               {"wrong_group", WrongGroup},
                                                               {"wrong_neighbour", WrongNeighbour}};

}  // namespace

void PlantPartitionFault(Module& module, std::string_view fault) {
  for (const auto& [name, plant] : kFaults) {
    if (name != fault) continue;
    for (Computation* computation : module.PostOrder()) {
      if (std::ranges::any_of(computation->PostOrder(), [&](Instruction* inst) { return plant(*inst); })) return;
    }
  }
}

}  // namespace hlo
