#include "driver/run/platform.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "driver/target.h"
#include "ir/instruction.h"
#include "ir/markers.h"
#include "ir/mesh/unpartitioned.h"

namespace hlo {
namespace {

// An op that communicates or depends on the device, or null.
const Instruction* FindDeviceOp(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      const bool channel = inst->Is(Opcode::kSend) || inst->Is(Opcode::kRecv);
      const bool splits = MarkerOf(*inst) == Marker::kShard || MarkerOf(*inst) == Marker::kWhole;
      if (channel ? !inst->attrs<ChannelAttrs>().is_host_transfer
                  : inst->Is(kCollective) || inst->Is(Opcode::kReplicaId) || inst->Is(Opcode::kPartitionId) ||
                        (splits && !IsIdentityMarker(*inst)))
        return inst;
    }
  }
  return nullptr;
}

std::string DevicesText(const ModuleHeader& header) {
  return Str(header.replica_count, header.replica_count == 1 ? " replica" : " replicas", " and ", header.num_partitions,
             header.num_partitions == 1 ? " partition" : " partitions");
}

// A note for a module with several devices whose instructions do not depend on the device.
std::string NoteOnDevices(const Module& module) {
  const ModuleHeader& header = module.header;
  if (!IsUnpartitioned(module))
    return Str("the module is for ", DevicesText(header),
               ", which do not depend on each other, so only one of them runs");
  const std::string_view whole = "the module is not partitioned, so one device runs the whole program";
  if (!SplitsArrays(module)) return std::string(whole);
  return Str(whole, "; only the oracle 'partition' judges the program for its ",
             header.replica_count * header.num_partitions, " devices");
}

// Deeply nested control flow has too many pairs of live values for the buffer planner. Calls are inlined before.
Status CheckNesting(const Module& module, int64_t max_depth) {
  std::unordered_map<const Computation*, int64_t> levels;
  for (const Computation* computation : module.PostOrder()) {
    int64_t& level = levels[computation];
    for (const Instruction* inst : computation->Instructions()) {
      const bool branches = inst->Is(Opcode::kWhile) || inst->Is(Opcode::kConditional);
      for (const Computation* callee : CalledComputations(*inst)) level = std::max(level, levels[callee] + branches);
    }
    if (level < max_depth) continue;
    FAIL(LimitError("R005", Str("loops and branches are nested deeper than ", max_depth, " levels in '",
                                computation->name(), "'"))
             .RaisedBy("max_depth"));
  }
  return {};
}

}  // namespace

bool MustInterpret(const Module& module, const std::string& platform, std::vector<std::string>* notes) {
  const PlatformKind kind = KindOfPlatform(platform);
  if (kind != PlatformKind::kAuto) return kind == PlatformKind::kInterpreter;
  const ModuleHeader& header = module.header;
  if (header.replica_count == 1 && header.num_partitions == 1) return false;
  const Instruction* inst = FindDeviceOp(module);
  if (inst == nullptr) return false;
  notes->push_back(Str("kernels run on one device, but '", inst->name(), "' needs ", DevicesText(header),
                       ", so the module runs in the interpreter"));
  return true;
}

Status CheckKernelsSuffice(const Module& module, int64_t max_depth, std::vector<std::string>* notes) {
  const ModuleHeader& header = module.header;
  if (header.replica_count != 1 || header.num_partitions != 1) {
    if (const Instruction* inst = FindDeviceOp(module); inst != nullptr) {
      FAIL(UnsupportedAt(*inst, "U102",
                         Str("'", inst->opcode(), "' needs ", DevicesText(header), ", but kernels run on one device"))
               .Advise("platform=interpreter", "runs all devices"));
    }
    notes->push_back(NoteOnDevices(module));
  }
  return CheckNesting(module, max_depth);
}

}  // namespace hlo
