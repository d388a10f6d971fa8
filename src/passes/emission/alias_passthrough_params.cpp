// alias_passthrough_params: lets a result that is a parameter share the parameter's memory.
#include <algorithm>

#include "ir/module.h"
#include "passes/pass.h"

namespace hlo {
namespace {

// Whether output or parameter has an alias, or the parameter is donated.
bool IsTaken(const ModuleHeader& header, int64_t output, int64_t parameter) {
  return std::ranges::any_of(header.aliases,
                             [&](const InputOutputAlias& alias) {
                               return alias.parameter == parameter || alias.output.empty() ||
                                      alias.output.front() == output;
                             }) ||
         std::ranges::any_of(header.donors, [&](const BufferDonor& donor) { return donor.parameter == parameter; });
}

bool HaveSameLayout(const ModuleHeader& header, int64_t output, int64_t parameter) {
  if (!header.entry_parameters || !header.entry_result) return true;
  return header.entry_parameters->element(parameter) == header.entry_result->element(output);
}

}  // namespace

// Each parameter is aliased once. XLA runs the pass only if its caller sets alias_passthrough_params.
Result<bool> AliasPassthroughParameters(Module& module, const PassContext&) {
  const Instruction& root = module.entry().root();
  if (!root.Is(Opcode::kTuple)) return false;
  bool changed = false;
  for (int64_t i = 0; i < root.operand_count(); ++i) {
    const Instruction& value = root.operand(i);
    if (!value.Is(Opcode::kParameter) || !value.shape().IsArray()) continue;
    const int64_t parameter = value.parameter_number();
    if (IsTaken(module.header, i, parameter) || !HaveSameLayout(module.header, i, parameter)) continue;
    module.header.aliases.push_back({.output = {i}, .parameter = parameter, .parameter_index = {}, .must = false});
    changed = true;
  }
  return changed;
}

}  // namespace hlo
