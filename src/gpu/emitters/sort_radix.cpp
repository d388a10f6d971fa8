// Sorting by digits of keys, the lowest first, with one walker for each tile (sort_kernel.h). Counts are ordered by
// digit and then tile. The sum of those before a count is the place of its first key. Keys are moved in order, so every
// pass is stable.
#include "gpu/emitters/sort_digits.h"

namespace hlo::gpu {
namespace {

EmittedKernel EmitLines(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, ReadBy(space, at));
  KernelBuilder& k = sort.k();
  const int64_t tile = sort.shape().tile;
  const bool carries = space.carried != SortSpace::kNothing;
  const Array keys = k.Shared("keys", sort.key_type(), 2 * tile);
  const Array carried = carries ? k.Shared("carried", sort.carried_type(), 2 * tile) : Array();
  const Array counters = k.Shared("counters", Type::kU32, sort.shape().digits);
  sort.ForEach(sort.count(), [&](Value i) {
    keys.Store(i, sort.KeyAt(i));
    if (carries) carried.Store(i, sort.CarriedAt(i));
  });
  const int passes = DigitPasses(space, sort.shape());
  for (int pass = 0; pass < passes; ++pass) SortByDigit(sort, pass, pass % 2, keys, carried, counters, sort.count());
  const Value sorted = k.Index(passes % 2 * tile);
  sort.ForEach(sort.KeptCount(),
               [&](Value i) { sort.Results(i, keys.Load(sorted + i), carries ? carried.Load(sorted + i) : Value()); });
  return std::move(sort).Finish("sort, digits of the keys of a line");
}

// ---- Long lines, by tile -----------------------------------------------------------------------------------------

// Counts by line, digit and tile.
Array CountsOf(SortKernel& sort) {
  return sort.frame().Scratch(kCounts, Type::kU32, sort.space().lines() * sort.shape().digits * sort.tiles());
}
Value CountAt(const SortKernel& sort, Value digit) {
  return (sort.line() * sort.shape().digits + digit) * sort.tiles() + sort.tile();
}

DigitSource SourceOf(const MovedKeys& keys) {
  return {[&](Value i) { return keys.KeyAt(i); }, [&](Value i) { return keys.CarriedAt(i); }};
}

EmittedKernel EmitCount(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, at.pass == 0 ? space.elements : std::vector<NodeId>());
  const MovedKeys keys(sort, /*moves=*/false);
  const Array counts = CountsOf(sort), counters = sort.k().Shared("counters", Type::kU32, sort.shape().digits);
  Digits digits(sort, at.pass);
  digits.Count(counters, SourceOf(keys), sort.count());
  sort.ForEach(sort.k().Index(sort.shape().digits),
               [&](Value digit) { counts.Store(CountAt(sort, digit), counters.Load(digit)); });
  return std::move(sort).Finish("sort, counts of digits");
}

EmittedKernel EmitOffsets(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, {});
  const int64_t entries = sort.shape().digits * sort.tiles();
  sort.SumBefore(CountsOf(sort), sort.line() * entries, entries);
  return std::move(sort).Finish("sort, places of digits");
}

EmittedKernel EmitMove(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, ReadBy(space, at));
  KernelBuilder& k = sort.k();
  const MovedKeys keys(sort, /*moves=*/true);
  const bool carries = space.carried != SortSpace::kNothing;
  const Array counts = CountsOf(sort), counters = k.Shared("counters", Type::kU32, sort.shape().digits);
  k.Loop(0, sort.shape().digits, 1, [&](Value digit) { counters.Store(digit, counts.Load(CountAt(sort, digit))); });
  Digits(sort, at.pass)
      .Move(counters, SourceOf(keys), sort.count(), [&](Value to, Value key, const std::function<Value()>& carried) {
        keys.StoreAt(to, key, carries ? carried() : Value());
      });
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
