// sanitize-constant-names: makes names of constants valid linker symbols (letters, digits and '_').
#include <string>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

std::string SymbolOf(std::string_view name) {
  std::string symbol(name);
  for (char& c : symbol) {
    const bool legal = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!legal) c = '_';
  }
  return symbol;
}

bool IsConstant(const Instruction& inst) { return inst.Is(Opcode::kConstant) || inst.Is(Opcode::kElidedConstant); }

// A copy with an unused name. Removed instructions still use their names.
Instruction& Renamed(const Instruction& constant, const std::string& symbol) {
  Computation& computation = constant.computation();
  std::string name = symbol;
  for (int i = 1;; ++i) {
    Instruction& copy = computation.Add(constant.opcode(), constant.shape(), {}, constant.attributes(), name);
    if (copy.name() == name) {
      copy.SetRange(constant.range());
      if (constant.HasCommon()) copy.SetCommon(constant.common());
      return copy;
    }
    computation.Remove(copy);
    name = Str(symbol, "__", i);
  }
}

}  // namespace

// Constants in fusions keep their names, because kernels have only their values. So do constants with control edges.
// New constants are added at the end. Only a changed order counts as a change, because fingerprints ignore names.
Result<bool> SanitizeConstantNames(Module& module, const PassContext& context) {
  Fingerprinter fingerprints;
  const uint64_t before = fingerprints.FingerprintOf(module);
  for (Computation* computation : SequentialComputations(module)) {
    std::vector<bool> awaited(computation->place_limit());
    for (const Instruction* inst : computation->instructions()) {
      for (const Instruction* before : inst->control_predecessors()) awaited[before->place()] = true;
    }
    for (Instruction* inst : computation->Instructions()) {
      if (!IsConstant(*inst) || awaited[inst->place()] || !inst->control_predecessors().empty()) continue;
      const std::string symbol = SymbolOf(inst->name());
      if (symbol == inst->name() || !context.ConsumeFuel()) continue;
      inst->ReplaceAllUses(Renamed(*inst, symbol));
      computation->Remove(*inst);
    }
    if (module.header.is_scheduled) computation->SetOrder(computation->PostOrder());
  }
  return fingerprints.FingerprintOf(module) != before;
}

}  // namespace hlo
