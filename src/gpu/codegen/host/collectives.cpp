#include "gpu/codegen/host/emission.h"

#include <algorithm>

namespace hlo::kernel {

using LlvmValue = llvm::Value*;

llvm::Value* HostEmission::LoadLanes(int32_t slot) {
  const Type type = kernel_.slots[slot].type;
  auto* const vector = llvm::FixedVectorType::get(SlotElement(slot), kWarpSize);
  return scalar_.FromMemory(b_.CreateAlignedLoad(vector, WarpBase(slot), llvm::Align(32)), type);
}

void HostEmission::StoreLanes(int32_t slot, LlvmValue value) {
  b_.CreateAlignedStore(scalar_.ToMemory(value, kernel_.slots[slot].type), WarpBase(slot), llvm::Align(32));
}

HostEmission::Values HostEmission::LoadAllLanes(const Instruction& instruction) {
  Values values;
  for (const int32_t slot : instruction.slots) values.push_back(LoadLanes(slot));
  return values;
}

llvm::Value* HostEmission::Permute(LlvmValue vector, int lanes, const std::function<int(int)>& source) {
  llvm::SmallVector<int, kWarpSize> mask;
  for (int lane = 0; lane < lanes; ++lane) mask.push_back(source(lane));
  return b_.CreateShuffleVector(vector, mask);
}

namespace {

bool HasStructure(const Region& region) {
  return std::ranges::any_of(region.body, [](const Instruction& instruction) { return !instruction.regions.empty(); });
}

}  // namespace

// Combines lane by lane, because branches and loops, as in sin and rem, have no vector form.
HostEmission::Values HostEmission::CombineByLane(const Instruction& instruction, const Values& a, const Values& b) {
  const auto lanes_of = [](LlvmValue value) {
    return llvm::cast<llvm::FixedVectorType>(value->getType())->getNumElements();
  };
  Values combined;
  for (LlvmValue const value : a) combined.push_back(llvm::PoisonValue::get(value->getType()));
  for (uint64_t lane = 0; lane < lanes_of(a[0]); ++lane) {
    Values left, right;
    for (size_t i = 0; i < a.size(); ++i) {
      left.push_back(b_.CreateExtractElement(a[i], lane));
      right.push_back(b_.CreateExtractElement(b[i], lane));
    }
    const Values one = Combine(instruction, left, right);
    for (size_t i = 0; i < a.size(); ++i) combined[i] = b_.CreateInsertElement(combined[i], one[i], lane);
  }
  return combined;
}

HostEmission::Values HostEmission::Combine(const Instruction& instruction, const Values& a, const Values& b) {
  const Region& region = instruction.regions[0];
  if (a[0]->getType()->isVectorTy() && HasStructure(region)) return CombineByLane(instruction, a, b);
  for (size_t i = 0; i < a.size(); ++i) {
    Set(region.arguments[i], a[i]);
    Set(region.arguments[a.size() + i], b[i]);
  }
  EmitRegion(region);
  Values combined;
  for (size_t i = 0; i < a.size(); ++i) {
    LlvmValue value = Get(region.yields[i]);
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(a[i]->getType());
    if (vector && !value->getType()->isVectorTy()) value = b_.CreateVectorSplat(vector->getNumElements(), value);
    combined.push_back(value);
  }
  return combined;
}

HostEmission::LanePiece HostEmission::LoadPiece(const Instruction& reduce, int first, int lanes) {
  LanePiece piece;
  for (const int32_t slot : reduce.slots) {
    llvm::Type* const element = SlotElement(slot);
    LlvmValue const address = b_.CreateInBoundsGEP(element, WarpBase(slot), Index(first));
    const uint64_t bytes = first * Bytes(kernel_.slots[slot].type);
    auto* const load = b_.CreateAlignedLoad(llvm::FixedVectorType::get(element, lanes), address,
                                            llvm::commonAlignment(llvm::Align(32), bytes));
    piece.values.push_back(scalar_.FromMemory(load, kernel_.slots[slot].type));
  }
  for (int lane = 0; lane < lanes; ++lane) piece.places.push_back(first + lane);
  return piece;
}

// Combines pairs of elements of one or two pieces. One shuffle collects the left elements, a second one the right
// elements. Elements stay within their block of 128 bits.
HostEmission::LanePiece HostEmission::CombineNeighbours(const Instruction& reduce, const LanePiece& a,
                                                        const LanePiece* b, int block) {
  const int lanes = static_cast<int>(a.places.size());
  LanePiece combined;
  llvm::SmallVector<int> left, right;
  const auto take = [&](const LanePiece& piece, int from, int to, int offset) {
    for (int lane = from; lane < to; ++lane) {
      if (piece.places[lane] % 2 != 0) continue;
      const auto* const other = std::ranges::find(piece.places, piece.places[lane] + 1);
      left.push_back(offset + lane);
      right.push_back(offset + static_cast<int>(other - piece.places.begin()));
      combined.places.push_back(piece.places[lane] / 2);
    }
  };
  for (int from = 0; from < lanes; from += block) {
    take(a, from, std::min(lanes, from + block), 0);
    if (b) take(*b, from, std::min(lanes, from + block), lanes);
  }
  const auto pick = [&](size_t i, const llvm::SmallVector<int>& mask) -> LlvmValue {
    if (mask.size() == 1) return b_.CreateExtractElement(a.values[i], mask[0]);
    return b ? b_.CreateShuffleVector(a.values[i], b->values[i], mask) : b_.CreateShuffleVector(a.values[i], mask);
  };
  Values lefts, rights;
  for (size_t i = 0; i < a.values.size(); ++i) {
    lefts.push_back(pick(i, left));
    rights.push_back(pick(i, right));
  }
  combined.values = Combine(reduce, lefts, rights);
  return combined;
}

// Combines in the same tree as lane 0 of a GPU. Each piece is a register, because LLVM takes very long to compile
// shuffles of all 32 lanes.
void HostEmission::EmitWarpReduce(const Instruction& reduce) {
  int64_t widest = 4;
  for (const int32_t slot : reduce.slots) widest = std::max<int64_t>(widest, Bytes(kernel_.slots[slot].type));
  const int lanes = static_cast<int>(VectorBytes() / widest);
  std::vector<LanePiece> pieces;
  for (int first = 0; first < kWarpSize; first += lanes) pieces.push_back(LoadPiece(reduce, first, lanes));
  for (int left = kWarpSize; left > 1; left /= 2) {
    std::vector<LanePiece> next;
    for (size_t i = 0; i < pieces.size(); i += 2) {
      const LanePiece* const second = i + 1 < pieces.size() ? &pieces[i + 1] : nullptr;
      next.push_back(CombineNeighbours(reduce, pieces[i], second, static_cast<int>(16 / widest)));
    }
    pieces = std::move(next);
  }
  for (size_t i = 0; i < reduce.slots.size(); ++i) Set(reduce.result + static_cast<int32_t>(i), pieces[0].values[i]);
}

void HostEmission::EmitGroupReduce(const Instruction& reduce) {
  const int group = static_cast<int>(reduce.imm2);
  Values values = LoadAllLanes(reduce);
  for (int distance = 1; distance < group; distance *= 2) {
    Values others;
    for (LlvmValue const value : values) {
      others.push_back(
          Permute(value, kWarpSize, [&](int lane) { return lane + distance < kWarpSize ? lane + distance : lane; }));
    }
    values = Combine(reduce, values, others);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    StoreLanes(reduce.slots[i], Permute(values[i], kWarpSize, [&](int lane) { return lane & ~(group - 1); }));
  }
}

void HostEmission::EmitWarpScan(const Instruction& scan) {
  Values values = LoadAllLanes(scan);
  for (int distance = 1; distance < kWarpSize; distance *= 2) {
    Values before;
    for (LlvmValue const value : values) {
      before.push_back(Permute(value, kWarpSize, [&](int lane) { return lane >= distance ? lane - distance : lane; }));
    }
    const Values combined = Combine(scan, before, values);
    llvm::SmallVector<int, kWarpSize> mask;
    for (int lane = 0; lane < kWarpSize; ++lane) mask.push_back(lane >= distance ? kWarpSize + lane : lane);
    for (size_t i = 0; i < values.size(); ++i) values[i] = b_.CreateShuffleVector(values[i], combined[i], mask);
  }
  for (size_t i = 0; i < values.size(); ++i) StoreLanes(scan.slots[i], values[i]);
}

void HostEmission::EmitShuffle(const Instruction& shuffle) {
  const int amount = static_cast<int>(shuffle.imm2);
  LlvmValue const from = LoadLanes(shuffle.slots[1]);
  const auto permute = [&](auto source) { StoreLanes(shuffle.slots[0], Permute(from, kWarpSize, source)); };
  switch (static_cast<ShuffleMode>(shuffle.imm)) {
    case ShuffleMode::kDown: return permute([&](int lane) { return lane + amount < kWarpSize ? lane + amount : lane; });
    case ShuffleMode::kUp: return permute([&](int lane) { return lane >= amount ? lane - amount : lane; });
    case ShuffleMode::kXor: return permute([&](int lane) { return lane ^ amount; });
    case ShuffleMode::kIndexed: break;
  }
  LlvmValue const lanes =
      b_.CreateAnd(LoadLanes(shuffle.slots[2]),
                   llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(kWarpSize), b_.getInt32(31)));
  LlvmValue result = llvm::PoisonValue::get(from->getType());
  for (int lane = 0; lane < kWarpSize; ++lane) {
    result = b_.CreateInsertElement(result, b_.CreateExtractElement(from, b_.CreateExtractElement(lanes, lane)), lane);
  }
  StoreLanes(shuffle.slots[0], result);
}

void HostEmission::EmitMatch(const Instruction& match) {
  const int32_t to = match.slots[0], from = match.slots[1];
  llvm::Type* const word = b_.getInt32Ty();
  LlvmValue const bits = b_.getInt32(static_cast<uint32_t>((uint64_t{1} << match.imm) - 1));
  LlvmValue const all = b_.CreateAnd(LoadLanes(from), b_.CreateVectorSplat(kWarpSize, bits));
  const auto lane_of = [&](int32_t slot, LlvmValue lane) { return b_.CreateInBoundsGEP(word, WarpBase(slot), lane); };
  Loop(Index(0), Index(kWarpSize), Index(1), {.unroll = false}, [&](LlvmValue lane) {
    LlvmValue const own = b_.CreateAnd(b_.CreateLoad(word, lane_of(from, lane)), bits);
    LlvmValue const same = b_.CreateICmpEQ(all, b_.CreateVectorSplat(kWarpSize, own));
    b_.CreateStore(b_.CreateBitCast(same, word), lane_of(to, lane));
  });
}

void HostEmission::EmitWarpBroadcast(const Instruction& broadcast) {
  const int32_t slot = broadcast.slots[0];
  LlvmValue const address = b_.CreateInBoundsGEP(SlotElement(slot), WarpBase(slot), Get(broadcast.operands[0]));
  Set(broadcast.result, LoadFrom(address, broadcast.type, false));
}

}  // namespace hlo::kernel
