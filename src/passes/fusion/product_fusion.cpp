// Joins a product with the kernel of an operand that only it reads (a region "product"), if the product can compute the
// operand on the fly, such as converted weights. The operand is then not written to memory.
//
// A product of few rows or columns is bound by memory, and may also read sums, products, broadcasts and transposes.
// Larger products accept only converts and parts of arrays.
#include <algorithm>
#include <string_view>
#include <vector>

#include "ir/dimensions.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/opcode_set.h"
#include "passes/fusion/regions.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

constexpr int64_t kFewRows = 16;  // Rows or columns up to which a product is bound by memory.

const Instruction* DotOf(const Instruction& launch) {
  if (!IsFusion(launch) || LibraryOf(launch) != "gemm") return nullptr;
  for (const Instruction* inst : FusedComputation(launch).instructions()) {
    if (inst->Is(Opcode::kDot)) return inst;
  }
  return nullptr;
}

// Number of elements along the free dimensions: the product's rows (or columns).
int64_t FreeElements(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& contracting) {
  int64_t elements = 1;
  for (const int64_t d : FreeDimensions(shape.rank(), batch, contracting)) elements *= shape.dim(d);
  return elements;
}

bool IsSkinny(const Instruction& dot) {
  const auto& attrs = dot.attrs<DotAttrs>();
  return FreeElements(dot.operand(0).shape(), attrs.lhs_batch, attrs.lhs_contracting) <= kFewRows ||
         FreeElements(dot.operand(1).shape(), attrs.rhs_batch, attrs.rhs_contracting) <= kFewRows;
}

bool IsRead(const Instruction& inst, bool skinny) {
  constexpr OpcodeSet kAlways = {Opcode::kParameter, Opcode::kConstant, Opcode::kConvert,     Opcode::kReshape,
                                 Opcode::kBitcast,   Opcode::kSlice,    Opcode::kDynamicSlice};
  constexpr OpcodeSet kWhereSkinny = {Opcode::kBroadcast, Opcode::kTranspose, Opcode::kMultiply, Opcode::kAdd,
                                      Opcode::kSubtract};
  if (kAlways.Has(inst.opcode())) return true;
  if (kWhereSkinny.Has(inst.opcode())) return skinny;
  return inst.shape().IsScalar() && inst.Is(kElementwise);  // A scalar is part of an index.
}

std::string_view WhyNotRead(const Instruction& launch, bool skinny) {
  if (!IsKernel(launch)) return "a product can compute only kernels";
  if (!launch.shape().IsArray()) return "it has several results";
  for (const Instruction* inst : FusedComputation(launch).instructions()) {
    if (IsRead(*inst, skinny)) continue;
    return skinny
               ? "it does more than select, convert, move and scale elements"
               : "it does more than select and convert elements, which a product of more than 16 rows cannot compute";
  }
  return "";
}

std::string_view WhyNotJoined(RegionGraph& graph, const Instruction& producer, const Instruction& launch, bool skinny) {
  if (graph.LaunchesOf(producer).size() != 1) return "it is already in a region with another product";
  if (const std::string_view why = WhyNotRead(producer, skinny); !why.empty()) return why;
  if (std::ranges::find(graph.launches(), &producer) == graph.launches().end())
    return "it has control dependencies, or an effect besides its value";
  if (IsReadByOthers(producer, {&launch})) return "other instructions read it";
  return graph.CanJoin(producer, launch) ? "" : "one depends on the other through a third launch";
}

bool FuseInto(Computation& computation) {
  const bool logs = LOGS_WHY();
  RegionGraph graph(computation);
  for (const Instruction* launch : graph.launches()) {
    const Instruction* dot = DotOf(*launch);
    if (dot == nullptr) continue;
    const bool skinny = IsSkinny(*dot);
    for (const Instruction* producer : graph.Producers(*launch)) {
      const std::string_view why_not = WhyNotJoined(graph, *producer, *launch, skinny);
      if (why_not.empty()) graph.Join(*producer, *launch);
      if (!logs) continue;
      const bool joins = why_not.empty();
      LogWhy("product-fusion", *producer, Str(joins ? "=> one region with " : "stays apart from ", launch->name()),
             joins ? "the product can compute it while it reads its operands" : why_not);
    }
  }
  return graph.Build("product", [](const std::vector<Instruction*>& group) { return group.size() > 1; });
}

}  // namespace

Result<bool> FuseProducts(Module& module, const PassContext&) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) changed |= FuseInto(*computation);
  return changed;
}

}  // namespace hlo
