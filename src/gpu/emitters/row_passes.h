// Passes over rows (plan/rows_space.h), for rows and attention.
#ifndef HLO_GPU_EMITTERS_ROW_PASSES_H_
#define HLO_GPU_EMITTERS_ROW_PASSES_H_

#include <vector>

#include "gpu/emitters/frame.h"
#include "gpu/emitters/reducers.h"
#include "gpu/plan/rows_space.h"

namespace hlo::gpu {

class RowPasses {
 public:
  // Borrows all arguments. A warp or block processes a row, `step` elements at a time. Output parameters with a value
  // for each element come before those with a value for each row.
  RowPasses(RowsSpace& space, KernelFrame& frame, const KernelPlan& plan, bool by_warp, int64_t step);
  virtual ~RowPasses() = default;

  // Gives each kept value a shared array of `rows` rows.
  void KeepRows(int64_t rows);
  // Emits all passes over the row whose variables are bound. In the kept arrays it starts at `kept_at`.
  void Emit(Value kept_at);
  void AddChains(PrecisionPlan& precision) const;

 protected:
  // Derived classes may bind more values for an element, and store more.
  virtual void BindElement(Value element) {}
  virtual void StoreElement(int pass, Value element) {}

 private:
  struct KeptArray {
    RowsSpace::Kept value;
    Array array;
  };

  void EmitPass(int pass, Value kept_at);
  void Hoist(int pass);
  std::vector<KeptArray> KeptFor(int pass) const;
  std::vector<Value> EmitElement(int pass, Reducers& reducers, const std::vector<Value>& sums, Value element,
                                 Value kept_at);
  void StoreWhole(int pass);

  RowsSpace& space_;
  KernelFrame& frame_;
  KernelBuilder& k_;
  Emission& emission_;
  const KernelPlan& plan_;
  const int width_;
  const int64_t row_, step_;
  const bool by_warp_;
  std::vector<Array> elements_, whole_;
  std::vector<KeptArray> kept_;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_ROW_PASSES_H_
