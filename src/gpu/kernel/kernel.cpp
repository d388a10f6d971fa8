#include "gpu/kernel/kernel.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/text.h"

namespace hlo::kernel {
namespace {

constexpr std::string_view kTypeNames[] = {
#define HLO_KERNEL_TYPE(Name, text, bits) text,
#include "gpu/kernel/types.def"
    "index"};
constexpr int kTypeBits[] = {
#define HLO_KERNEL_TYPE(Name, text, bits) bits,
#include "gpu/kernel/types.def"
    64};

constexpr OpInfo kOps[] = {
#define HLO_KERNEL_OP(Name, text, operands, effects, sameness) {text, operands, effects, Sameness::sameness},
#include "gpu/kernel/kernel_ops.def"
};

// Two rounds of multiply-and-fold per word, in two lanes with different constants.
class Hasher {
 public:
  void Add(uint64_t word) {
    high_ = Mix(high_ ^ word, 0x9e3779b97f4a7c15);
    low_ = Mix(low_ + word, 0xd6e8feb86659fd93);
  }
  void Add(std::span<const int32_t> words) {
    Add(words.size());
    for (const int32_t word : words) Add(static_cast<uint64_t>(word));
  }
  KernelHash hash() const {
    return {.high = Mix(high_ ^ low_, 0xa0761d6478bd642f), .low = Mix(low_ + high_, 0xe7037ed1a0b428db)};
  }

 private:
  static uint64_t Mix(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a ^ 0x2545f4914f6cdd1d) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64) ^ std::rotl(a, 23);
  }

  uint64_t high_ = 1, low_ = 2;
};

void AddTo(Hasher& hasher, const Region& region) {
  hasher.Add(region.arguments);
  hasher.Add(region.body.size());
  for (const Instruction& instruction : region.body) {
    hasher.Add(static_cast<uint64_t>(instruction.op) << 8 | static_cast<uint64_t>(instruction.type));
    hasher.Add(static_cast<uint64_t>(instruction.result));
    hasher.Add(static_cast<uint64_t>(instruction.imm));
    hasher.Add(static_cast<uint64_t>(instruction.imm2));
    hasher.Add(instruction.operands);
    hasher.Add(instruction.slots);
    hasher.Add(instruction.regions.size());
    for (const Region& inner : instruction.regions) AddTo(hasher, inner);
  }
  hasher.Add(region.yields);
}

void Print(std::string& out, const Kernel& kernel, const Region& region, int indent) {
  const auto ids = [](std::span<const int32_t> values) {
    std::string text;
    for (const int32_t value : values) text += Str(text.empty() ? "" : ", ", "%", value);
    return text;
  };
  for (const Instruction& instruction : region.body) {
    out.append(indent, ' ');
    if (instruction.result >= 0) out += Str("%", instruction.result, " = ", ToString(instruction.type), " ");
    out += ToString(instruction.op);
    out += Str("(", ids(instruction.operands), ")");
    const Op op = instruction.op;
    if (op == Op::kConstant) out += Str(" ", instruction.imm);
    const uint8_t effects = InfoOf(op).effects;
    if (effects & (kReads | kWrites)) out += Str(" ", kernel.arrays[instruction.imm].name);
    if (effects & (kReads | kWrites | kState) && !(effects & (kMeets | kWarpMeets)) && op != Op::kLoad &&
        op != Op::kStore)
      out += Str(" ", instruction.imm, " ", instruction.imm2);
    if (op == Op::kTile || op == Op::kLoop || op == Op::kShuffle)
      out += Str(" ", instruction.imm, " ", instruction.imm2);
    for (const int32_t slot : instruction.slots) out += Str(" slot", slot);
    for (const Region& inner : instruction.regions) {
      out += Str(" {", ids(inner.arguments), "\n");
      Print(out, kernel, inner, indent + 2);
      if (!inner.yields.empty()) out += Str(std::string(indent + 2, ' '), "yield ", ids(inner.yields), "\n");
      out += Str(std::string(indent, ' '), "}");
    }
    out += '\n';
  }
}

}  // namespace

std::string_view ToString(Type type) { return kTypeNames[static_cast<int>(type)]; }
const OpInfo& InfoOf(Op op) { return kOps[static_cast<int>(op)]; }
std::string_view ToString(Op op) { return InfoOf(op).text; }
int Bits(Type type) { return kTypeBits[static_cast<int>(type)]; }
int Bytes(Type type) { return (Bits(type) + 7) / 8; }

bool IsOwn(const Kernel& kernel, const Instruction& instruction) {
  switch (InfoOf(instruction.op).sameness) {
    case Sameness::kOwn: return true;
    case Sameness::kOfVariable: return kernel.variables[instruction.imm].level == Level::kThread;
    case Sameness::kSame:
    case Sameness::kNoResult: break;
  }
  return false;
}

std::vector<int> Kernel::Parameters() const {
  std::vector<int> parameters;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (arrays[i].IsParameter()) parameters.push_back(static_cast<int>(i));
  }
  return parameters;
}

std::vector<KernelArgument> Kernel::Arguments() const {
  std::vector<KernelArgument> arguments;
  for (const int array : Parameters()) {
    for (int64_t member = 0; member < std::max<int64_t>(1, arrays[array].members); ++member)
      arguments.push_back({.array = array, .member = member});
  }
  return arguments;
}

int64_t ArrayInfo::AllElements() const {
  if (members == 0) return elements;
  if (member_elements.empty()) return members * elements;
  return std::accumulate(member_elements.begin(), member_elements.end(), int64_t{0});
}

int64_t Kernel::SharedBytes() const {
  int64_t bytes = 0;
  for (const ArrayInfo& array : arrays) {
    if (array.kind == ArrayKind::kShared) bytes = (bytes + 15) / 16 * 16 + array.elements * Bytes(array.type);
  }
  return bytes;
}

std::string ToString(const Kernel& kernel) {
  std::string out = Str("kernel ", kernel.name, " blocks=", kernel.blocks, " threads=", kernel.threads,
                        kernel.cluster > 1 ? Str(" cluster=", kernel.cluster) : "", "\n");
  constexpr std::string_view kKinds[] = {"input", "output", "inout", "shared", "table"};
  for (const ArrayInfo& array : kernel.arrays) {
    out += Str("  ", kKinds[static_cast<int>(array.kind)], " ", array.name, " ", ToString(array.type), "[",
               array.elements, "]", array.members > 0 ? Str(" x ", array.members) : "", "\n");
  }
  for (const SlotInfo& slot : kernel.slots) out += Str("  slot ", ToString(slot.type), " x ", slot.width, "\n");
  Print(out, kernel, kernel.body, 2);
  return out;
}

std::string KernelHash::ToString() const { return Format("%016lx%016lx", high, low); }

KernelHash Hash(const Kernel& kernel) {
  Hasher hasher;
  hasher.Add(kernel.blocks);
  hasher.Add(kernel.cluster);
  hasher.Add(kernel.threads);
  hasher.Add(kernel.min_blocks_per_sm);
  hasher.Add(kernel.wide_index);
  for (const ArrayInfo& array : kernel.arrays) {
    hasher.Add(static_cast<uint64_t>(array.kind) << 16 | static_cast<uint64_t>(array.type) << 8 | array.may_alias);
    hasher.Add(array.elements);
    hasher.Add(array.alignment);
    hasher.Add(array.pitch);
    hasher.Add(array.members);
    hasher.Add(array.sizes);
    for (const int64_t elements : array.member_elements) hasher.Add(elements);
    for (const int64_t bits : array.table) hasher.Add(bits);
  }
  for (const SlotInfo& slot : kernel.slots) {
    hasher.Add(static_cast<uint64_t>(slot.type) << 32 | static_cast<uint64_t>(slot.width) << 8 |
               static_cast<uint64_t>(slot.level));
    if (slot.fragment)
      hasher.Add(static_cast<uint64_t>(slot.fragment->shape) << 8 | static_cast<uint64_t>(slot.fragment->role));
  }
  for (const VariableInfo& variable : kernel.variables)
    hasher.Add(static_cast<uint64_t>(variable.type) << 8 | static_cast<uint64_t>(variable.level));
  AddTo(hasher, kernel.body);
  return hasher.hash();
}

}  // namespace hlo::kernel
