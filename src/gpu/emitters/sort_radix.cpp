// Sorting by digits of keys, the lowest first. Each walker (a thread with its part of the tile, or all of the block at
// once) counts the digits of its own keys; a sum over all counters before one, by digit and then by walker, is where
// the first of these keys goes; then each walker moves its keys in their order. So every pass is stable.
#include <algorithm>
#include <bit>

#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {
namespace {

using kernel::Array;
using kernel::CeilDiv;
using kernel::KernelBuilder;
using kernel::Slot;
using kernel::Type;
using kernel::Value;
using kernel::Variable;

// What is sorted in one pass: the key of the tile's i-th element, and what moves with it.
struct Source {
  std::function<Value(Value i)> key, carried;
};

class Digits {
 public:
  Digits(SortKernel& sort, int pass)
      : sort_(sort),
        k_(sort.k()),
        digits_(sort.shape().digits),
        walkers_(sort.shape().walkers()),
        shift_(pass * std::countr_zero(static_cast<uint64_t>(digits_))) {}

  static int64_t Counters(const SortShape& shape) { return shape.digits * shape.walkers(); }

  // The counter of the walker for a digit.
  Value At(Value digit) const { return walkers_ == 1 ? digit : digit * walkers_ + k_.thread(); }
  Value Of(Value key) const {
    return Convert(ShiftRightLogical(key, kernel::ConstantLike(key, shift_)) & (digits_ - 1), Type::kIndex);
  }

  void Count(Array counters, const Source& source) {
    sort_.ForEach(k_.Index(digits_ * walkers_), [&](Value i) { counters.Store(i, k_.Constant(Type::kU32, 0)); });
    sort_.Walk([&](Value begin, Value end) {
      k_.Loop(begin, end, 1, [&](Value i) {
        const Value at = At(Of(source.key(i)));
        counters.Store(at, counters.Load(at) + 1);
      });
    });
  }

  // Moves what is counted: `move` is told where each goes.
  void Move(Array counters, const Source& source,
            const std::function<void(Value to, Value key, const std::function<Value()>& carried)>& move) {
    sort_.Walk([&](Value begin, Value end) {
      k_.Loop(begin, end, 1, [&](Value i) {
        const Value key = source.key(i), at = At(Of(key)), to = counters.Load(at);
        counters.Store(at, to + 1);
        move(Convert(to, Type::kIndex), key, [&] { return source.carried(i); });
      });
    });
  }

 private:
  SortKernel& sort_;
  KernelBuilder& k_;
  int64_t digits_, walkers_;
  int64_t shift_;
};

// Each of [begin, begin + entries) becomes the sum of those before it.
void SumBefore(SortKernel& sort, Array counts, Value begin, int64_t entries) {
  KernelBuilder& k = sort.k();
  const auto scan = [&](Value from, Value to, Value sum) {
    const Variable before = k.MakeVariable(sum);
    k.Loop(from, to, 1, [&](Value i) {
      const Value count = counts.Load(begin + i), sum = before.Get();
      counts.Store(begin + i, sum);
      before.Set(sum + count);
    });
  };
  if (sort.shape().walkers() == 1) return scan(k.Index(0), k.Index(entries), k.Constant(Type::kU32, 0));
  const int64_t part = CeilDiv(entries, k.threads());
  const Slot own = k.MakeSlot(Type::kU32), sum = k.MakeSlot(Type::kU32);
  const auto range = [&](const SortKernel::RangeBody& body) {
    k.Phase([&] {
      const Value from = k.thread() * part;
      body(from, Min(from + part, k.Index(entries)));
    });
  };
  range([&](Value from, Value to) {
    const Variable total = k.MakeVariable(k.Constant(Type::kU32, 0));
    k.Loop(from, to, 1, [&](Value i) { total.Set(total.Get() + counts.Load(begin + i)); });
    own.Set(total.Get());
    sum.Set(total.Get());
  });
  const Slot slots[] = {sum};
  k.BlockScan(slots, kernel::Lift([](Value a, Value b) { return a + b; }));
  range([&](Value from, Value to) { scan(from, to, sum.Get() - own.Get()); });
}

int Passes(const SortKernel& sort) {
  return CeilDiv(KeyBits(*sort.space().key), std::countr_zero(static_cast<uint64_t>(sort.shape().digits)));
}

EmittedKernel EmitLines(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, space.elements);
  KernelBuilder& k = sort.k();
  const int64_t tile = sort.shape().tile;
  const bool carries = space.carried != SortSpace::kNothing;
  const Array keys = k.Shared("keys", sort.key_type(), 2 * tile);
  const Array carried = carries ? k.Shared("carried", sort.carried_type(), 2 * tile) : Array();
  const Array counters = k.Shared("counters", Type::kU32, Digits::Counters(sort.shape()));
  sort.ForEach(sort.count(), [&](Value i) {
    keys.Store(i, sort.KeyAt(i));
    if (carries) carried.Store(i, sort.CarriedAt(i));
  });
  const int passes = Passes(sort);
  for (int pass = 0; pass < passes; ++pass) {
    const Value from = k.Index(pass % 2 * tile), to = k.Index((pass + 1) % 2 * tile);
    const Source source = {[&](Value i) { return keys.Load(from + i); },
                           [&](Value i) { return carried.Load(from + i); }};
    Digits digits(sort, pass);
    digits.Count(counters, source);
    SumBefore(sort, counters, k.Index(0), Digits::Counters(sort.shape()));
    digits.Move(counters, source, [&](Value place, Value key, const std::function<Value()>& with) {
      keys.Store(to + place, key);
      if (carries) carried.Store(to + place, with());
    });
  }
  const Value sorted = k.Index(passes % 2 * tile);
  sort.ForEach(sort.KeptCount(),
               [&](Value i) { sort.Results(i, keys.Load(sorted + i), carries ? carried.Load(sorted + i) : Value()); });
  return std::move(sort).Finish("sort, digits of the keys of a line");
}

// Of long lines, by tile: keys are read off the operands in the first pass, and from scratch memory later.
class LongLine {
 public:
  LongLine(SortKernel& sort, bool moves) : sort_(sort) {
    const SortStepAt& at = sort.at();
    const int from = (at.pass + 1) % 2, to = at.pass % 2;
    const bool carries = sort.space().carried != SortSpace::kNothing && moves;
    if (at.pass > 0) {
      keys_ = sort.Scratch(kKeys, from, sort.key_type());
      if (carries) carried_ = sort.Scratch(kCarried, from, sort.carried_type());
    }
    if (moves && !at.is_last) {
      keys_to_ = sort.Scratch(kKeys, to, sort.key_type());
      if (carries) carried_to_ = sort.Scratch(kCarried, to, sort.carried_type());
    }
    const int64_t entries = sort.space().lines() * sort.shape().digits * sort.tiles();
    counts_ = sort.frame().Scratch(kCounts, Type::kU32, entries);
  }

  Source Keys() {
    if (sort_.at().pass == 0)
      return {[&](Value i) { return sort_.KeyAt(sort_.first() + i); },
              [&](Value i) { return sort_.CarriedAt(sort_.first() + i); }};
    return {[&](Value i) { return keys_.Load(sort_.InLine(sort_.first() + i)); },
            [&](Value i) { return carried_.Load(sort_.InLine(sort_.first() + i)); }};
  }

  // Counts by line, digit and tile.
  Array counts() const { return counts_; }
  Value CountAt(Value digit) const {
    return (sort_.line() * sort_.shape().digits + digit) * sort_.tiles() + sort_.tile();
  }

  void Put(Value place, Value key, const std::function<Value()>& carried) {
    const bool carries = sort_.space().carried != SortSpace::kNothing;
    if (sort_.at().is_last) return sort_.Results(place, key, carries ? carried() : Value());
    keys_to_.Store(sort_.InLine(place), key);
    if (carries) carried_to_.Store(sort_.InLine(place), carried());
  }

 private:
  SortKernel& sort_;
  Array keys_, carried_, keys_to_, carried_to_, counts_;
};

EmittedKernel EmitCount(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, at.pass == 0 ? space.elements : std::vector<NodeId>());
  KernelBuilder& k = sort.k();
  LongLine line(sort, /*moves=*/false);
  const Array counters = k.Shared("counters", Type::kU32, Digits::Counters(sort.shape()));
  Digits digits(sort, at.pass);
  digits.Count(counters, line.Keys());
  const int64_t walkers = sort.shape().walkers();
  sort.ForEach(k.Index(sort.shape().digits), [&](Value digit) {
    const Variable sum = k.MakeVariable(k.Constant(Type::kU32, 0));
    k.Loop(0, walkers, 1, [&](Value i) { sum.Set(sum.Get() + counters.Load(digit * walkers + i)); });
    line.counts().Store(line.CountAt(digit), sum.Get());
  });
  return std::move(sort).Finish("sort, counts of digits");
}

EmittedKernel EmitOffsets(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, {});
  const int64_t entries = sort.shape().digits * sort.tiles();
  const Array counts = sort.frame().Scratch(kCounts, Type::kU32, space.lines() * entries);
  SumBefore(sort, counts, sort.line() * entries, entries);
  return std::move(sort).Finish("sort, places of digits");
}

EmittedKernel EmitMove(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  const bool reads = at.pass == 0 || (at.is_last && space.carried == SortSpace::kPosition);
  SortKernel sort(space, request, at, reads ? space.elements : std::vector<NodeId>());
  KernelBuilder& k = sort.k();
  LongLine line(sort, /*moves=*/true);
  const SortShape& shape = sort.shape();
  const Array counters = k.Shared("counters", Type::kU32, Digits::Counters(shape));
  Digits digits(sort, at.pass);
  const Source source = line.Keys();
  if (shape.walkers() == 1) {
    k.Loop(0, shape.digits, 1, [&](Value digit) { counters.Store(digit, line.counts().Load(line.CountAt(digit))); });
  } else {
    // Places in the tile, moved to where those of the digit begin in the line.
    digits.Count(counters, source);
    SumBefore(sort, counters, k.Index(0), Digits::Counters(shape));
    const Array moved = k.Shared("moved", Type::kU32, shape.digits);
    sort.ForEach(k.Index(shape.digits), [&](Value digit) {
      moved.Store(digit, line.counts().Load(line.CountAt(digit)) - counters.Load(digit * shape.walkers()));
    });
    sort.ForEach(k.Index(Digits::Counters(shape)),
                 [&](Value i) { counters.Store(i, counters.Load(i) + moved.Load(i / shape.walkers())); });
  }
  digits.Move(counters, source,
              [&](Value to, Value key, const std::function<Value()>& carried) { line.Put(to, key, carried); });
  return std::move(sort).Finish("sort, keys to their places by digit");
}

}  // namespace

EmittedKernel EmitRadix(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  switch (at.step) {
    case SortStep::kRadixCount: return EmitCount(space, request, at);
    case SortStep::kRadixOffsets: return EmitOffsets(space, request, at);
    case SortStep::kRadixMove: return EmitMove(space, request, at);
    default: return EmitLines(space, request, at);
  }
}

}  // namespace hlo::gpu
