// Sorting by merges of positions: each comparison loads the elements at two positions. Elements of the left run precede
// equal elements of the right run.
//
// A merge is divided into parts that are merged separately. A binary search finds where both runs are cut for the
// middle of the result, and then for the middles of its halves, each between the cuts around that half. So cuts are in
// order for any results of the comparator, and a comparator that is not an order gives some permutation. NaN compares
// with nothing. With NaN, a tile's merges are not divided, so that their comparisons are the interpreter's.
#include <algorithm>
#include <bit>

#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {
namespace {

// Sorted runs of `run` places each, from place 0 of a line or tile of `count` places.
struct Runs {
  Array places;      // Positions, of kU32.
  Value offset;      // Index of place 0 in `places`.
  Value run, count;  // `run` is a power of two.
  int64_t longest;
  int64_t shortest_part;
};

class Merger {
 public:
  Merger(SortKernel& sort, const Runs& from) : sort_(sort), k_(sort.k()), from_(from) {}

  // Merges runs into [begin, begin + part). `part` is a power of two that divides `begin`, at most the length of two
  // runs.
  void Merge(Value begin, Value part, const std::function<void(Value place, Value position)>& write) {
    const Value pair = begin / (from_.run * 2) * (from_.run * 2), right = pair + from_.run;
    const Cuts cuts = CutsOf(begin - pair, part, pair);
    const Variable i = k_.MakeVariable(cuts.low_left.Get()), j = k_.MakeVariable(cuts.low.Get() - cuts.low_left.Get());
    const Value left_end = cuts.high_left.Get(), right_end = cuts.high.Get() - left_end;
    k_.Loop(begin, pair + cuts.high.Get(), 1, [&](Value place) {
      // After a run's end, another place is loaded and ignored.
      const Value at = i.Get(), at_right = j.Get();
      const Value a = Position(pair + at), b = Position(right + at_right);
      const Value takes_right = (at_right < right_end) & ((at >= left_end) | sort_.Less(b, a));
      write(place, Select(takes_right, b, a));
      i.Set(Select(takes_right, at, at + 1));
      j.Set(Select(takes_right, at_right + 1, at_right));
    });
  }

 private:
  // Two places of the result, counted from the start of the pair of runs, and how many places before each come from the
  // left run.
  struct Cuts {
    Variable low, low_left, high, high_left;
  };

  Value Position(Value place) {
    return Convert(from_.places.Load(from_.offset + Min(place, from_.count - 1)), Type::kIndex);
  }

  Cuts CutsOf(Value begin, Value part, Value pair) {
    const Value left_size = Min(from_.run, from_.count - pair), all = Min(from_.run * 2, from_.count - pair);
    const Cuts cuts = {k_.MakeVariable(k_.Index(0)), k_.MakeVariable(k_.Index(0)), k_.MakeVariable(all),
                       k_.MakeVariable(left_size)};
    const Variable half = k_.MakeVariable(from_.run);
    const int levels = std::countr_zero(static_cast<uint64_t>(2 * from_.longest / from_.shortest_part));
    k_.Loop(0, levels, 1, [&](Value) {
      k_.If(half.Get() >= part, [&] {
        const Value middle = cuts.low.Get() + half.Get(), size = Min(middle, all);
        const Value left = CutAt(size, pair, cuts);
        const Value is_above = begin >= middle;
        cuts.low_left.Set(Select(is_above, left, cuts.low_left.Get()));
        cuts.high_left.Set(Select(is_above, cuts.high_left.Get(), left));
        cuts.low.Set(Select(is_above, size, cuts.low.Get()));
        cuts.high.Set(Select(is_above, cuts.high.Get(), size));
        half.Set(half.Get() / 2);
      });
    });
    return cuts;
  }

  // Number of the first `size` places that come from the left run.
  Value CutAt(Value size, Value pair, const Cuts& cuts) {
    const Value low_right = cuts.low.Get() - cuts.low_left.Get(), high_right = cuts.high.Get() - cuts.high_left.Get();
    const Variable low = k_.MakeVariable(Max(cuts.low_left.Get(), size - high_right));
    const Variable high = k_.MakeVariable(Min(cuts.high_left.Get(), size - low_right));
    k_.Loop(0, std::bit_width(static_cast<uint64_t>(from_.longest)), 1, [&](Value) {
      k_.If(low.Get() < high.Get(), [&] {
        const Value middle = (low.Get() + high.Get()) / 2;
        const Value a = Position(pair + middle), b = Position(pair + from_.run + size - 1 - middle);
        const Value right_first = sort_.Less(b, a);
        low.Set(Select(right_first, low.Get(), middle + 1));
        high.Set(Select(right_first, middle, high.Get()));
      });
    });
    return low.Get();
  }

  SortKernel& sort_;
  KernelBuilder& k_;
  Runs from_;
};

EmittedKernel EmitTile(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, space.elements);
  KernelBuilder& k = sort.k();
  const int64_t tile = sort.shape().tile, most = std::min(tile, space.length);
  const Array places = k.Shared("places", Type::kU32, 2 * tile);
  sort.ForEach(sort.count(), [&](Value i) { places.Store(i, Convert(sort.first() + i, Type::kU32)); });
  const Value alone = sort.HasUnordered();
  const Value chunk = alone ? Select(alone, k.Index(tile), k.Index(sort.shape().chunk)) : k.Index(sort.shape().chunk);
  const int passes = std::bit_width(static_cast<uint64_t>(most - 1));
  const Variable run = k.MakeVariable(k.Index(1)), from = k.MakeVariable(k.Index(0));
  k.Loop(0, most > 1 ? passes : 0, 1, [&](Value) {
    const Value source = from.Get(), target = k.Index(tile) - source, length = run.Get();
    Merger merger(sort, {places, source, length, sort.count(), tile / 2, sort.shape().chunk});
    const auto merge = [&](Value begin, Value end) {
      const Value part = Min(length * 2, chunk);
      k.Loop(begin, end, part, [&](Value place) {
        merger.Merge(place, part,
                     [&](Value to, Value position) { places.Store(target + to, Convert(position, Type::kU32)); });
      });
    };
    sort.Walk(merge, alone);
    run.Set(length * 2);
    from.Set(target);
  });
  const Value sorted = from.Get();
  const auto position = [&](Value i) { return places.Load(sorted + i); };
  if (at.is_last) {
    sort.ForEach(sort.KeptCount(), [&](Value i) { sort.Results(i, Convert(position(i), Type::kIndex)); });
    return std::move(sort).Finish("sort, merges of a line");
  }
  const Array out = sort.Scratch(kPlaces, 0, Type::kU32);
  sort.ForEach(sort.count(), [&](Value i) { out.Store(sort.InLine(sort.first() + i), position(i)); });
  return std::move(sort).Finish("sort, merges of a tile");
}

EmittedKernel EmitRuns(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, space.elements);
  KernelBuilder& k = sort.k();
  const Array in = sort.Scratch(kPlaces, (at.pass + 1) % 2, Type::kU32);
  const Array out = at.is_last ? in : sort.Scratch(kPlaces, at.pass % 2, Type::kU32);
  Merger merger(sort,
                {in, sort.InLine(k.Index(0)), k.Index(at.run), k.Index(space.length), at.run, sort.shape().chunk});
  sort.Walk([&](Value begin, Value end) {
    k.If(begin < end, [&] {
      merger.Merge(sort.first() + begin, k.Index(sort.shape().chunk), [&](Value place, Value position) {
        if (at.is_last) sort.Results(place, position);
        else out.Store(sort.InLine(place), Convert(position, Type::kU32));
      });
    });
  });
  return std::move(sort).Finish("sort, merges of runs");
}

}  // namespace

EmittedKernel EmitMerge(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  return at.step == SortStep::kMergeRuns ? EmitRuns(space, request, at) : EmitTile(space, request, at);
}

}  // namespace hlo::gpu
