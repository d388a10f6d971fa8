// Sorting by digits of keys, the lowest first, where each thread has a part of the tile. A pass ranks the keys of a
// tile by one digit, stably, and moves them to shared memory in that order. Keys with equal digits then leave the tile
// side by side.
//
// Ranks: a warp's keys have positions in the order (item, lane). For each item, lanes find the lanes with the same
// digit. Their places follow the keys that the warp has counted before, and the last of these lanes updates the count.
// The sum of all counts before a count, by digit and then warp, is the place of the warp's first key with that digit.
//
// Long lines: one kernel counts the digits of all passes, because counts do not depend on the order of keys. Each pass
// is then one kernel, in which a tile does not know how many keys are in earlier tiles. A tile adds the counts of
// earlier tiles, from the nearest on, until one of them knows the sum of all tiles up to it (Merrill and Garland,
// "Single-pass Parallel Prefix Scan with Decoupled Look-back", 2016). A block takes the next tile when it starts, so it
// waits only for running blocks. A count and its kind are in one word, so the order in which other memory becomes
// visible does not matter.
#include <algorithm>
#include <bit>
#include <optional>
#include <vector>

#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {
namespace {

using kernel::AtomicOp;

constexpr int kWarp = kernel::kWarpSize;

Value AsIndex(Value value) { return Convert(value, Type::kIndex); }

// A tile's keys, a part of them in each thread, and their places by one digit.
class RankedTile {
 public:
  explicit RankedTile(SortKernel& sort)
      : sort_(sort),
        k_(sort.k()),
        items_(sort.shape().chunk),
        digits_(sort.shape().digits),
        part_(CeilDiv(digits_, k_.threads())),
        keys_(k_.MakeSlot(sort.key_type(), static_cast<int>(items_))),
        places_(k_.MakeSlot(Type::kU32, static_cast<int>(items_))),
        counts_(k_.MakeSlot(Type::kU32, static_cast<int>(part_))),
        begins_(k_.MakeSlot(Type::kU32, static_cast<int>(part_))),
        sum_(k_.MakeSlot(Type::kU32)) {}

  int64_t part() const { return part_; }

  // The next six functions are called in phases. Key, Place (after Rank) and Position (before Rank) describe an item of
  // the thread.
  Value Key(int64_t item) const { return keys_.Get(static_cast<int>(item)); }
  Value Place(int64_t item) const { return AsIndex(places_.Get(static_cast<int>(item))); }
  Value Position(int64_t item) const { return k_.warp() * (items_ * kWarp) + item * kWarp + k_.lane(); }
  // Digit (possibly beyond the last one), Count in the tile and Begin of its keys describe a digit of the thread.
  Value Digit(int64_t digit) const { return k_.thread() * part_ + digit; }
  Value Count(int64_t digit) const { return counts_.Get(static_cast<int>(digit)); }
  Value Begin(int64_t digit) const { return begins_.Get(static_cast<int>(digit)); }

  Value DigitOf(Value key, Value shift) const {
    return Convert(ShiftRightLogical(key, Convert(shift, key.type())) & (digits_ - 1), Type::kU32);
  }

  // Calls `body` in a phase, like EachDigit.
  void EachItem(const std::function<void(int64_t item)>& body) const {
    k_.Phase([&] {
      for (int64_t item = 0; item < items_; ++item) body(item);
    });
  }
  void EachDigit(const std::function<void(Value digit, int64_t i)>& body) const {
    k_.Phase([&] { OwnDigits(body); });
  }

  // Positions from `count` on get the greatest key, so that they come last.
  void Load(const std::function<Value(Value i)>& key, Value count = Value()) {
    EachItem([&](int64_t item) {
      const Value i = Position(item);
      if (!count) return keys_.Set(static_cast<int>(item), key(i));
      const Value found = key(Min(i, count - 1));
      keys_.Set(static_cast<int>(item), Select(i < count, found, ~ConstantLike(found, int64_t{0})));
    });
  }

  // `counted` is called in a phase once a digit's count is known.
  void Rank(Value shift, const std::function<void(Value digit, int64_t i)>& counted = nullptr) {
    if (!counters_) counters_ = k_.Shared("counters", Type::kU32, k_.warps() * digits_);
    const Array counters = *counters_;
    sort_.ForEach(k_.Index(k_.warps() * digits_), [&](Value i) { counters.Store(i, k_.Constant(Type::kU32, 0)); });
    k_.Warps([&] { RankInWarp(shift); });
    k_.Phase([&] {
      const Variable all = k_.MakeVariable(k_.Constant(Type::kU32, 0));
      OwnDigits([&](Value digit, int64_t i) {
        const Variable count = k_.MakeVariable(k_.Constant(Type::kU32, 0));
        EachWarp([&](Value row) { count.Set(count.Get() + counters.Load(row + digit)); });
        counts_.Set(static_cast<int>(i), count.Get());
        all.Set(all.Get() + count.Get());
        if (counted) counted(digit, i);
      });
      sum_.Set(all.Get());
    });
    const Slot slots[] = {sum_};
    k_.BlockScan(slots, kernel::Lift([](Value a, Value b) { return a + b; }));
    k_.Phase([&] {
      const Variable after = k_.MakeVariable(sum_.Get());
      OwnDigits([&](Value, int64_t i) { after.Set(after.Get() - Count(i)); });
      OwnDigits([&](Value digit, int64_t i) {
        begins_.Set(static_cast<int>(i), after.Get());
        EachWarp([&](Value row) {
          const Value count = counters.Load(row + digit);
          counters.Store(row + digit, after.Get());
          after.Set(after.Get() + count);
        });
      });
    });
    EachItem([&](int64_t item) {
      const Value begin = counters.Load(k_.warp() * digits_ + AsIndex(DigitOf(Key(item), shift)));
      places_.Set(static_cast<int>(item), places_.Get(static_cast<int>(item)) + begin);
    });
  }

 private:
  // Number of items whose digits lanes compare before the counters are needed.
  static constexpr int64_t kAtATime = 4;

  void EachWarp(const std::function<void(Value row)>& body) const {
    k_.Loop(0, k_.warps(), 1, [&](Value warp) { body(warp * digits_); }, 0);
  }

  void OwnDigits(const std::function<void(Value digit, int64_t i)>& body) const {
    const auto all = [&] {
      for (int64_t i = 0; i < part_; ++i) body(Digit(i), i);
    };
    if (digits_ == k_.threads() * part_) all();
    else k_.If(Digit(0) < digits_, all);
  }

  void RankInWarp(Value shift) {
    const Array counters = *counters_;
    const Value row = k_.warp() * digits_;
    const int64_t together = std::min(kAtATime, items_);
    std::vector<Slot> digits, peers;
    for (int64_t i = 0; i < together; ++i) {
      digits.push_back(k_.MakeSlot(Type::kU32));
      peers.push_back(k_.MakeSlot(Type::kU32));
    }
    for (int64_t first = 0; first < items_; first += together) {
      k_.Phase([&] {
        for (int64_t i = 0; i < together; ++i) digits[i].Set(DigitOf(Key(first + i), shift));
      });
      for (int64_t i = 0; i < together; ++i)
        k_.Match(peers[i], digits[i], std::countr_zero(static_cast<uint64_t>(digits_)));
      for (int64_t i = 0; i < together; ++i) {
        const int item = static_cast<int>(first + i);
        const auto at = [&] { return row + AsIndex(digits[i].Get()); };
        const auto lane = [&] { return Convert(k_.lane(), Type::kU32); };
        k_.Phase([&] {
          const Value before = peers[i].Get() & (ShiftLeft(k_.Constant(Type::kU32, 1), lane()) - 1);
          places_.Set(item, counters.Load(at()) + PopulationCount(before));
        });
        k_.Phase([&] {
          const Value is_last = ShiftRightLogical(peers[i].Get(), lane()) == 1;
          k_.If(is_last, [&] { counters.Store(at(), places_.Get(item) + 1); });
        });
      }
    }
  }

  SortKernel& sort_;
  KernelBuilder& k_;
  int64_t items_, digits_;
  int64_t part_;  // Digits of a thread.
  Slot keys_, places_, counts_, begins_, sum_;
  std::optional<Array> counters_;  // Indexed by warp and digit.
};

// With this many threads on an SM, each has 64 registers, enough for 16 keys of 32 bits and their places.
constexpr int kThreadsOfSm = 1024;

// Number of positions in the tile. An empty Value if all tiles are full.
Value CountOf(const SortKernel& sort) { return sort.space().length % sort.shape().tile == 0 ? Value() : sort.count(); }
// The mask gives LLVM the range of pass numbers.
Value ShiftOf(const SortKernel& sort, Value pass) {
  const auto passes = static_cast<uint64_t>(DigitPasses(sort.space(), sort.shape()));
  const auto most = static_cast<int64_t>(std::bit_ceil(passes) - 1);
  return (Convert(pass, Type::kU32) & most) * int64_t{DigitBits(sort.shape())};
}
Value Clamped(Value i, Value count) { return count ? Min(i, count - 1) : i; }

// Keys are in registers while they move. Carried values alternate between two halves of shared memory.
void EmitLines(SortKernel& sort) {
  KernelBuilder& k = sort.k();
  const int64_t tile = sort.shape().tile;
  const int passes = DigitPasses(sort.space(), sort.shape());
  const bool carries = sort.space().carried != SortSpace::kNothing;
  const Array keys = k.Shared("keys", sort.key_type(), tile);
  const Array carried = carries ? k.Shared("carried", sort.carried_type(), 2 * tile) : Array();
  if (kernel::Bytes(sort.key_type()) <= 4) k.SetMinBlocksPerSm(kThreadsOfSm / k.threads());
  RankedTile ranked(sort);
  const Value count = CountOf(sort);
  ranked.EachItem([&](int64_t item) {
    const Value i = ranked.Position(item), from = Clamped(i, count), key = sort.KeyAt(from);
    keys.Store(i, count ? Select(i < count, key, ~ConstantLike(key, int64_t{0})) : key);
    if (carries) carried.Store(i, sort.CarriedAt(from));
  });
  k.Loop(0, passes, 1, [&](Value pass) {
    ranked.Load([&](Value i) { return keys.Load(i); });
    ranked.Rank(ShiftOf(sort, pass));
    ranked.EachItem([&](int64_t item) { keys.Store(ranked.Place(item), ranked.Key(item)); });
    if (!carries) return;
    const Value from = pass % 2 * tile, to = k.Index(tile) - from;
    ranked.EachItem(
        [&](int64_t item) { carried.Store(to + ranked.Place(item), carried.Load(from + ranked.Position(item))); });
  });
  sort.ForEach(sort.KeptCount(), [&](Value i) {
    sort.Results(i, keys.Load(i), carries ? carried.Load(passes % 2 * tile + i) : Value());
  });
}

// ---- Long lines --------------------------------------------------------------------------------------------------

// Arrays that a long line's kernels share, except keys.
class LongLine {
 public:
  explicit LongLine(SortKernel& sort)
      : sort_(sort),
        digits_(sort.shape().digits),
        passes_(DigitPasses(sort.space(), sort.shape())),
        word_(sort.space().length < (int64_t{1} << 30) ? Type::kU32 : Type::kU64),
        begins_(sort.frame().Scratch(kBegins, Type::kU32, sort.space().lines() * passes_ * digits_)),
        states_(sort.frame().Scratch(kStates, word_, Tiles() * passes_ * digits_)) {}

  int64_t Tiles() const { return sort_.space().lines() * sort_.tiles(); }

  // For each digit, the place in the line where its keys begin.
  Array begins() const { return begins_; }
  Value BeginAt(Value entry) const { return sort_.line() * (passes_ * digits_) + entry; }

  // A word for each pass, tile and digit, zero while its count is unknown.
  Array states() const { return states_; }
  Type word() const { return word_; }
  Value StateAt(Value tile, Value digit) const {
    return (sort_.pass() * Tiles() + sort_.line() * sort_.tiles() + tile) * digits_ + digit;
  }
  // A state is the count of the tile alone, or of all tiles up to it.
  Value OfTile(Value count) const { return count | Flag(1); }
  Value OfAll(Value count) const { return count | Flag(2); }
  Value IsKnown(Value state) const { return state >= Flag(1); }
  Value IsOfAll(Value state) const { return state >= Flag(2); }
  Value CountIn(Value state) const { return state & ((int64_t{1} << FlagShift()) - 1); }

 private:
  int64_t FlagShift() const { return kernel::Bits(word_) - 2; }
  Value Flag(int64_t flag) const {
    return sort_.k().Constant(word_, static_cast<int64_t>(uint64_t(flag) << FlagShift()));
  }

  SortKernel& sort_;
  int64_t digits_, passes_;
  Type word_;
  Array begins_, states_;
};

// Counts all digits. A line's last block computes where each begins.
class DigitCounter {
 public:
  explicit DigitCounter(SortKernel& sort)
      : sort_(sort),
        k_(sort.k()),
        line_(sort),
        digits_(sort.shape().digits),
        entries_(DigitPasses(sort.space(), sort.shape()) * digits_),
        blocks_(BlocksOfLine(sort.space(), SortStep::kRadixDigits, sort.shape())),
        copies_(std::clamp<int64_t>(kMostCounters / entries_, 1, kMostCopies)),
        counters_(k_.Shared("counters", Type::kU32, entries_ * copies_)),
        totals_(k_.Shared("totals", Type::kU32, entries_)) {}

  void Emit() {
    Clear();
    Count();
    const auto total = [&](Value entry) {
      const Variable sum = k_.MakeVariable(k_.Constant(Type::kU32, 0));
      k_.Loop(0, copies_, 1, [&](Value i) { sum.Set(sum.Get() + counters_.Load(entry * copies_ + i)); }, 0);
      return sum.Get();
    };
    if (blocks_ == 1) {
      sort_.ForEach(k_.Index(entries_), [&](Value entry) { totals_.Store(entry, total(entry)); });
      return Place();
    }
    const Array sums = sort_.frame().Scratch(kSums, Type::kU32, sort_.space().lines() * entries_, /*zeroed=*/true);
    const Array arrivals = sort_.frame().Scratch(kArrivals, Type::kU32, sort_.space().lines(), /*zeroed=*/true);
    sort_.ForEach(k_.Index(entries_),
                  [&](Value entry) { sums.Atomic(AtomicOp::kAdd, line_.BeginAt(entry), total(entry)); });
    k_.If(k_.ArriveLast(arrivals, sort_.line(), blocks_), [&] {
      sort_.ForEach(k_.Index(entries_), [&](Value entry) {
        totals_.Store(entry, sums.Load(line_.BeginAt(entry)));
        sums.Store(line_.BeginAt(entry), k_.Constant(Type::kU32, 0));
      });
      Place();
    });
  }

 private:
  // Lanes with the same digit increment copies of its counter in different banks.
  static constexpr int64_t kMostCounters = 8192, kMostCopies = 8;

  // Afterwards no tile has a state, and the first tile is next.
  void Clear() {
    const Array states = line_.states(), next = sort_.NextTiles();
    const int64_t words = states.elements(), part = CeilDiv(words, k_.blocks());
    const Value from = k_.block() * part;
    sort_.ForEach(Min(k_.Index(words) - from, k_.Index(part)),
                  [&](Value i) { states.Store(from + i, k_.Constant(line_.word(), 0)); });
    k_.If(k_.block() == 0, [&] {
      sort_.ForEach(k_.Index(next.elements()), [&](Value i) { next.Store(i, k_.Constant(Type::kU32, 0)); });
    });
    sort_.ForEach(k_.Index(entries_ * copies_), [&](Value i) { counters_.Store(i, k_.Constant(Type::kU32, 0)); });
  }

  void Count() {
    RankedTile keys(sort_);
    const int64_t tile = sort_.shape().tile, length = sort_.space().length;
    k_.Loop(sort_.tile(), k_.Index(sort_.tiles()), blocks_, [&](Value number) {
      const Value first = number * tile;
      const Value count = length % tile == 0 ? Value() : Min(k_.Index(length) - first, k_.Index(tile));
      keys.Load([&](Value i) { return sort_.KeyAt(first + i); }, count);
      keys.EachItem([&](int64_t item) {
        const auto add = [&] { AddDigits(keys, item); };
        if (count) k_.If(keys.Position(item) < count, add);
        else add();
      });
    });
  }

  void AddDigits(const RankedTile& keys, int64_t item) {
    for (int64_t pass = 0; pass * digits_ < entries_; ++pass) {
      const Value digit = keys.DigitOf(keys.Key(item), k_.Constant(Type::kU32, pass * DigitBits(sort_.shape())));
      counters_.Atomic(AtomicOp::kAdd, (AsIndex(digit) + pass * digits_) * copies_ + k_.lane() % copies_,
                       k_.Constant(Type::kU32, 1));
    }
  }

  void Place() {
    for (int64_t entry = 0; entry < entries_; entry += digits_) sort_.SumBefore(totals_, k_.Index(entry), digits_);
    sort_.ForEach(k_.Index(entries_),
                  [&](Value entry) { line_.begins().Store(line_.BeginAt(entry), totals_.Load(entry)); });
  }

  SortKernel& sort_;
  KernelBuilder& k_;
  LongLine line_;
  int64_t digits_, entries_;  // Digits of one pass, and of all passes.
  int64_t blocks_;            // Blocks of a line.
  int64_t copies_;
  Array counters_, totals_;
};

class DigitPass {
 public:
  explicit DigitPass(SortKernel& sort)
      : sort_(sort),
        k_(sort.k()),
        line_(sort),
        moved_(sort, /*moves=*/true),
        ranked_(sort),
        part_(static_cast<int>(ranked_.part())),
        before_(k_.MakeSlot(line_.word(), part_)),
        first_tile_(k_.MakeSlot(Type::kIndex, part_)),
        waits_(k_.MakeSlot(Type::kU32, part_)),
        waiting_(k_.MakeSlot(Type::kU32)) {}

  void Emit() {
    const SortShape& shape = sort_.shape();
    const bool carries = sort_.space().carried != SortSpace::kNothing;
    const Array keys = k_.Shared("keys", sort_.key_type(), shape.tile);
    const Array carried = carries ? k_.Shared("carried", sort_.carried_type(), shape.tile) : Array();
    const Array starts = k_.Shared("starts", Type::kU32, shape.digits);
    const Value shift = ShiftOf(sort_, sort_.pass()), count = CountOf(sort_);
    ranked_.Load([&](Value i) { return moved_.KeyAt(i); }, count);
    ranked_.Rank(shift, [&](Value digit, int64_t i) { Announce(digit, i); });
    ranked_.EachItem([&](int64_t item) { keys.Store(ranked_.Place(item), ranked_.Key(item)); });
    if (carries) {
      ranked_.EachItem([&](int64_t item) {
        carried.Store(ranked_.Place(item), moved_.CarriedAt(Clamped(ranked_.Position(item), count)));
      });
    }
    LookBack();
    // `starts` gets the distance from the place in the tile to that in the line, modulo 2^32.
    ranked_.EachDigit([&](Value digit, int64_t i) {
      const int at = static_cast<int>(i);
      const Value before = before_.Get(at), all = before + Convert(ranked_.Count(i), line_.word());
      k_.If(sort_.tile() > 0,
            [&] { line_.states().Atomic(AtomicOp::kExchange, line_.StateAt(sort_.tile(), digit), line_.OfAll(all)); });
      const Value begin = line_.begins().Load(line_.BeginAt(sort_.pass() * shape.digits + digit));
      starts.Store(digit, begin + Convert(before, Type::kU32) - ranked_.Begin(i));
    });
    k_.Phase([&] {
      k_.Loop(
          0, shape.chunk, 1,
          [&](Value item) {
            const Value i = item * k_.threads() + k_.thread();
            const auto put = [&] {
              const Value key = keys.Load(i), start = starts.Load(AsIndex(ranked_.DigitOf(key, shift)));
              moved_.StoreAt(AsIndex(start + Convert(i, Type::kU32)), key, carries ? carried.Load(i) : Value());
            };
            if (count) k_.If(i < count, put);
            else put();
          },
          kKeysAtOnce);
    });
  }

 private:
  static constexpr int kKeysAtOnce = 4, kTilesAtOnce = 8;

  // The first tile's own count is the count of all tiles up to it.
  void Announce(Value digit, int64_t i) {
    const Value count = Convert(ranked_.Count(i), line_.word()), is_first = sort_.tile() == 0;
    line_.states().Atomic(AtomicOp::kExchange, line_.StateAt(sort_.tile(), digit),
                          Select(is_first, line_.OfAll(count), line_.OfTile(count)));
  }

  void LookBack() {
    const Value has_before = sort_.tile() > 0;
    k_.Phase([&] {
      for (int i = 0; i < part_; ++i) {
        before_.Set(i, k_.Constant(line_.word(), 0));
        first_tile_.Set(i, sort_.tile());
        waits_.Set(i, Convert(has_before & (ranked_.Digit(i) < sort_.shape().digits), Type::kU32));
      }
    });
    const auto waits = [&] {
      k_.Phase([&] {
        Value any = waits_.Get(0);
        for (int i = 1; i < part_; ++i) any = any | waits_.Get(i);
        waiting_.Set(any);
      });
      return k_.BlockReduce(waiting_, [](Value a, Value b) { return a | b; }) != 0;
    };
    k_.While(waits, [&] {
      k_.Phase([&] {
        for (int i = 0; i < part_; ++i) k_.If(waits_.Get(i) != 0, [&] { LookAtTiles(ranked_.Digit(i), i); });
      });
    });
  }

  void LookAtTiles(Value digit, int i) {
    std::vector<Value> states;
    const Value nearest = first_tile_.Get(i) - 1;
    for (int back = 0; back < kTilesAtOnce; ++back) {
      const Value at = line_.StateAt(Max(nearest - back, k_.Index(0)), digit);
      states.push_back(line_.states().AtomicFetch(AtomicOp::kOr, at, k_.Constant(line_.word(), 0)));
    }
    // Counting ends at a tile that knows the sum up to it, as the first one does, and pauses at a tile without a state.
    Value goes_on = k_.Constant(Type::kPred, 1), is_done = k_.Constant(Type::kPred, 0);
    for (const Value state : states) {
      const Value takes = goes_on & line_.IsKnown(state);
      before_.Set(i, Select(takes, before_.Get(i) + line_.CountIn(state), before_.Get(i)));
      first_tile_.Set(i, Select(takes, first_tile_.Get(i) - 1, first_tile_.Get(i)));
      is_done = is_done | (takes & line_.IsOfAll(state));
      goes_on = takes & ~line_.IsOfAll(state);
    }
    waits_.Set(i, Convert(~is_done, Type::kU32));
  }

  SortKernel& sort_;
  KernelBuilder& k_;
  LongLine line_;
  MovedKeys moved_;
  RankedTile ranked_;
  int part_;
  // For each digit of the thread: the number of its keys in the earlier tiles counted so far, the first of these tiles,
  // and whether to continue.
  Slot before_, first_tile_, waits_;
  Slot waiting_;
};

}  // namespace

EmittedKernel EmitRanks(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, ReadBy(space, at));
  const bool is_empty = space.inst->operand(0).shape().NumElements() == 0;
  switch (at.step) {
    case SortStep::kRadixDigits:
      if (!is_empty) DigitCounter(sort).Emit();
      return std::move(sort).Finish("sort, counts of all digits");
    case SortStep::kRadixPass:
      if (!is_empty) DigitPass(sort).Emit();
      return std::move(sort).Finish("sort, keys to their places by digit");
    default:
      if (!is_empty) EmitLines(sort);
      return std::move(sort).Finish("sort, digits of the keys of a line");
  }
}

}  // namespace hlo::gpu
