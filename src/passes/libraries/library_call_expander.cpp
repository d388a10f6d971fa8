// Replaces custom calls of cuBLAS, cuDNN and CUB, such as "__cublas$gemm", by their meaning (interp/library_call.h), so
// that modules which XLA:GPU has optimised can be compiled. Libraries may sum in another order.
#include <unordered_map>
#include <vector>

#include "interp/library_call.h"
#include "ir/control_edges.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/log_why.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Zeros for the workspace, a result that the target does not define.
Instruction* ZerosLike(const Instruction& call, const Shape& shape) {
  Computation& computation = call.computation();
  Instruction& zero = computation.AddConstant(Literal(Shape::Scalar(shape.type())));
  return &computation.AddLike(call, Opcode::kBroadcast, shape, {&zero}, DimensionsAttrs{});
}

Operands Expand(const Instruction& call, const Module& meaning) {
  Computation& computation = call.computation();
  std::unordered_map<const Instruction*, Instruction*> copies;
  for (const Instruction* inst : meaning.entry().PostOrder()) {
    if (inst->Is(Opcode::kParameter)) {
      copies[inst] = &call.operand(inst->parameter_number());
      continue;
    }
    if (inst->IsRoot()) break;
    Operands operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(copies.at(operand));
    Instruction& copy = inst->Is(Opcode::kConstant)
                            ? computation.AddConstant(inst->literal())
                            : computation.AddLike(call, inst->opcode(), inst->shape(), operands, inst->attributes());
    ForEachCalled(copy.attributes(),
                  [&](Computation*& called) { called = &call.module().CloneComputation(*called, called->name()); });
    for (Instruction* before : call.control_predecessors()) copy.AddControlPredecessor(*before);
    copies[inst] = &copy;
  }
  Operands results;
  for (const Instruction* result : meaning.entry().root().operands()) results.push_back(copies.at(result));
  return results;
}

void Replace(Instruction& call, Operands results, Replacements* gone) {
  (*gone)[&call] = {results.begin(), results.end()};
  Instruction* value = results.front();
  if (call.shape().IsTuple()) {
    for (auto i = std::ssize(results); i < std::ssize(call.shape().elements()); ++i)
      results.push_back(ZerosLike(call, call.shape().element(i)));
    value = &call.computation().AddLike(call, Opcode::kTuple, call.shape(), results);
  }
  call.ReplaceAllUses(*value);
  call.computation().Remove(call);
}

}  // namespace

Result<bool> ExpandLibraryCalls(Module& module, const PassContext& context) {
  bool changed = false;
  for (Computation* computation : SequentialComputations(module)) {
    Replacements gone;
    for (Instruction* inst : computation->Instructions()) {
      if (!HasMeaning(*inst)) continue;
      const auto meaning = MeaningOf(*inst);
      if (!meaning && LOGS_WHY()) LogWhy("library-call-expander", *inst, "stays", meaning.error().message());
      // If a call without a meaning is run, the interpreter reports the error.
      if (!meaning || !context.ConsumeFuel()) continue;
      Replace(*inst, Expand(*inst, **meaning), &gone);
    }
    changed |= CloseGaps(*computation, gone);
  }
  return changed;
}

}  // namespace hlo
