// Selects the first k of each line without sorting the rest. When the room for candidates is full, they are sorted by
// digits and the first k stay. From then on only keys that precede the last of these are candidates, so the first of
// equal keys stay. Vector instructions skip chunks without such keys.
#include <algorithm>

#include "gpu/emitters/sort_digits.h"

namespace hlo::gpu {
namespace {

class Selection {
 public:
  explicit Selection(SortKernel& sort)
      : sort_(sort),
        k_(sort.k()),
        kept_(sort.space().kept),
        room_(kept_ + sort.shape().slack),
        carries_(sort.space().carried != SortSpace::kNothing),
        keys_(k_.Shared("keys", sort.key_type(), 2 * room_)),
        carried_(carries_ ? k_.Shared("carried", sort.carried_type(), 2 * room_) : Array()),
        counters_(k_.Shared("counters", Type::kU32, sort.shape().digits)),
        filled_(k_.MakeVariable(k_.Index(0))),
        takes_all_(k_.MakeVariable(k_.Constant(Type::kPred, 1))),
        last_(k_.MakeVariable(Greatest())) {}

  // Selects among `count` elements, and calls store(i, key, carried) for the i-th that stays.
  void Select(const DigitSource& source, Value count,
              const std::function<void(Value i, Value key, Value carried)>& store) {
    const Slot keys = k_.MakeSlot(sort_.key_type());
    k_.Loop(k_.Index(0), count, k_.threads(), [&](Value begin) {
      k_.Fill(keys, Greatest());
      k_.Tile(1, count - begin, [&](Value i) { keys.Set(source.key(begin + i)); });
      const Value least = k_.BlockReduce(keys, [](Value a, Value b) { return Min(a, b); });
      k_.If(Takes(least),
            [&] { k_.Loop(begin, Min(begin + k_.threads(), count), 1, [&](Value i) { Consider(source, i); }); });
    });
    Sort(filled_.Get());
    const Value stay = Min(filled_.Get(), k_.Index(kept_));
    sort_.ForEach(stay, [&](Value i) { store(i, keys_.Load(i), carries_ ? carried_.Load(i) : Value()); });
  }

 private:
  Value Greatest() const { return ~k_.Constant(sort_.key_type(), 0); }

  Value Takes(Value key) const { return takes_all_.Get() | (key < last_.Get()); }

  void Consider(const DigitSource& source, Value i) {
    const Value key = source.key(i);
    k_.If(Takes(key), [&] {
      const Value at = filled_.Get();
      keys_.Store(at, key);
      if (carries_) carried_.Store(at, source.carried(i));
      filled_.Set(at + 1);
      k_.If(at + 1 == room_, [&] {
        Sort(k_.Index(room_));
        filled_.Set(k_.Index(kept_));
        takes_all_.Set(k_.Constant(Type::kPred, 0));
        last_.Set(keys_.Load(kept_ - 1));
      });
    });
  }

  void Sort(Value count) {
    const int passes = DigitPasses(sort_.space(), sort_.shape());
    for (int pass = 0; pass < passes; ++pass) SortByDigit(sort_, pass, pass % 2, keys_, carried_, counters_, count);
    if (passes % 2 == 0) return;
    sort_.ForEach(count, [&](Value i) {
      keys_.Store(i, keys_.Load(i + room_));
      if (carries_) carried_.Store(i, carried_.Load(i + room_));
    });
  }

  SortKernel& sort_;
  KernelBuilder& k_;
  int64_t kept_, room_;
  bool carries_;
  Array keys_, carried_, counters_;
  Variable filled_;
  Variable takes_all_;  // True until the room is full for the first time.
  Variable last_;
};

// Each tile's first `kept` keys. The last tile may have fewer.
class Candidates {
 public:
  explicit Candidates(SortKernel& sort) : sort_(sort), of_line_(sort.tiles() * sort.space().kept) {
    const int64_t all = sort.space().lines() * of_line_;
    keys_ = sort.frame().Scratch(kKeys, sort.key_type(), all);
    if (sort.space().carried != SortSpace::kNothing)
      carried_ = sort.frame().Scratch(kCarried, sort.carried_type(), all);
  }

  int64_t Count() const {
    const SortSpace& space = sort_.space();
    const int64_t before = sort_.tiles() - 1;
    return before * space.kept + std::min(space.kept, space.length - before * sort_.shape().tile);
  }
  Value KeyAt(Value i) const { return keys_.Load(At(i)); }
  Value CarriedAt(Value i) const { return carried_.Load(At(i)); }
  void StoreAt(Value i, Value key, Value carried) const {
    const Value at = At(sort_.tile() * sort_.space().kept + i);
    keys_.Store(at, key);
    if (carried) carried_.Store(at, carried);
  }

 private:
  Value At(Value i) const { return sort_.line() * of_line_ + i; }

  const SortKernel& sort_;
  int64_t of_line_;
  Array keys_, carried_;
};

}  // namespace

EmittedKernel EmitSelect(SortSpace& space, const EmitRequest& request, const SortStepAt& at) {
  SortKernel sort(space, request, at, ReadBy(space, at));
  if (space.inst->operand(0).shape().NumElements() == 0) return std::move(sort).Finish("sort, no elements");
  const DigitSource elements = {[&](Value i) { return sort.KeyAt(sort.first() + i); },
                                [&](Value i) { return sort.CarriedAt(sort.first() + i); }};
  const auto result = [&](Value i, Value key, Value carried) { sort.Results(i, key, carried); };
  if (sort.tiles() == 1) {
    Selection(sort).Select(elements, sort.count(), result);
    return std::move(sort).Finish("sort, the first elements of a line");
  }
  const Candidates candidates(sort);
  if (at.step == SortStep::kSelectTiles) {
    Selection(sort).Select(elements, sort.count(),
                           [&](Value i, Value key, Value carried) { candidates.StoreAt(i, key, carried); });
    return std::move(sort).Finish("sort, the first elements of each tile");
  }
  const DigitSource left = {[&](Value i) { return candidates.KeyAt(i); },
                            [&](Value i) { return candidates.CarriedAt(i); }};
  Selection(sort).Select(left, sort.k().Index(candidates.Count()), result);
  return std::move(sort).Finish("sort, the first elements of a line, from those of its tiles");
}

}  // namespace hlo::gpu
