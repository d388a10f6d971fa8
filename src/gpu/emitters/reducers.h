// Several reduces that are computed together.
#ifndef HLO_GPU_EMITTERS_REDUCERS_H_
#define HLO_GPU_EMITTERS_REDUCERS_H_

#include <span>
#include <string>
#include <vector>

#include "gpu/emitters/emission.h"
#include "gpu/emitters/names.h"
#include "gpu/plan/reduction_space.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

class Reducers {
 public:
  // Type of the flag (counts()). 32 bits suit shuffles.
  static constexpr Type kFlag = Type::kU32;

  // Borrows all arguments. With `by_bits`, maxima and minima of 16-bit floats work on their bits, so that a vector
  // holds twice as many elements.
  Reducers(KernelBuilder& k, Emission& emission, std::vector<const ReducedHero*> heroes, bool by_bits = false);

  bool empty() const { return heroes_.empty(); }
  // Whether a reduce has no known identity. Then a flag follows the accumulators: whether they contain a term.
  bool counts() const { return counts_; }
  std::vector<Type> AccumulatorTypes() const;

  // Slots without terms: they have the identities, or a flag of 0. Called at block or warp level.
  std::vector<Slot> MakeSlots(int width);
  // The terms of the element whose index is bound.
  std::vector<Value> Terms();
  // The terms of `a` precede the terms of `b`.
  std::vector<Value> Combine(std::span<const Value> a, std::span<const Value> b);
  KernelBuilder::CombineMany Combiner();
  // Binds the results of `totals` in this scope. Each initial value is combined once, so it need not be an identity.
  void Give(std::span<const Value> totals);

 private:
  Value OfBits(size_t hero, std::span<const Value> totals);

  KernelBuilder& k_;
  Emission& emission_;
  const std::vector<const ReducedHero*> heroes_;
  std::vector<bool> has_identity_, by_bits_;
  bool counts_ = false;
};

// Records `chain`, the most additions that a term passes through, if `hero` is a sum. Other folds may round once for
// each of `terms`.
void AddChain(const ReducedHero& hero, int64_t chain, int64_t terms, PrecisionPlan& precision);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_REDUCERS_H_
