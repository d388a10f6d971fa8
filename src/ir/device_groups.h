// The devices that an instruction names: groups of collectives, and pairs of send and recv. See
// docs/language.md#replica-groups and docs/ops.md#collectives.
#ifndef HLO_IR_DEVICE_GROUPS_H_
#define HLO_IR_DEVICE_GROUPS_H_

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/attrs.h"

namespace hlo {

class Instruction;

GroupMode GroupModeOf(const Instruction& inst);
// The number of ids that the groups of this mode name together: all replicas, partitions or devices.
int64_t IdsOf(int64_t replicas, int64_t partitions, GroupMode mode);

std::vector<int64_t> Listed(const DeviceOrder& order);
// The list is empty for {}, which means one group of all devices.
std::vector<std::vector<int64_t>> ListGroups(const ReplicaGroups& groups);

// The number of devices in each group, without listing them. nullopt if groups differ in size. The instruction must
// have CollectiveAttrs.
std::optional<int64_t> GroupSizeOf(const Instruction& inst);

// The largest id in groups or pairs of a collective, plus 1. 0 if unknown.
int64_t DevicesNamed(const Instruction& inst);

// The frontend attribute with sources and targets of a send and its recv, such as {{0,1},{1,2}}.
constexpr const char* kSendRecvPairs = "_xla_send_recv_source_target_pairs";
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;
DevicePairs ReadDevicePairs(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_DEVICE_GROUPS_H_
