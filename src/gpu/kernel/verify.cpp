#include "gpu/kernel/verify.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {
namespace {

constexpr std::string_view kLevels[] = {"at block level", "at warp level", "in a phase or tile"};

class Verifier {
 public:
  explicit Verifier(const Kernel& kernel)
      : kernel_(kernel), constants_(kernel.values), is_block_(kernel.values), same_in_cluster_(kernel.values) {}

  // `in_cluster`: all blocks of a cluster execute this region alike.
  Status Walk(const Region& region, Level level, bool in_cluster) {
    for (const Instruction& instruction : region.body) {
      TRY(Check(instruction, level, in_cluster));
      const bool uniform = IsSameInCluster(instruction);
      Note(instruction, uniform);
      const bool steers = instruction.op == Op::kLoop || instruction.op == Op::kIf;
      for (const Region& inner : instruction.regions) {
        for (const int32_t argument : inner.arguments) same_in_cluster_[argument] = uniform;
        TRY(Walk(inner, LevelIn(instruction, level), in_cluster && (uniform || !steers)));
      }
    }
    return {};
  }

 private:
  static Level LevelIn(const Instruction& instruction, Level level) {
    switch (instruction.op) {
      case Op::kLoop:
      case Op::kWhile:
      case Op::kIf: return level;
      case Op::kWarps: return Level::kWarp;
      default: return Level::kThread;
    }
  }

  Status Check(const Instruction& instruction, Level level, bool in_cluster) const {
    const OpInfo& info = InfoOf(instruction.op);
    if (info.operands != kSeveral && std::ssize(instruction.operands) != info.operands)
      return Wrong(instruction, Str("has ", instruction.operands.size(), " operands, not ", info.operands));
    const auto meets_at = [&](Level wanted) -> Status {
      if (level == wanted) return {};
      return Wrong(instruction,
                   Str("is ", kLevels[static_cast<int>(level)], ", but must be ", kLevels[static_cast<int>(wanted)]));
    };
    if (info.effects & kMeets) TRY(meets_at(Level::kBlock));
    if (info.effects & kWarpMeets) TRY(meets_at(Level::kWarp));
    if (level == Level::kBlock) TRY(CheckFarReads(instruction));
    if (info.effects & (kReads | kWrites)) TRY(CheckArray(instruction));
    switch (instruction.op) {
      case Op::kWhile: return CheckWhile(instruction, level);
      case Op::kMma: return CheckProduct(instruction);
      case Op::kLoadFragment:
        if (instruction.slots.size() == 1 && kernel_.slots[instruction.slots[0]].fragment) return {};
        return Wrong(instruction, "does not load into a fragment");
      case Op::kClusterBarrier:
        if (!in_cluster) return Wrong(instruction, "is in code that not all blocks of a cluster execute");
        [[fallthrough]];
      case Op::kClusterRank:
      case Op::kLoadCluster:
        if (kernel_.cluster > 1) return {};
        return Wrong(instruction, "is in a kernel without clusters");
      default: return {};
    }
  }

  Status CheckWhile(const Instruction& loop, Level level) const {
    if (level != Level::kBlock)
      return Wrong(loop, Str("is ", kLevels[static_cast<int>(level)], ", but must be at block level"));
    if (kernel_.cluster > 1) return Wrong(loop, "is in a kernel with clusters");
    if (loop.regions.size() == 2 && loop.regions[0].yields.size() == 1) return {};
    return Wrong(loop, "needs a condition that yields one value, and a body");
  }

  Status CheckProduct(const Instruction& mma) const {
    constexpr FragmentRole kRoles[] = {FragmentRole::kSum, FragmentRole::kLeft, FragmentRole::kRight};
    const auto shape = static_cast<MmaShape>(mma.imm);
    bool fits = mma.slots.size() == std::size(kRoles);
    for (size_t i = 0; fits && i < std::size(kRoles); ++i)
      fits = kernel_.slots[mma.slots[i]].fragment == FragmentKind{shape, kRoles[i]};
    if (fits) return {};
    return Wrong(mma, Str("takes a sum, a left and a right fragment of ", InfoOf(shape).text));
  }

  Status CheckArray(const Instruction& instruction) const {
    const ArrayInfo& array = kernel_.arrays[instruction.imm];
    const bool by_member = instruction.op == Op::kLoadMember || instruction.op == Op::kStoreMember;
    if (by_member != (array.members > 0))
      return Wrong(instruction, Str("accesses '", array.name, "', which is ",
                                    by_member ? "not a group of arrays" : "a group of arrays"));
    if (instruction.op == Op::kLoadCluster && array.kind != ArrayKind::kShared)
      return Wrong(instruction, Str("accesses '", array.name, "', which is not a shared array"));
    return {};
  }

  // Rejects statements that write an array and read the same array of another block: no barrier of the cluster can
  // separate the accesses.
  Status CheckFarReads(const Instruction& statement) const {
    if (statement.op == Op::kLoop || statement.op == Op::kWhile || statement.op == Op::kIf) return {};
    std::vector<bool> written(kernel_.arrays.size()), read(kernel_.arrays.size());
    FindFarReads(statement, written, read);
    for (size_t i = 0; i < written.size(); ++i) {
      if (written[i] && read[i])
        return Wrong(statement, Str("writes '", kernel_.arrays[i].name, "' and reads the same array of another block"));
    }
    return {};
  }

  void FindFarReads(const Instruction& instruction, std::vector<bool>& written, std::vector<bool>& read) const {
    if (InfoOf(instruction.op).effects & kWrites) written[instruction.imm] = true;
    if (instruction.op == Op::kLoadCluster) read[instruction.imm] = true;
    for (const Region& region : instruction.regions) {
      for (const Instruction& inner : region.body) FindFarReads(inner, written, read);
    }
  }

  bool IsSameInCluster(const Instruction& instruction) const {
    if (IsClusterNumber(instruction)) return true;
    const OpInfo& info = InfoOf(instruction.op);
    if (instruction.op == Op::kBlock || instruction.op == Op::kClusterRank || (info.effects & kState)) return false;
    if (info.effects & kReads && instruction.op != Op::kLoadCluster) {
      const ArrayKind kind = kernel_.arrays[instruction.imm].kind;
      if (kind != ArrayKind::kInput && kind != ArrayKind::kTable) return false;
    }
    return std::ranges::all_of(instruction.operands, [&](int32_t operand) { return same_in_cluster_[operand]; });
  }

  bool IsClusterNumber(const Instruction& instruction) const {
    if (instruction.op != Op::kDiv || !is_block_[instruction.operands[0]]) return false;
    const Instruction* const divisor = constants_[instruction.operands[1]];
    return divisor != nullptr && divisor->imm > 0 && divisor->imm % kernel_.cluster == 0;
  }

  void Note(const Instruction& instruction, bool uniform) {
    if (instruction.result < 0) return;
    same_in_cluster_[instruction.result] = uniform;
    if (instruction.op == Op::kConstant) constants_[instruction.result] = &instruction;
    if (instruction.op == Op::kBlock) is_block_[instruction.result] = true;
  }

  Status Wrong(const Instruction& instruction, std::string_view what) const {
    const std::string source = instruction.source < 0 ? "" : Str(" of '", kernel_.sources[instruction.source], "'");
    FAIL(InternalError(Str("'", ToString(instruction.op), "'", source, " ", what)));
  }

  const Kernel& kernel_;
  // Indexed by value.
  std::vector<const Instruction*> constants_;
  std::vector<bool> is_block_, same_in_cluster_;
};

}  // namespace

Status Verify(const Kernel& kernel) { return Verifier(kernel).Walk(kernel.body, Level::kBlock, true); }

}  // namespace hlo::kernel
