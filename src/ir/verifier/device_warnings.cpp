// Warnings about programs for several devices.
#include <set>

#include "base/text.h"
#include "ir/frontend_attributes.h"
#include "ir/mesh/axes.h"
#include "ir/mesh/device_values.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/shardy_text.h"
#include "ir/mesh/stated_shardings.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/source_parts.h"
#include "ir/verifier/checks.h"

namespace hlo {
namespace {

std::string_view AttributeOf(StatedBy by) { return by == StatedBy::kSharding ? "sharding" : "frontend_attributes"; }

void WarnOfPadding(Findings& findings, const Instruction& inst, const Shape& leaf, const StatedSharding& stated,
                   const Axes& axes) {
  constexpr double kMostPadding = 0.1;
  const auto split = axes.Read(stated.sharding, leaf.rank());
  if (!split || leaf.NumElements() == 0) return;
  const Shape part = axes.LocalShape(leaf, *split);
  const int64_t parts = axes.SizeOf(split->InDims());
  const double elements = static_cast<double>(part.NumElements()) * static_cast<double>(parts);
  const double more = elements / static_cast<double>(leaf.NumElements()) - 1;
  if (more <= kMostPadding) return;
  findings.Add(inst, ErrorAtAttribute(inst, AttributeOf(stated.by), "W016",
                                      Str("the ", parts, " parts of ", leaf, " are ", part, " and together have ",
                                          Format("%.0f", 100 * more), " % more elements than the array")));
}

void WarnOfTwoStatements(Findings& findings, const Instruction& inst, int64_t index, const Shape& leaf,
                         const StatedSharding& stated, const Axes& axes) {
  const Sharding* const other = ShardingOfLeaf(inst, index);
  if (stated.by != StatedBy::kShardy || other == nullptr) return;
  const auto used = axes.Read(stated.sharding, leaf.rank()), ignored = axes.Read(*other, leaf.rank());
  if (!used || !ignored || *used == *ignored) return;
  findings.Add(inst, ErrorAtAttribute(inst, "sharding", "W015",
                                      Str("sharding= states ", axes.Text(*ignored), ", but ", ToString(stated.by),
                                          " states ", axes.Text(*used), ", which is used"))
                         .AddNote("the other statement is here", AttributeRange(inst, "frontend_attributes")));
}

void WarnOfUnreadText(Findings& findings, const Instruction& inst) {
  const auto meshes = FrontendAttribute(findings.module().header.frontend_attributes, kShardyMeshes);
  for (const char* const name : {kShardySharding, kShardyInShardings, kShardyOutShardings}) {
    const auto text = FrontendAttribute(inst, name);
    std::string why;
    if (!text || ReadShardySharding(*text, meshes.value_or(""), &why)) continue;
    findings.Add(inst,
                 ErrorAtAttribute(inst, "frontend_attributes", "W018",
                                  Str(name, " is ignored, because ", why.empty() ? "its text cannot be read" : why)));
  }
}

void WarnOfShardings(Findings& findings) {
  const Module& module = findings.module();
  if (module.header.num_partitions <= 1) return;
  const bool is_unpartitioned = IsUnpartitioned(module);  // Otherwise shapes are local.
  std::optional<Axes> axes;
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (!inst->HasCommon()) continue;
      WarnOfUnreadText(findings, *inst);
      const auto stated = StatedShardings(*inst);
      int64_t index = 0;
      ForEachLeaf(inst->shape(), [&](const ShapeIndex&, const Shape& leaf) {
        const auto& own = stated[index];
        if (own && leaf.IsArray()) {
          if (!axes) axes = Axes::Of(module);
          if (is_unpartitioned) WarnOfPadding(findings, *inst, leaf, *own, *axes);
          WarnOfTwoStatements(findings, *inst, index, leaf, *own, *axes);
        }
        ++index;
      });
    }
  }
}

// Warns of the first collective in the computation or its callees.
bool WarnInside(Findings& findings, const Computation& computation, const Instruction& condition,
                std::set<const Computation*>& seen) {
  if (!seen.insert(&computation).second) return false;
  for (const Instruction* inst : computation.instructions()) {
    if (inst->Is(kCollective)) {
      findings.Add(*inst, ErrorAtOpcode(*inst, "W017",
                                        Str("'", inst->name(), "' runs only on devices that reach it through '",
                                            condition.name(), "', whose condition depends on partition-id"))
                              .AddNote(Str("'", condition.name(), "' is here"), condition.range()));
      return true;
    }
    for (const Computation* called : CalledComputations(*inst)) {
      if (WarnInside(findings, *called, condition, seen)) return true;
    }
  }
  return false;
}

void WarnOfConditions(Findings& findings) {
  const Module& module = findings.module();
  const std::vector<const Instruction*> ids = PartitionIdsOf(module);
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      const bool is_conditional = inst->Is(Opcode::kConditional), is_loop = inst->Is(Opcode::kWhile);
      if (!is_conditional && !is_loop) continue;
      const Instruction& condition = is_conditional ? inst->operand(0) : inst->attrs<WhileAttrs>().condition->root();
      if (ids[condition.id()] == nullptr) continue;
      std::set<const Computation*> seen;
      for (const Computation* called : CalledComputations(*inst)) WarnInside(findings, *called, *inst, seen);
    }
  }
}

}  // namespace

void FindDeviceWarnings(Findings& findings) {
  WarnOfShardings(findings);
  WarnOfConditions(findings);
}

}  // namespace hlo
