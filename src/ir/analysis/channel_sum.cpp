#include "ir/analysis/channel_sum.h"

#include <algorithm>
#include <set>
#include <vector>

#include "ir/attrs.h"
#include "ir/module.h"
#include "ir/reducer.h"

namespace hlo {
namespace {

bool Is16BitFloat(PrimitiveType type) { return type == PrimitiveType::kF16 || type == PrimitiveType::kBF16; }

const Instruction* ConvertedBy(const Instruction& inst) {
  const bool widens = inst.Is(Opcode::kConvert) && inst.shape().type() == PrimitiveType::kF32 &&
                      Is16BitFloat(inst.operand(0).shape().type());
  return widens ? &inst.operand(0) : nullptr;
}

}  // namespace

std::optional<ChannelSum> ChannelSumOf(const Instruction& inst) {
  if (!inst.Is(Opcode::kReduce) || inst.operand_count() != 2) return std::nullopt;
  const auto& attrs = inst.attrs<ReduceAttrs>();
  if (inst.shape().type() != PrimitiveType::kF32 || inst.shape().rank() != 1 || !inst.operand(1).IsConstantOf(0) ||
      ReducerOp(*attrs.to_apply) != Opcode::kAdd)
    return std::nullopt;
  const Instruction& terms = inst.operand(0);
  ChannelSum sum{.of_squares = terms.Is(Opcode::kMultiply)};
  sum.value = ConvertedBy(sum.of_squares ? terms.operand(0) : terms);
  if (sum.value == nullptr || (sum.of_squares && ConvertedBy(terms.operand(1)) != sum.value)) return std::nullopt;
  while (std::ranges::find(attrs.dimensions, sum.channels) != attrs.dimensions.end()) ++sum.channels;
  return sum;
}

bool ReadsSumsAlone(const Instruction& inst, const Instruction& value) {
  std::vector<const Instruction*> pending = {&inst};
  std::set<const Instruction*> seen;
  while (!pending.empty()) {
    const Instruction* const at = pending.back();
    pending.pop_back();
    if (at == &value) return false;
    if (const auto sum = ChannelSumOf(*at); sum && sum->value == &value) continue;
    if (!CalledComputations(*at).empty()) return false;
    for (const Instruction* operand : at->operands()) {
      if (seen.insert(operand).second) pending.push_back(operand);
    }
  }
  return true;
}

}  // namespace hlo
