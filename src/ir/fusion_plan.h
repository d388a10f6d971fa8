// A fusion plan describes the kernels of a fusion. It is stored in the fusion's backend_config, so it prints and
// parses:
//
//   fusion.3 = f32[64]{0} fusion(x), kind=kInput, calls=..., backend_config={"plan":{"target":"h200","kernels":[
//       {"kind":"row_reduction","heroes":["sum.3"],"tile":[8,128],"vector":4,"threads":256}]}}
//
//   made by      planners (gpu/plan), one for each kind in kernel_kinds.def; autotuning; a person with an editor
//   obeyed by    emitters (gpu/emitters) and the compiler, which take (fusion, plan) and choose nothing themselves
//   read by      the memory plan, dumps, reports, the next run: `hlo-opt --stage=hlo-backend m.hlo | hlo-run -`
//
// A plan holds only choices: kinds, heroes, tiles, vector widths. Blocks, buffers and loop bounds are computed from the
// fusion and the plan by pure functions. Numbers that are omitted are 1. A plan that does not fit its fusion is an
// error at its text (C001), and so is a plan for another device (C002).
//
// A pass that changes the value of a fusion must remove its plan (RemovePlans).
#ifndef HLO_IR_FUSION_PLAN_H_
#define HLO_IR_FUSION_PLAN_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/instruction.h"

namespace hlo {

class Module;

enum class KernelKind : uint8_t {
#define KERNEL_KIND(Name, text, fields, what) k##Name,
#include "ir/kernel_kinds.def"
};
std::string_view ToString(KernelKind kind);  // "row_reduction"
bool IsOwnKernel(KernelKind kind);           // False for a fill and library calls.

// One launch of a kernel, or one call of a library.
struct KernelPlan {
  KernelKind kind = KernelKind::kLoop;
  // Numbers of the result arrays that the kernel writes; empty means all.
  std::vector<int64_t> roots;
  // The kernel copies the first operand of the scatter that runs next into the scatter's result.
  bool operand = false;
  // The kernel writes only the updated elements. The result shares the memory of the updated operand.
  bool in_place = false;
  // Names of the heroes in the fused computation. Empty for an instruction outside a fusion.
  std::vector<std::string> heroes;
  // For stitched rows: instructions whose elements stay in shared memory or registers for later passes over the row.
  std::vector<std::string> kept;
  // For a scan that several blocks share: the kernel writes only the total of each part, which the next kernel reads.
  bool totals = false;
  std::vector<int64_t> tile;  // Elements of a block at a time; the meaning of each entry is in kernel_kinds.def.
  int64_t vector = 1;         // Adjacent elements of one thread.
  int64_t threads = 1;        // Threads of a block.
  int64_t splits = 1;         // Blocks that share one reduction, scan or loop.
  int64_t unroll = 1;         // Steps whose loads overlap.
  int64_t stages = 1;         // Tiles of an operand in shared memory.
  std::string library, algorithm;
  int64_t workspace = 0;  // Scratch memory in bytes.

  bool operator==(const KernelPlan&) const = default;
};

struct FusionPlan {
  std::string target;               // DeviceDescription::name of the target device; empty means any.
  std::vector<KernelPlan> kernels;  // In order of execution.
  std::string slow;                 // The reason for a slow, generic plan, or empty.
  // Libraries that refused the fusion, with the reason: "oneDNN: its input is dilated". Filled in by the compiler.
  std::vector<std::string> refused;

  bool operator==(const FusionPlan&) const = default;
};

std::string ToJson(const FusionPlan& plan);
std::string ToJson(const KernelPlan& plan);

// The plan of `inst`, if it is a fusion with a plan. Errors (C001, at its backend_config): malformed JSON, an unknown
// kind or field, a number out of range.
Result<std::optional<FusionPlan>> ReadPlan(const Instruction& inst);
// Keeps the other keys of the backend_config. Does nothing if the backend_config is not a JSON object.
void SetPlan(Instruction& inst, const FusionPlan& plan);
bool HasPlan(const Instruction& inst);
void RemovePlans(Module& module);

// An error "the plan of 'fusion.3' does not fit: ...". Its place is the text of the plan, or the instruction if the
// plan came from a planner.
Error PlanError(const Instruction& inst, std::string_view why);

}  // namespace hlo

#endif  // HLO_IR_FUSION_PLAN_H_
