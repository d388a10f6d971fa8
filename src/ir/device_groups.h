// Which devices an instruction names: groups of collectives in their three spellings and what their ids count, and the
// pairs of send and recv: docs/language.md#replica-groups, docs/ops.md#collectives.
#ifndef HLO_IR_DEVICE_GROUPS_H_
#define HLO_IR_DEVICE_GROUPS_H_

#include <string_view>
#include <utility>
#include <vector>

#include "ir/attrs.h"

namespace hlo {

class Instruction;

// What the ids in the groups of an instruction with CollectiveAttrs are.
GroupMode GroupModeOf(const Instruction& inst);

std::vector<int64_t> Listed(const DeviceOrder& order);
// The groups one by one, as many ids as they name; none for {}, which means one group of all.
std::vector<std::vector<int64_t>> ListGroups(const ReplicaGroups& groups);

// {{0,1},{1,2}}, the value of the frontend attribute kSendRecvPairs: the devices of a send and its recv.
constexpr const char* kSendRecvPairs = "_xla_send_recv_source_target_pairs";
using DevicePairs = std::vector<std::pair<int64_t, int64_t>>;
DevicePairs ReadDevicePairs(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_DEVICE_GROUPS_H_
