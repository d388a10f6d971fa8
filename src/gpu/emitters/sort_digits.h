// One stable pass over a digit of the keys: counts the digits, sums the counts before each digit, and moves the keys in
// order.
#ifndef HLO_GPU_EMITTERS_SORT_DIGITS_H_
#define HLO_GPU_EMITTERS_SORT_DIGITS_H_

#include <functional>

#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {

struct DigitSource {
  std::function<Value(Value i)> key, carried;
};

class Digits {
 public:
  using Mover = std::function<void(Value to, Value key, const std::function<Value()>& carried)>;

  Digits(SortKernel& sort, int pass);

  void Count(Array counters, const DigitSource& source, Value count);
  void Move(Array counters, const DigitSource& source, Value count, const Mover& move);

 private:
  Value DigitOf(Value key) const;

  SortKernel& sort_;
  KernelBuilder& k_;
  int64_t digits_, shift_;
};

// Sorts `count` keys by the digit of `pass`. Moves them, with carried data, from half `half` (0 or 1) of the arrays to
// the other half.
void SortByDigit(SortKernel& sort, int pass, int half, Array keys, Array carried, Array counters, Value count);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SORT_DIGITS_H_
