#include "ir/fusion.h"

#include <algorithm>
#include <unordered_set>

#include "base/check.h"
#include "base/json_reader.h"
#include "ir/module.h"

namespace hlo {
namespace {

// The range includes quotes.
std::optional<std::pair<size_t, size_t>> FindValue(const std::string& text, std::string_view key) {
  const std::string quoted = Str('"', key, '"');
  size_t at = text.find(quoted);
  if (at == std::string::npos) return std::nullopt;
  at = text.find(':', at + quoted.size());
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = text.find_first_not_of(" \t\n", at + 1);
  if (begin == std::string::npos) return std::nullopt;
  const size_t end = text[begin] == '"' ? text.find('"', begin + 1) + 1 : text.find_first_of(",}", begin);
  return std::pair(begin, end);
}

}  // namespace

bool IsLibraryCall(const Instruction& inst) { return !LibraryOf(inst).empty(); }

bool IsKernel(const Instruction& inst) {
  return IsFusion(inst) && inst.attrs<FusionAttrs>().kind != FusionKind::kCustom;
}

const Computation& FusedComputation(const Instruction& fusion) { return *fusion.attrs<FusionAttrs>().calls; }

std::vector<const Instruction*> FusionRoots(const Instruction& fusion) {
  const Instruction& root = FusedComputation(fusion).root();
  if (!root.Is(Opcode::kTuple)) return {&root};
  return {root.operands().begin(), root.operands().end()};
}

std::optional<int64_t> CanUpdateInPlace(const Instruction& fusion, int64_t root) {
  const std::vector<const Instruction*> roots = FusionRoots(fusion);
  // `root` may be beyond the list if a root has several results.
  if (root >= std::ssize(roots)) return std::nullopt;
  const Instruction& update = *roots[root];
  if (!update.Is(Opcode::kDynamicUpdateSlice) || !update.operand(0).Is(Opcode::kParameter)) return std::nullopt;
  const Instruction& base = update.operand(0);
  if (base.UseCount() != 1) return std::nullopt;
  for (const Instruction* user : update.users()) {
    if (!user->Is(Opcode::kTuple)) return std::nullopt;
  }
  const int64_t number = base.parameter_number();
  const auto operands = fusion.operands();
  if (std::count(operands.begin(), operands.end(), operands[number]) != 1) return std::nullopt;
  return number;
}

double InstructionCost(const Instruction& inst) {
  const bool is_complex = inst.shape().IsArray() && IsComplex(inst.shape().type());
  const ElementCost& cost = RowOf(inst.opcode()).cost;
  return is_complex ? cost.complex_work : cost.work;
}

std::string ConfigText(const Instruction& inst) {
  const std::string_view raw = inst.common().backend_config.text;
  if (raw.size() < 2 || raw.front() != '"') return std::string(raw);
  std::string text;
  for (size_t i = 1; i + 1 < raw.size(); ++i) {
    if (raw[i] == '\\' && i + 2 < raw.size()) ++i;
    text += raw[i];
  }
  return text;
}

std::optional<std::string> ConfigValue(const Instruction& inst, std::string_view key) {
  if (!inst.HasCommon() || inst.common().backend_config.empty()) return std::nullopt;
  const std::string text = ConfigText(inst);
  const auto range = FindValue(text, key);
  if (!range) return std::nullopt;
  const std::string value = text.substr(range->first, range->second - range->first);
  return value.starts_with('"') ? value.substr(1, value.size() - 2) : value;
}

void SetConfigValue(Instruction& inst, std::string_view key, std::string_view value) {
  std::string text = ConfigText(inst);
  if (const auto range = FindValue(text, key)) {
    text.replace(range->first, range->second - range->first, Str('"', value, '"'));
  } else if (text.size() <= 2) {
    text = Str("{\"", key, "\":\"", value, "\"}");
  } else {
    text.insert(text.size() - 1, Str(",\"", key, "\":\"", value, '"'));
  }
  inst.mutable_common().backend_config.text = text;
}

std::string LibraryOf(const Instruction& inst) {
  if (!IsFusion(inst) || inst.attrs<FusionAttrs>().kind != FusionKind::kCustom) return "";
  // ConfigValue could find "library" in a plan.
  const auto config = ReadJson(ConfigText(inst));
  const std::string* library = config ? (*config)["library"].String() : nullptr;
  return library != nullptr ? *library : "";
}

std::vector<Computation*> SequentialComputations(const Module& module) {
  std::vector<Computation*> found = {&module.entry()};
  std::vector<bool> sequential(module.computation_id_limit());
  sequential[module.entry().id()] = true;
  for (size_t i = 0; i < found.size(); ++i) {
    for (const Instruction* inst : found[i]->instructions()) {
      if (!inst->Is(kControl)) continue;
      for (Computation* called : CalledComputations(*inst)) {
        if (!sequential[called->id()]) found.push_back(called);
        sequential[called->id()] = true;
      }
    }
  }
  if (found.size() == 1) return found;
  std::vector<Computation*> order;
  for (Computation* computation : module.PostOrder()) {
    if (sequential[computation->id()]) order.push_back(computation);
  }
  return order;
}

KernelCounts CountKernels(const Module& module) {
  KernelCounts counts;
  for (const Computation* computation : SequentialComputations(module)) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->Is(kControl) || (inst->Is(kNoKernel) && !inst->Is(Opcode::kReshape))) continue;
      if (inst->Is(Opcode::kCopy)) ++counts.copies;
      else if (!inst->Is(Opcode::kFusion)) ++counts.others;
      else ++(IsLibraryCall(*inst) ? counts.libraries : counts.kernels);
    }
  }
  return counts;
}

}  // namespace hlo
