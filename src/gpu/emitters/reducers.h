// Reduces side by side, as every emitter that has some folds them: accumulators, terms, combining, and what is known at
// the end.
#ifndef HLO_GPU_EMITTERS_REDUCERS_H_
#define HLO_GPU_EMITTERS_REDUCERS_H_

#include <span>
#include <string>
#include <vector>

#include "gpu/emitters/emission.h"
#include "gpu/kernel/builder.h"
#include "gpu/plan/reduction_space.h"
#include "ir/precision_plan.h"

namespace hlo::gpu {

class Reducers {
 public:
  // Of the flag of counts(): 32 bits, as shuffles like them.
  static constexpr kernel::Type kFlag = kernel::Type::kU32;

  // All arguments are borrowed. `by_bits`: maxima and minima of floats of 16 bits are computed on their bits, as
  // integers; a vector then holds twice as many elements.
  Reducers(kernel::KernelBuilder& k, Emission& emission, std::vector<const ReducedHero*> heroes, bool by_bits = false);

  bool empty() const { return heroes_.empty(); }
  // Is there a reduce without a known identity? Then a flag stands behind all accumulators.
  bool counts() const { return counts_; }
  std::vector<kernel::Type> AccumulatorTypes() const;

  // At block or warp level: slots that hold what changes nothing, or a flag that says that they hold nothing yet.
  std::vector<kernel::Slot> MakeSlots(int width);
  // Of the element that is bound.
  std::vector<kernel::Value> Terms();
  // By accumulator; `a` comes before `b`.
  std::vector<kernel::Value> Combine(std::span<const kernel::Value> a, std::span<const kernel::Value> b);
  kernel::KernelBuilder::CombineMany Combiner();
  // From here on in this scope the results are known: the initial values count once, and need not be identities.
  void Give(std::span<const kernel::Value> totals);

 private:
  kernel::Value OfBits(size_t hero, std::span<const kernel::Value> totals);

  kernel::KernelBuilder& k_;
  Emission& emission_;
  const std::vector<const ReducedHero*> heroes_;
  std::vector<bool> has_identity_, by_bits_;  // By hero.
  bool counts_ = false;
};

// How many additions a term of `hero`, which has so many terms, passes through. In a product every rounding is one of
// the result, whatever the order: as many as there are terms.
void AddChain(const ReducedHero& hero, int64_t chain, int64_t terms, PrecisionPlan& precision);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_REDUCERS_H_
