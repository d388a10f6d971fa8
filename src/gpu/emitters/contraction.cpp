// Dot and convolution with an elementwise epilogue, by GPU threads. Other emitters use matrix units or are for hosts
// (product.h, tiled_product.h).
#include "gpu/plan/contraction_space.h"

#include <functional>

#include "base/text.h"
#include "gpu/emitters/scalar.h"
#include "gpu/emitters/tiled_product.h"

namespace hlo::gpu {
namespace {

class ThreadProduct : public TiledProduct {
 public:
  ThreadProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request)
      : TiledProduct(space, hero, request, SumTypeOf(hero), {request.plan.tile[2], 1}, {1, request.plan.tile[1]}),
        warp_rows_(tile_rows_ / warps_),
        width_(static_cast<int>(request.plan.vector)) {}

  EmittedKernel Finish() && {
    return std::move(results_).Finish(hero_.Is(Opcode::kDot) ? "dot, tiled" : "convolution, tiled", sum_type_,
                                      space_.Size(Role::kReduced));
  }

 private:
  void BeginSums() override {
    for (int64_t r = 0; r < warp_rows_; ++r) sums_.push_back(k_.MakeSlot(sum_type_, width_));
    Clear();
  }

  void Multiply() override {
    k_.Warps([&] {
      const Value first = k_.warp() * (warp_rows_ * panel_);
      k_.Tile(width_, [&](Value i) {
        std::vector<Variable> running;
        for (const Slot& sum : sums_) running.push_back(k_.MakeVariable(sum.Get()));
        k_.Loop(
            int64_t{0}, panel_, 1,
            [&](Value t) {
              const Value b = rhs_tile_.Load(t * tile_columns_ + i);
              for (int64_t r = 0; r < warp_rows_; ++r) {
                const Value a = lhs_tile_.Load(first + (t + r * panel_));
                running[r].Set(kernel::IsFloat(sum_type_) ? Fma(a, b, running[r].Get()) : running[r].Get() + a * b);
              }
            },
            8);
        for (size_t r = 0; r < sums_.size(); ++r) sums_[r].Set(running[r].Get());
      });
    });
  }

  void Store() override {
    k_.Warps([&] { results_.Store(sums_, row0_, tile_rows_, column0_, tile_columns_); });
  }

  void LeavePartials(const Array& partials, Value begin) override {
    k_.Warps([&] { ForEachSum(begin, [&](const Slot& sum, Value at) { partials.Store(at, sum.Get()); }); });
  }

  void StorePartials(const Array& partials, Value begin) override {
    k_.Warps([&] {
      Clear();
      k_.Loop(int64_t{0}, splits_, 1, [&](Value split) {
        ForEachSum(begin + split * (tile_rows_ * tile_columns_),
                   [&](const Slot& sum, Value at) { sum.Set(sum.Get() + partials.Load(at)); });
      });
      results_.Store(sums_, row0_, tile_rows_, column0_, tile_columns_);
    });
  }

  void Clear() {
    for (const Slot& sum : sums_) {
      k_.Fill(sum, kernel::IsFloat(sum_type_) ? k_.Constant(sum_type_, 0.0) : k_.Constant(sum_type_, int64_t{0}));
    }
  }

  void ForEachSum(Value begin, const std::function<void(const Slot&, Value)>& f) {
    const Value mine = begin + k_.warp() * (warp_rows_ * tile_columns_);
    k_.Tile(width_, [&](Value i) {
      for (int64_t r = 0; r < warp_rows_; ++r) f(sums_[r], mine + i + r * tile_columns_);
    });
  }

  const int64_t warp_rows_;
  const int width_;
  std::vector<Slot> sums_;
};

}  // namespace

Result<EmittedKernel> EmitContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& hero = *TRY(ProductOf(request));
  TRY(request.RequireBlock(3));
  if (plan.algorithm == kMatrixUnits) return EmitMatrixContraction(request);
  TRY(request.Require(plan.algorithm.empty(), Str("no product kernel has the algorithm '", plan.algorithm, "'")));
  if (plan.tile[2] == kStreamedPanel) return EmitStreamedContraction(request);
  if (plan.tile[2] >= kLeastPackedPanel) return EmitPackedContraction(request);
  const int64_t warps = plan.threads / 32;
  TRY(request.Require(
      plan.tile[0] % warps == 0 && plan.tile[0] / warps <= 16 && plan.tile[1] == 32 * plan.vector && plan.vector <= 4 &&
          (plan.tile[2] == 32 || plan.tile[2] == 64),
      Str("a tile for ", plan.threads, " threads with vector ", plan.vector, " must have 1 to 16 times ", warps,
          " rows, ", 32 * plan.vector, " columns and 32 or 64 terms")));
  TRY(request.Require(plan.stages == 1, "its tiles are filled one at a time, so stages must be 1"));
  const auto space = TRY(ProductSpaceOf(request, hero));
  ThreadProduct product(*space, hero, request);
  product.Emit();
  return std::move(product).Finish();
}

}  // namespace hlo::gpu
