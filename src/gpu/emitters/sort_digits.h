// One pass over a digit of keys, stable, where one walk goes through them: their digits are counted; a sum over the
// counts is where the first key with a digit goes; then the keys are moved in their order.
#ifndef HLO_GPU_EMITTERS_SORT_DIGITS_H_
#define HLO_GPU_EMITTERS_SORT_DIGITS_H_

#include <functional>

#include "gpu/emitters/sort_kernel.h"

namespace hlo::gpu {

// What is sorted: the key of the i-th element, and what moves with it.
struct DigitSource {
  std::function<kernel::Value(kernel::Value i)> key, carried;
};

class Digits {
 public:
  using Value = kernel::Value;
  using Array = kernel::Array;
  // Where an element goes.
  using Mover = std::function<void(Value to, Value key, const std::function<Value()>& carried)>;

  Digits(SortKernel& sort, int pass);

  // Of the first `count` elements.
  void Count(Array counters, const DigitSource& source, Value count);
  // Moves what is counted.
  void Move(Array counters, const DigitSource& source, Value count, const Mover& move);

 private:
  Value Of(Value key) const;

  SortKernel& sort_;
  kernel::KernelBuilder& k_;
  int64_t digits_, shift_;
};

// The pass over `count` keys, and what moves with them if anything does, from one half of the arrays to the other.
void SortByDigit(SortKernel& sort, int pass, int half, kernel::Array keys, kernel::Array carried,
                 kernel::Array counters, kernel::Value count);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_SORT_DIGITS_H_
