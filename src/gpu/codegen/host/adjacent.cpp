#include "gpu/codegen/host/adjacent.h"

#include <algorithm>
#include <set>

namespace hlo::kernel {
namespace {

constexpr size_t kMostMerged = 160;

bool IsScalar(Op op) {
  switch (op) {
#define HLO_SCALAR_OP(Name, ...) case Op::k##Name:
#define HLO_KERNEL_OP(Name, ...)
#include "gpu/kernel/kernel_ops.def"
    return true;
    default: return false;
  }
}

// A tile that divides indices is cut into segments (segments.h), not merged.
bool IsMergeable(const Instruction& instruction) {
  switch (instruction.op) {
    case Op::kLoad:
    case Op::kStore: return true;
    case Op::kSlotGet:
    case Op::kSlotSet: return instruction.imm2 == kTileElement;
    case Op::kDiv:
    case Op::kRem: return instruction.type != Type::kIndex;
    default: return IsScalar(instruction.op);
  }
}

class TileMerge {
 public:
  explicit TileMerge(const Kernel& kernel) : kernel_(kernel) {}

  // Whether the tile can share the loop of the tiles before. In one loop tiles alternate, so none may read an array
  // that another writes. Several may write an output, which is not read.
  bool Add(const Instruction& tile) {
    const std::vector<Instruction>& body = tile.regions[0].body;
    instructions_ += body.size();
    std::set<int64_t> reads, writes;
    for (const Instruction& instruction : body) {
      if (!IsMergeable(instruction)) return false;
      if (instruction.op == Op::kLoad) reads.insert(instruction.imm);
      if (instruction.op == Op::kStore) writes.insert(instruction.imm);
    }
    const auto was_written = [&](int64_t array) { return writes_.contains(array); };
    const auto is_in_the_way = [&](int64_t array) {
      return reads_.contains(array) || (was_written(array) && kernel_.arrays[array].kind != ArrayKind::kOutput);
    };
    if (std::ranges::any_of(reads, was_written) || std::ranges::any_of(writes, is_in_the_way)) return false;
    reads_.merge(reads);
    writes_.merge(writes);
    return instructions_ <= kMostMerged;
  }

 private:
  const Kernel& kernel_;
  size_t instructions_ = 0;
  std::set<int64_t> reads_, writes_;
};

}  // namespace

std::vector<const Instruction*> AdjacentTiles(const Kernel& kernel, std::span<const Instruction> instructions) {
  const Instruction& first = instructions[0];
  std::vector<const Instruction*> tiles = {&first};
  TileMerge merge(kernel);
  if (!first.operands.empty() || !merge.Add(first)) return tiles;
  for (const Instruction& next : instructions.subspan(1)) {
    if (IsScalar(next.op) || next.op == Op::kWarp || next.op == Op::kBlock) continue;
    if (next.op != Op::kTile || next.imm != first.imm || !next.operands.empty() || !merge.Add(next)) break;
    tiles.push_back(&next);
  }
  return tiles;
}

}  // namespace hlo::kernel
