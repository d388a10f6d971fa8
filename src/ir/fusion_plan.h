// A fusion plan describes the kernels of a fusion. It is part of the fusion's backend_config:
//
//   fusion.3 = f32[64]{0} fusion(x), kind=kInput, calls=..., backend_config={"plan":{"target":"h200","kernels":[
//       {"kind":"row_reduction","heroes":["sum.3"],"tile":[8,128],"vector":4,"threads":256}]}}
//
//   made by      planners (gpu/plan), one for each kind in kernel_kinds.def; autotuning; a person with an editor
//   obeyed by    emitters (gpu/emitters) and the compiler, which choose nothing themselves
//   read by      the memory plan, dumps, reports, the next run: `hlo-opt --stage=hlo-backend m.hlo | hlo-run -`
//
// A plan holds only choices. Blocks, buffers and loop bounds follow from the fusion and the plan. Omitted fields have
// the defaults of KernelPlan. Errors: a plan that does not fit its fusion (C001) or is for another device (C002).
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
std::string_view ToString(KernelKind kind);
bool IsOwnKernel(KernelKind kind);  // False for fills and library calls.

struct KernelPlan {
  KernelKind kind = KernelKind::kLoop;
  // Results that the kernel writes. Empty means all.
  std::vector<int64_t> roots;
  // The kernel only copies the updated array into the result of the scatter that the next kernel computes.
  bool operand = false;
  // Writes only updated elements, in the memory of the updated operand.
  bool in_place = false;
  // Names of instructions in the fused computation. Empty outside a fusion.
  std::vector<std::string> heroes;
  // For kind rows: instructions whose values stay in shared memory or registers for later passes over the row.
  std::vector<std::string> kept;
  // Set for a scan of several blocks: the kernel writes only the totals of parts, for the next kernel.
  bool totals = false;
  std::vector<int64_t> tile;  // Sizes, as in kernel_kinds.def.
  int64_t vector = 1;         // Adjacent elements that a thread processes together.
  int64_t threads = 1;
  int64_t splits = 1;  // Blocks that share one reduction, scan or loop.
  int64_t unroll = 1;  // Loop steps whose loads overlap.
  int64_t stages = 1;  // Tiles of an operand that are in shared memory together.
  std::string library, algorithm;
  int64_t workspace = 0;  // Bytes of scratch memory.

  bool operator==(const KernelPlan&) const = default;
};

struct FusionPlan {
  std::string target;  // A DeviceDescription::name. Empty means any.
  std::vector<KernelPlan> kernels;
  std::string slow;  // Reason for a slow, generic plan.
  // Refusals of libraries: "oneDNN: its input is dilated". The compiler fills this in.
  std::vector<std::string> refused;

  bool operator==(const FusionPlan&) const = default;
};

std::string ToJson(const FusionPlan& plan);
std::string ToJson(const KernelPlan& plan);

// Errors (C001, at the backend_config): malformed JSON, an unknown kind or field, a number out of range.
Result<std::optional<FusionPlan>> ReadPlan(const Instruction& inst);
// Keeps other keys of the backend_config. Does nothing if it is not a JSON object.
void SetPlan(Instruction& inst, const FusionPlan& plan);
bool HasPlan(const Instruction& inst);
void RemovePlans(Module& module);

// The error "the plan of 'fusion.3' does not fit: ...". Its place is the text of the plan, or the instruction if a
// planner made the plan.
Error PlanError(const Instruction& inst, std::string_view why);

}  // namespace hlo

#endif  // HLO_IR_FUSION_PLAN_H_
