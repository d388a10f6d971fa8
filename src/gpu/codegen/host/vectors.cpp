#include "gpu/codegen/host/vectors.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpu/codegen/streaming.h"

namespace hlo::kernel {
namespace {

// A CPU's scheduler holds about a hundred instructions. For a long body these are too few iterations to hide the
// latency of the dependency chain, so several vectors are interleaved.
constexpr int64_t kLongBody = 24;
constexpr int64_t kMuchWork = 1 << 18;

bool IsLarge(const ArrayInfo& array) { return array.IsParameter() && array.elements >= kMuchWork; }

bool IsWorthInterleaving(const HostFacts& facts, const Region& body) {
  return std::ranges::any_of(facts.kernel.arrays, IsLarge) && facts.WrittenOut(body) >= kLongBody;
}

// Slots hold partial results. After a masked store, elements cannot be loaded again until they are in the cache.
bool KeepsPartialResults(const Region& body) {
  return std::ranges::any_of(body.body, [](const Instruction& instruction) { return instruction.op == Op::kSlotSet; });
}

bool StoresStreamed(const Kernel& kernel, const Region& region) {
  return std::ranges::any_of(region.body, [&](const Instruction& instruction) {
    if (instruction.op == Op::kStore && IsStreamed(kernel.arrays[instruction.imm])) return true;
    return std::ranges::any_of(instruction.regions, [&](const Region& inner) { return StoresStreamed(kernel, inner); });
  });
}

// The widest type in memory determines the number of elements in the vectoriser's vectors.
int64_t WidestInMemory(const Kernel& kernel, const Region& region) {
  int64_t bytes = 1;
  for (const Instruction& instruction : region.body) {
    switch (instruction.op) {
      case Op::kLoad:
      case Op::kLoadVector:
      case Op::kLoadMember:
      case Op::kLoadCluster:
      case Op::kLoadTransposed:
      case Op::kCopyAsync:
      case Op::kStore:
      case Op::kStoreMember:
      case Op::kStoreVector: bytes = std::max<int64_t>(bytes, Bytes(kernel.arrays[instruction.imm].type)); break;
      case Op::kSlotGet:
      case Op::kSlotSet: bytes = std::max<int64_t>(bytes, Bytes(kernel.slots[instruction.imm].type)); break;
      default: break;
    }
    for (const Region& inner : instruction.regions) bytes = std::max(bytes, WidestInMemory(kernel, inner));
  }
  return bytes;
}

// Number of registers for a body: interleaved vectors share `constants`, and each vector needs at most `values`.
struct Registers {
  int64_t constants = 0, values = 0;
};

void NoteUses(const Instruction& instruction, int64_t at, std::unordered_map<int32_t, int64_t>* last_use) {
  for (const int32_t operand : instruction.operands) (*last_use)[operand] = at;
  for (const Region& inner : instruction.regions) {
    for (const Instruction& nested : inner.body) NoteUses(nested, at, last_use);
    for (const int32_t yielded : inner.yields) (*last_use)[yielded] = at;
  }
}

Registers RegistersOf(const Region& body) {
  std::unordered_map<int32_t, int64_t> last_use;
  for (size_t i = 0; i < body.body.size(); ++i) NoteUses(body.body[i], static_cast<int64_t>(i), &last_use);
  // Number of values whose last use is at each instruction.
  std::vector<int64_t> ends(body.body.size());
  std::set<std::pair<Type, int64_t>> constants;
  Registers registers;
  int64_t live = 0;
  for (size_t i = 0; i < body.body.size(); ++i) {
    const Instruction& instruction = body.body[i];
    if (instruction.op == Op::kConstant) {
      if (IsFloat(instruction.type)) constants.emplace(instruction.type, instruction.imm);
    } else if (const auto end = last_use.find(instruction.result); instruction.result >= 0 && end != last_use.end()) {
      ++live;
      ++ends[end->second];
    }
    registers.values = std::max(registers.values, live);
    live -= ends[i];
  }
  registers.constants = std::ssize(constants);
  return registers;
}

}  // namespace

bool IsStreamed(const ArrayInfo& array) {
  return array.kind == ArrayKind::kOutput && array.members == 0 &&
         array.elements * Bytes(array.type) >= kLeastStreamedBytes;
}

void ForgetForHost(Kernel& kernel) {
  kernel.blocks = 1;
  for (ArrayInfo& array : kernel.arrays) {
    if (!array.IsParameter()) continue;
    array.elements = IsStreamed(array) ? 2 : IsLarge(array) ? 1 : 0;
    array.member_elements.clear();
  }
}

bool IsWorthTwice(const HostFacts& facts, const Region& body) {
  return StoresStreamed(facts.kernel, body) || IsWorthInterleaving(facts, body) || KeepsPartialResults(body);
}

// If single vectors leave no remaining elements, interleaved vectors must not either. Under a mask, loads with gaps
// become single loads in branches, for which LLVM's vectoriser takes very long.
int Interleave(const HostFacts& facts, const Region& body, int64_t elements, bool masked_tails) {
  if (!IsWorthInterleaving(facts, body)) return 1;
  const int64_t vector = (masked_tails ? 64 : 32) / WidestInMemory(facts.kernel, body);
  const bool whole = elements % vector == 0;
  // Four vectors that fit into the registers are faster for most long bodies
  // (bench/results/kernels.md#vectors-in-turn). AVX2 has half the registers, and gets two.
  constexpr int64_t kRegisters = 32;
  const Registers registers = masked_tails ? RegistersOf(body) : Registers();
  int interleave = masked_tails && registers.constants + 4 * registers.values <= kRegisters ? 4 : 2;
  while (interleave > 1 && (elements < vector * interleave || (whole && elements % (vector * interleave) != 0)))
    interleave /= 2;
  return interleave;
}

}  // namespace hlo::kernel
