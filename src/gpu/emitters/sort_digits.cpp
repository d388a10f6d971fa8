#include "gpu/emitters/sort_digits.h"

namespace hlo::gpu {

Digits::Digits(SortKernel& sort, int pass)
    : sort_(sort), k_(sort.k()), digits_(sort.shape().digits), shift_(pass * DigitBits(sort.shape())) {}

Value Digits::DigitOf(Value key) const {
  return Convert(ShiftRightLogical(key, kernel::ConstantLike(key, shift_)) & (digits_ - 1), Type::kIndex);
}

void Digits::Count(Array counters, const DigitSource& source, Value count) {
  sort_.ForEach(k_.Index(digits_), [&](Value i) { counters.Store(i, k_.Constant(Type::kU32, 0)); });
  k_.Loop(k_.Index(0), count, 1, [&](Value i) {
    const Value at = DigitOf(source.key(i));
    counters.Store(at, counters.Load(at) + 1);
  });
}

void Digits::Move(Array counters, const DigitSource& source, Value count, const Mover& move) {
  k_.Loop(k_.Index(0), count, 1, [&](Value i) {
    const Value key = source.key(i), at = DigitOf(key), to = counters.Load(at);
    counters.Store(at, to + 1);
    move(Convert(to, Type::kIndex), key, [&] { return source.carried(i); });
  });
}

void SortByDigit(SortKernel& sort, int pass, int half, Array keys, Array carried, Array counters, Value count) {
  KernelBuilder& k = sort.k();
  const bool carries = sort.space().carried != SortSpace::kNothing;
  const int64_t room = keys.elements() / 2;
  const Value from = k.Index(half * room), to = k.Index((1 - half) * room);
  const DigitSource source = {[&](Value i) { return keys.Load(from + i); },
                              [&](Value i) { return carried.Load(from + i); }};
  Digits digits(sort, pass);
  digits.Count(counters, source, count);
  sort.SumBefore(counters, k.Index(0), sort.shape().digits);
  digits.Move(counters, source, count, [&](Value place, Value key, const std::function<Value()>& with) {
    keys.Store(to + place, key);
    if (carries) carried.Store(to + place, with());
  });
}

}  // namespace hlo::gpu
