#include "gpu/kernel/tail.h"

#include <algorithm>
#include <utility>

#include "gpu/kernel/renumber.h"
#include "gpu/kernel/verify.h"

namespace hlo::kernel {
namespace {

bool HasThreadsMeet(const Region& region) {
  return std::ranges::any_of(region.body, [](const Instruction& instruction) {
    return (InfoOf(instruction.op).effects & (kMeets | kWarpMeets)) != 0 || instruction.op == Op::kTile ||
           instruction.op == Op::kWarps || std::ranges::any_of(instruction.regions, HasThreadsMeet);
  });
}

Instruction Number(Kernel& kernel, int64_t number) {
  return {.op = Op::kConstant, .type = Type::kIndex, .result = kernel.values++, .imm = number};
}

}  // namespace

std::optional<WithTail> AddTail(const Kernel& kernel, const Kernel& tail, const std::vector<int>& same) {
  if (kernel.cluster != 1 || tail.blocks != 1 || tail.cluster != 1 || !tail.slots.empty() || !tail.variables.empty() ||
      HasThreadsMeet(tail.body))
    return std::nullopt;
  WithTail made{.kernel = kernel};
  Kernel& whole = made.kernel;
  Renumbering to = Behind(whole, LastStatement(whole.body) + 1);
  Append(tail, whole);
  const std::vector<int> parameters = kernel.Parameters();
  for (size_t i = 0; i < tail.arrays.size(); ++i) {
    const ArrayInfo& array = tail.arrays[i];
    if (!array.IsParameter() || array.members > 0) return std::nullopt;
    if (same[i] < 0) {
      to.arrays.push_back(static_cast<int32_t>(whole.arrays.size()));
      whole.arrays.push_back(array);
      continue;
    }
    const int of_kernel = parameters[same[i]];
    ArrayInfo& known = whole.arrays[of_kernel];
    if (known.members > 0 || known.type != array.type) return std::nullopt;
    // One kernel writes the array and the other reads it.
    if (known.kind != array.kind) known.kind = ArrayKind::kInOut;
    to.arrays.push_back(of_kernel);
  }
  Region body = tail.body;
  Renumber(body, to);
  if (whole.blocks == 1) {
    whole.body.body.push_back({.op = Op::kBarrier});
    std::ranges::move(body.body, std::back_inserter(whole.body.body));
  } else {
    made.counts = true;
    whole.arrays.push_back(
        {.name = "arrived", .kind = ArrayKind::kInOut, .type = Type::kU32, .elements = 1, .alignment = 4});
    const Instruction zero = Number(whole, 0), blocks = Number(whole, whole.blocks);
    Instruction last{.op = Op::kArrive, .type = Type::kPred, .result = whole.values++};
    last.imm = static_cast<int64_t>(whole.arrays.size()) - 1;
    last.operands = {zero.result, blocks.result};
    Instruction branch{.op = Op::kIf};
    branch.operands = {last.result};
    branch.regions.push_back(std::move(body));
    for (const Instruction& instruction : {zero, blocks, last, branch}) whole.body.body.push_back(instruction);
  }
  whole.name += "_" + tail.name;
  if (!Verify(whole)) return std::nullopt;
  return made;
}

}  // namespace hlo::kernel
