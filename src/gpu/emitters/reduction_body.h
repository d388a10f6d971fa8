// The parts that all kernels of reductions share.
#ifndef HLO_GPU_EMITTERS_REDUCTION_BODY_H_
#define HLO_GPU_EMITTERS_REDUCTION_BODY_H_

#include <functional>
#include <memory>
#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/emitters/reducers.h"
#include "gpu/emitters/scalar.h"
#include "gpu/plan/launch_shape.h"

namespace hlo::gpu {

// The kernel's reduces, and its stores during and after them.
class ReductionBody : public Reducers {
 public:
  ReductionBody(ReductionSpace& space, KernelFrame& frame, bool by_bits);
  // Adds one term for each of `steps`, and makes its stores. `bind` binds the lane of step u. `is_first`, if given, is
  // true while no lane has a term, which is cheaper than a flag for each lane.
  void Accumulate(const std::vector<Slot>& slots, const std::vector<Emission::ScopeData>& steps,
                  const std::function<void(size_t)>& bind, Value is_first);
  std::vector<Value> TermsAndStores();
  void HoistInputs();

  void AddPartial(const std::vector<Slot>& sums, const std::vector<Array>& partials, const std::function<Value()>& at);

  void Finish(const std::vector<Value>& totals);
  void HoistEpilogues();

 private:
  ReductionSpace& space_;
  KernelBuilder& k_;
  Emission& emission_;
  std::vector<Array> epilogues_, stores_;
};

// Partial results in scratch memory. Each group of blocks has a counter.
struct Partials {
  std::vector<Array> values;
  Array counters;
};
Partials MakePartials(KernelFrame& frame, const std::vector<Type>& types, int64_t elements, int64_t counters);

EmittedKernel WithChain(EmittedKernel kernel, const ReductionSpace& reduction, int64_t chain);

bool UsesTransposedTile(const KernelPlan& plan);
// Whether threads are lanes of vectors: only hosts have so few threads with one element each. A GPU needs no reduction
// by bits, because it has an instruction for a maximum of floats.
bool AreLanesVectors(const KernelPlan& plan);

// The space of the request's reduces, after checks that rows and columns share.
Result<std::unique_ptr<ReductionSpace>> SpaceFor(const EmitRequest& request, Role minor_role);

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_REDUCTION_BODY_H_
