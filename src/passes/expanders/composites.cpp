// scan_expander, scaled-dot-rewriter, ragged-dot-rewriter: ops as loops and formulas of others (ir/expansions.h).
#include "ir/expansions.h"
#include "ir/fusion.h"
#include "passes/pass.h"
#include "passes/simplify/rules.h"

namespace hlo {
namespace {

template <Instruction* (*expand)(Instruction&)>
Result<Instruction*> Expand(Instruction& inst, const PassContext&) {
  if (!inst.control_predecessors().empty()) return nullptr;
  return expand(inst);
}

// clang-format off: tables.
constexpr Rule kScan[] = {
    {"X.scan.1", Opcode::kScan, Expand<ExpandScan>, Preserves::kExact, "scan(f, x, c) => a loop that calls f on a slice of x and c"},
};
constexpr Rule kScaledDot[] = {
    {"X.sdot.1", Opcode::kScaledDot, Expand<ExpandScaledDot>, Preserves::kExact, "scaled-dot(a, b, s, t) => dot(a * s, b * t), each scale for its block"},
};
constexpr Rule kRaggedDot[] = {
    {"X.rdot.1", Opcode::kRaggedDot, Expand<ExpandRaggedDot>, Preserves::kReassociates, "ragged-dot(a, b, sizes) => dots of all groups, of which each keeps its rows or terms"},
};
// clang-format on

}  // namespace

std::span<const Rule> ScanRules() { return kScan; }
std::span<const Rule> ScaledDotRules() { return kScaledDot; }
std::span<const Rule> RaggedDotRules() { return kRaggedDot; }

Result<bool> ExpandScans(Module& module, const PassContext& context) {
  return RewriteEach(SequentialComputations(module), context, kScan);
}
Result<bool> RewriteScaledDots(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kScaledDot);
}
Result<bool> RewriteRaggedDots(Module& module, const PassContext& context) {
  return RewriteEach(module, context, kRaggedDot);
}

}  // namespace hlo
