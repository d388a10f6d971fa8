// Rows gone through pass by pass (plan/rows_space.h): what kernels of rows and of attention have in common.
#ifndef HLO_GPU_EMITTERS_ROW_PASSES_H_
#define HLO_GPU_EMITTERS_ROW_PASSES_H_

#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/emitters/reducers.h"
#include "gpu/plan/rows_space.h"

namespace hlo::gpu {

class RowPasses {
 public:
  // All are borrowed. A row is a warp's, or a block's, which takes `step` elements at a time. Parameters are made in
  // this order: for the results with an element for each of a row's, and those with one for each row.
  RowPasses(RowsSpace& space, KernelFrame& frame, const KernelPlan& plan, bool by_warp, int64_t step);
  virtual ~RowPasses() = default;

  // A shared array for each value that the plan keeps, with space for so many rows.
  void KeepRows(int64_t rows);
  // All passes over the row whose variables are bound, which begins at `kept_at` in arrays of what is kept.
  void Emit(kernel::Value kept_at);
  // What is promised of the reductions.
  void AddChains(PrecisionPlan& precision) const;

 protected:
  // What else is known of an element that is bound; and what else becomes of it in a pass.
  virtual void BindElement(kernel::Value element) {}
  virtual void StoreElement(int pass, kernel::Value element) {}

 private:
  struct KeptArray {
    RowsSpace::Kept value;
    kernel::Array array;
  };

  void EmitPass(int pass, kernel::Value kept_at);
  void Hoist(int pass);
  std::vector<KeptArray> KeptFor(int pass) const;
  std::vector<kernel::Value> EmitElement(int pass, Reducers& reducers, const std::vector<kernel::Value>& sums,
                                         kernel::Value element, kernel::Value kept_at);
  void StoreWhole(int pass);

  RowsSpace& space_;
  KernelFrame& frame_;
  kernel::KernelBuilder& k_;
  Emission& emission_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t row_, step_;
  const bool by_warp_;
  std::vector<kernel::Array> elements_, whole_;
  std::vector<KeptArray> kept_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_ROW_PASSES_H_
