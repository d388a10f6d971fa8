#include "gpu/kernel/renumber.h"

#include <algorithm>
#include <iterator>

namespace hlo::kernel {
namespace {

void Shift(std::vector<int32_t>& numbers, int32_t by) {
  for (int32_t& number : numbers) {
    if (number >= 0) number += by;
  }
}

void Renumber(Instruction& instruction, const Renumbering& to) {
  if (instruction.result >= 0) instruction.result += to.values;
  if (instruction.source >= 0) instruction.source += to.sources;
  if (instruction.statement >= 0) instruction.statement += to.statements;
  Shift(instruction.operands, to.values);
  Shift(instruction.slots, to.slots);
  switch (instruction.op) {
    case Op::kSlotGet:
    case Op::kSlotSet: instruction.imm += to.slots; break;
    case Op::kVariableGet:
    case Op::kVariableSet: instruction.imm += to.variables; break;
    case Op::kCopyAsync: instruction.imm2 = to.arrays[instruction.imm2]; [[fallthrough]];
    default:
      if (InfoOf(instruction.op).effects & (kReads | kWrites)) instruction.imm = to.arrays[instruction.imm];
  }
  for (Region& inner : instruction.regions) Renumber(inner, to);
}

}  // namespace

void Renumber(Region& region, const Renumbering& to) {
  Shift(region.arguments, to.values);
  Shift(region.yields, to.values);
  for (Instruction& instruction : region.body) Renumber(instruction, to);
}

int32_t LastStatement(const Region& region) {
  int32_t last = -1;
  for (const Instruction& instruction : region.body) {
    last = std::max(last, instruction.statement);
    for (const Region& inner : instruction.regions) last = std::max(last, LastStatement(inner));
  }
  return last;
}

Renumbering Behind(const Kernel& whole, int32_t statements) {
  return {.values = whole.values,
          .slots = static_cast<int32_t>(whole.slots.size()),
          .variables = static_cast<int32_t>(whole.variables.size()),
          .sources = static_cast<int32_t>(whole.sources.size()),
          .statements = statements,
          .arrays = {}};
}

void Append(const Kernel& part, Kernel& whole) {
  whole.values += part.values;
  std::ranges::copy(part.slots, std::back_inserter(whole.slots));
  std::ranges::copy(part.variables, std::back_inserter(whole.variables));
  std::ranges::copy(part.sources, std::back_inserter(whole.sources));
  whole.wide_index |= part.wide_index;
}

}  // namespace hlo::kernel
