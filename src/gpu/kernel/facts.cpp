#include "gpu/kernel/facts.h"

#include <algorithm>

namespace hlo::kernel {

HostFacts::HostFacts(const Kernel& kernel)
    : kernel(kernel), constants(kernel.values), types(kernel.values, Type::kIndex) {
  Find(kernel.body);
}

void HostFacts::Find(const Region& region) {
  for (const Instruction& instruction : region.body) {
    if (instruction.op == Op::kConstant) constants[instruction.result] = &instruction;
    for (int i = 0; i < Results(instruction); ++i) {
      const bool is_reduced = instruction.op == Op::kWarpReduce;
      types[instruction.result + i] = is_reduced ? kernel.slots[instruction.slots[i]].type : instruction.type;
    }
    for (const Region& inner : instruction.regions) {
      // A collective's combiner has two arguments for each slot.
      const size_t slots = instruction.slots.size();
      for (size_t i = 0; slots > 0 && i < inner.arguments.size(); ++i)
        types[inner.arguments[i]] = kernel.slots[instruction.slots[i % slots]].type;
      Find(inner);
    }
  }
}

int64_t HostFacts::Steps(const Instruction& loop) const {
  const Instruction *begin = constants[loop.operands[0]], *end = constants[loop.operands[1]],
                    *step = constants[loop.operands[2]];
  if (!begin || !end || !step || step->imm <= 0) return -1;
  return std::max<int64_t>(0, (end->imm - begin->imm + step->imm - 1) / step->imm);
}

int64_t HostFacts::WrittenOut(const Region& region) const {
  int64_t count = 0;
  for (const Instruction& instruction : region.body) {
    if (instruction.op == Op::kConstant) continue;
    int64_t inner = 1;
    for (const Region& nested : instruction.regions) inner += WrittenOut(nested);
    if (instruction.op == Op::kLoop) inner *= std::max<int64_t>(1, Steps(instruction));
    count = std::min<int64_t>(count + inner, 1 << 20);
  }
  return count;
}

bool HostFacts::IsWrittenOut(const Instruction& loop) const {
  return Steps(loop) >= 0 && WrittenOut(loop.regions[0]) * Steps(loop) <= kMostWrittenOut;
}

}  // namespace hlo::kernel
