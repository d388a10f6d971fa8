// The fusion plan: what a fusion is, as a value that stands on it, prints, parses back and is obeyed.
//
//   fusion.3 = f32[64]{0} fusion(x), kind=kInput, calls=..., backend_config={"plan":{"target":"h200","kernels":[
//       {"kind":"row_reduction","heroes":["sum.3"],"tile":[8,128],"vector":4,"threads":256}]}}
//
//   who makes it   planners (gpu/plan), one for each kind of kernel_kinds.def, from the fusion and a device
//                  description;
//                  a person with an editor; whoever measures
//   who obeys it   emitters (gpu/emitters) and the compiler: they take (fusion, plan) and choose nothing themselves
//   who reads it   the memory plan, dumps, reports, the next run: `hlo-opt --stage=hlo-backend m.hlo | hlo-run -`
//
// A plan says what could have been chosen otherwise: kinds, heroes, tiles, widths. What follows from the fusion and the
// plan (blocks, buffers, loop bounds) is worked out from them, by pure functions. A plan that does not fit its fusion
// is an error at its text (C001), as is one for another device (C002). Numbers that are left out are 1.
//
// Whoever changes what a fusion computes removes its plan (RemovePlans).
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
bool IsOwnKernel(KernelKind kind);           // Else a fill or a library call.

// One launch of a kernel, or one call of a library.
struct KernelPlan {
  KernelKind kind = KernelKind::kLoop;
  // Which arrays of the fusion's result it writes, by number; empty: all.
  std::vector<int64_t> roots;
  // It copies the first operand of the scatter that comes next into its result.
  bool operand = false;
  // It writes only what changes: the rest of the result is the operand of the update, left where it is.
  bool in_place = false;
  // Instructions of the fused computation whose kind it is; empty where the instruction stands outside a fusion.
  std::vector<std::string> heroes;
  // Of stitched rows: instructions whose elements stay on chip until later passes over the row have read them.
  std::vector<std::string> kept;
  // Of a scan that blocks share: it leaves what each of their parts comes to, from which the next kernel goes on.
  bool totals = false;
  std::vector<int64_t> tile;  // What a block takes at a time; kernel_kinds.def says of what.
  int64_t vector = 1;         // Neighbouring elements of one thread.
  int64_t threads = 1;        // Of a block.
  int64_t splits = 1;         // Blocks that share one reduction, scan or loop.
  int64_t unroll = 1;         // Steps whose loads are in flight together.
  int64_t stages = 1;         // Tiles of an operand in shared memory.
  std::string library, algorithm;
  int64_t workspace = 0;  // Bytes of scratch memory.

  bool operator==(const KernelPlan&) const = default;
};

struct FusionPlan {
  std::string target;               // The device that it was made for (DeviceDescription::name); empty: any.
  std::vector<KernelPlan> kernels;  // In the order in which they run.
  std::string slow;                 // Why this is a slow, generic form; empty: it is none.
  // Libraries that were asked first, each with its reason: "oneDNN: its input is dilated". Known once it is compiled.
  std::vector<std::string> refused;

  bool operator==(const FusionPlan&) const = default;
};

std::string ToJson(const FusionPlan& plan);
std::string ToJson(const KernelPlan& plan);

// The plan that stands on `inst`, a fusion, if any. Errors (C001, at its backend_config): malformed, an unknown kind or
// field, a number out of range.
Result<std::optional<FusionPlan>> ReadPlan(const Instruction& inst);
// Other keys of its backend_config stay. One that is no JSON object is left alone, without a plan.
void SetPlan(Instruction& inst, const FusionPlan& plan);
bool HasPlan(const Instruction& inst);
void RemovePlans(Module& module);

// At the plan of `inst`: "the plan of 'fusion.3' does not fit: ...". Where there is none (it is one that a planner
// made), at the instruction.
Error PlanError(const Instruction& inst, std::string_view why);

}  // namespace hlo

#endif  // HLO_IR_FUSION_PLAN_H_
