// The part of KernelBuilder for values that threads combine and exchange (builder.h).
#include <utility>

#include "base/check.h"
#include "gpu/kernel/builder.h"

namespace hlo::kernel {

Region KernelBuilder::Combiner(std::span<const Slot> slots, const CombineMany& combine) {
  return Nest(Level::kThread, false, 0, nullptr, [&] {
    std::vector<Value> a, b;
    for (const Slot slot : slots) a.push_back(Define(slot.type()));
    for (const Slot slot : slots) b.push_back(Define(slot.type()));
    for (const std::vector<Value>* side : {&a, &b}) {
      for (const Value value : *side) current().region.arguments.push_back(value.id_);
    }
    const std::vector<Value> combined = combine(a, b);
    CHECK(combined.size() == slots.size(), "a combination of ", slots.size(), " values gave ", combined.size());
    for (size_t i = 0; i < combined.size(); ++i) {
      CHECK(combined[i].type() == slots[i].type(), "a combination of ", ToString(slots[i].type()), " gave ",
            ToString(combined[i].type()));
      current().region.yields.push_back(combined[i].id_);
    }
  });
}

std::vector<Slot> KernelBuilder::Narrow(std::span<const Slot> slots, const CombineMany& combine) {
  const int width = slots[0].width();
  if (width == 1) return {slots.begin(), slots.end()};
  std::vector<Slot> narrow;
  for (const Slot slot : slots) {
    CHECK(slot.width() == width, "slots of width ", width, " and ", slot.width(), " reduced together");
    narrow.push_back(MakeSlot(slot.type()));
  }
  Phase([&] {
    std::vector<Value> sum;
    for (const Slot slot : slots) sum.push_back(slot.Get(0));
    for (int element = 1; element < width; ++element) {
      std::vector<Value> next;
      for (const Slot slot : slots) next.push_back(slot.Get(element));
      sum = combine(sum, next);
    }
    for (size_t i = 0; i < slots.size(); ++i) narrow[i].Set(sum[i]);
  });
  return narrow;
}

Value KernelBuilder::WarpReduce(Slot slot, const Combine& combine) {
  return WarpReduce(std::span(&slot, 1), Lift(combine))[0];
}

std::vector<Value> KernelBuilder::WarpReduce(std::span<const Slot> slots, const CombineMany& combine) {
  CHECK(level() == Level::kWarp, "WarpReduce outside warp level");
  const std::vector<Slot> narrow = Narrow(slots, combine);
  Region region = Combiner(narrow, combine);
  Instruction& reduce = Append(Op::kWarpReduce, slots[0].type(), {});
  for (const Slot slot : narrow) reduce.slots.push_back(slot.id_);
  reduce.regions.push_back(std::move(region));
  reduce.result = kernel_.values;
  std::vector<Value> results;
  for (const Slot slot : slots) results.push_back(Define(slot.type()));
  return results;
}

Value KernelBuilder::BlockReduce(Slot slot, const Combine& combine) {
  return BlockReduce(std::span(&slot, 1), Lift(combine))[0];
}

std::vector<Value> KernelBuilder::BlockReduce(std::span<const Slot> slots, const CombineMany& combine) {
  CHECK(level() == Level::kBlock, "BlockReduce outside block level");
  const std::vector<Slot> narrow = Narrow(slots, combine);
  std::vector<Array> partials;
  for (const Slot slot : slots) partials.push_back(Shared("partials", slot.type(), warps()));
  Warps([&] {
    const std::vector<Value> sums = WarpReduce(narrow, combine);
    for (size_t i = 0; i < sums.size(); ++i) partials[i].Store(warp(), sums[i]);
  });
  std::vector<Value> total;
  for (const Array partial : partials) total.push_back(partial.Load(int64_t{0}));
  for (int warp = 1; warp < warps(); ++warp) {
    std::vector<Value> next;
    for (const Array partial : partials) next.push_back(partial.Load(int64_t{warp}));
    total = combine(total, next);
  }
  return total;
}

void KernelBuilder::GroupReduce(std::span<const Slot> slots, int lanes, const CombineMany& combine) {
  CHECK(level() == Level::kWarp, "GroupReduce outside warp level");
  CHECK(lanes >= 1 && lanes <= kWarpSize && (lanes & (lanes - 1)) == 0, "groups of ", lanes, " lanes");
  for (const Slot slot : slots) CHECK(slot.width() == 1, "GroupReduce of width ", slot.width());
  if (lanes == 1) return;
  Region region = Combiner(slots, combine);
  Instruction& reduce = Append(Op::kGroupReduce, slots[0].type(), {});
  for (const Slot slot : slots) reduce.slots.push_back(slot.id_);
  reduce.imm2 = lanes;
  reduce.regions.push_back(std::move(region));
}

void KernelBuilder::WarpScan(std::span<const Slot> slots, const CombineMany& combine) {
  CHECK(level() == Level::kWarp, "WarpScan outside warp level");
  for (const Slot slot : slots) CHECK(slot.width() == 1, "WarpScan of width ", slot.width());
  Region region = Combiner(slots, combine);
  Instruction& scan = Append(Op::kWarpScan, slots[0].type(), {});
  for (const Slot slot : slots) scan.slots.push_back(slot.id_);
  scan.regions.push_back(std::move(region));
}

std::vector<Value> KernelBuilder::BlockScan(std::span<const Slot> slots, const CombineMany& combine) {
  CHECK(level() == Level::kBlock, "BlockScan outside block level");
  std::vector<Array> totals;
  for (const Slot slot : slots) totals.push_back(Shared("totals", slot.type(), warps()));
  Warps([&] {
    WarpScan(slots, combine);
    for (size_t i = 0; i < slots.size(); ++i) totals[i].Store(warp(), WarpBroadcast(slots[i], kWarpSize - 1));
  });
  const auto load = [&](Value warp) {
    std::vector<Value> values;
    for (const Array total : totals) values.push_back(total.Load(warp));
    return values;
  };
  Warps([&] {
    If(warp() > 0, [&] {
      std::vector<Variable> before;
      for (const Value value : load(Index(0))) before.push_back(MakeVariable(value));
      const auto get = [&] {
        std::vector<Value> values;
        for (const Variable variable : before) values.push_back(variable.Get());
        return values;
      };
      Loop(Index(1), warp(), 1, [&](Value earlier) {
        const std::vector<Value> sum = combine(get(), load(earlier));
        for (size_t i = 0; i < sum.size(); ++i) before[i].Set(sum[i]);
      });
      const std::vector<Value> prefix = get();
      Phase([&] {
        std::vector<Value> own;
        for (const Slot slot : slots) own.push_back(slot.Get());
        const std::vector<Value> sum = combine(prefix, own);
        for (size_t i = 0; i < sum.size(); ++i) slots[i].Set(sum[i]);
      });
    });
  });
  std::vector<Value> sum = load(Index(0));
  for (int warp = 1; warp < warps(); ++warp) sum = combine(sum, load(Index(warp)));
  return sum;
}

void KernelBuilder::Shuffle(ShuffleMode mode, Slot to, Slot from, int amount, std::initializer_list<Slot> lane) {
  CHECK(level() == Level::kWarp, "shuffle outside warp level");
  CHECK(to.type() == from.type() && to.width() == 1 && from.width() == 1, "shuffle of ", ToString(from.type()), " to ",
        ToString(to.type()));
  CHECK(amount >= 0 && amount < kWarpSize, "shuffle by ", amount);
  Instruction& shuffle = Append(Op::kShuffle, from.type(), {});
  shuffle.slots = {to.id_, from.id_};
  for (const Slot slot : lane) shuffle.slots.push_back(slot.id_);
  shuffle.imm = static_cast<int64_t>(mode);
  shuffle.imm2 = amount;
}

void KernelBuilder::ShuffleDown(Slot to, Slot from, int amount) { Shuffle(ShuffleMode::kDown, to, from, amount, {}); }
void KernelBuilder::ShuffleUp(Slot to, Slot from, int amount) { Shuffle(ShuffleMode::kUp, to, from, amount, {}); }
void KernelBuilder::ShuffleXor(Slot to, Slot from, int amount) { Shuffle(ShuffleMode::kXor, to, from, amount, {}); }

void KernelBuilder::ShuffleIndexed(Slot to, Slot from, Slot lane) {
  CHECK(lane.type() == Type::kS32 && lane.width() == 1, "shuffle by a lane of type ", ToString(lane.type()));
  Shuffle(ShuffleMode::kIndexed, to, from, 0, {lane});
}

void KernelBuilder::Match(Slot to, Slot from, int bits) {
  CHECK(level() == Level::kWarp, "Match outside warp level");
  CHECK(to.type() == Type::kU32 && from.type() == Type::kU32 && to.width() == 1 && from.width() == 1, "Match of ",
        ToString(from.type()), " to ", ToString(to.type()));
  CHECK(to.id_ != from.id_, "Match in place");
  CHECK(bits >= 1 && bits <= 32, "Match of ", bits, " bits");
  Instruction& match = Append(Op::kMatch, from.type(), {});
  match.slots = {to.id_, from.id_};
  match.imm = bits;
}

Value KernelBuilder::WarpBroadcast(Slot slot, Value lane) {
  CHECK(level() == Level::kWarp && slot.width() == 1, "WarpBroadcast outside warp level, or of width ", slot.width());
  const Value value = Record(Op::kWarpBroadcast, slot.type(), {lane});
  current().region.body.back().slots = {slot.id_};
  return value;
}

Value KernelBuilder::ArriveLast(Array counters, Value index, int64_t expected) {
  CHECK(level() == Level::kBlock, "ArriveLast outside block level");
  CHECK(counters.type() == Type::kU32, "counters of ", ToString(counters.type()));
  return Record(Op::kArrive, Type::kPred, {index, Index(expected)}, counters.id_);
}

}  // namespace hlo::kernel
