#include "gpu/kernel/kernel.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "gpu/kernel/kernel_words.h"

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

class Hasher {
 public:
  void Add(uint64_t word) {
    high_ = Mix(high_ ^ word, 0x9e3779b97f4a7c15);
    low_ = Mix(low_ + word, 0xd6e8feb86659fd93);
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
    if (op == Op::kTile || op == Op::kLoop || op == Op::kShuffle || op == Op::kMatch)
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

int Results(const Instruction& instruction) {
  if (instruction.result < 0) return 0;
  if (instruction.op == Op::kLoadVector) return static_cast<int>(instruction.imm2);
  if (instruction.op == Op::kWarpReduce) return static_cast<int>(instruction.slots.size());
  return 1;
}

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
  ForEachWord(kernel, [&](uint64_t word) { hasher.Add(word); });
  return hasher.hash();
}

}  // namespace hlo::kernel
