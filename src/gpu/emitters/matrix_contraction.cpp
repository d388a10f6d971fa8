// Products by a GPU's matrix units (mma.sync), of bf16 or f16 operands with sums in f32. A warp computes 16 or 32 rows
// and half of the columns of the tile. A lane's elements are scattered, so results pass through shared memory, 16 rows
// at a time.
#include <functional>

#include "base/text.h"
#include "gpu/emitters/scalar.h"
#include "gpu/emitters/tiled_product.h"
#include "gpu/kernel/mma.h"

namespace hlo::gpu {
namespace {

using kernel::kMmaColumns;
using kernel::kMmaRows;
using kernel::LeftFragment;
using kernel::MatrixOrder;
using kernel::MmaShape;
using kernel::RightFragment;
using kernel::SumFragment;

constexpr int64_t kWarpRows = 4, kWarpColumns = 2, kColumnsOfWarp = 32;
// Elements of padding, with which eight lines of 16 bytes start in different banks.
constexpr int64_t kSpare = 8;

MmaShape ShapeOf(const Instruction& product) {
  return product.operand(0).shape().type() == PrimitiveType::kBF16 ? MmaShape::kBF16 : MmaShape::kF16;
}

TilePitches RhsPitches(const ContractionSpace& space, const KernelPlan& plan) {
  if (space.RunsAlong(space.rhs, space.term())) return {plan.tile[2] + kSpare, 1};
  return {1, plan.tile[1] + kSpare};
}

class MatrixProduct : public TiledProduct {
 public:
  MatrixProduct(ContractionSpace& space, const Instruction& hero, const EmitRequest& request)
      : TiledProduct(space, hero, request, InfoOf(ShapeOf(hero)).operand, {request.plan.tile[2] + kSpare, 1},
                     RhsPitches(space, request.plan)),
        shape_(ShapeOf(hero)),
        rows_of_warp_(tile_rows_ / kWarpRows) {}

  // Matrix units lose at most kLost roundings for each term (mma.h). The splits' sums are added as floats.
  EmittedKernel Finish() && {
    constexpr int64_t kLost = 3;
    return std::move(results_).Finish(hero_.Is(Opcode::kDot) ? "dot, matrix units" : "convolution, matrix units",
                                      sum_type_, kLost * space_.Size(Role::kReduced) + splits_, SumRounding::kTruncate);
  }

 private:
  void BeginSums() override {
    rows_ = k_.Shared("rows", sum_type_, warps_ * kMmaRows * kColumnsOfWarp);
    row_ = k_.MakeSlot(sum_type_);
    for (int64_t i = 0; i < rows_of_warp_ / kMmaRows * (kColumnsOfWarp / kMmaColumns); ++i) {
      sums_.push_back(k_.MakeSum(shape_));
      k_.Fill(sums_.back(), k_.Constant(sum_type_, 0.0));
    }
  }

  Value FirstRow() { return k_.warp() / kWarpColumns * rows_of_warp_; }
  Value FirstColumn() { return k_.warp() % kWarpColumns * kColumnsOfWarp; }

  void Multiply() override {
    const bool rhs_by_column = rhs_pitches_.term == 1;
    const int64_t rhs_pitch = rhs_by_column ? rhs_pitches_.line : rhs_pitches_.term;
    k_.Warps([&] {
      const Value row = FirstRow(), column = FirstColumn();
      for (int64_t term = 0; term < panel_; term += InfoOf(shape_).terms) {
        std::vector<LeftFragment> lefts;
        for (int64_t m = 0; m < rows_of_warp_; m += kMmaRows) {
          lefts.push_back(k_.MakeLeft(shape_));
          k_.LoadFragment(lefts.back(), lhs_tile_, (row + m) * lhs_pitches_.line + term, lhs_pitches_.line,
                          MatrixOrder::kRowMajor);
        }
        for (int64_t n = 0; n < kColumnsOfWarp / kMmaColumns; ++n) {
          const RightFragment right = k_.MakeRight(shape_);
          k_.LoadFragment(right, rhs_tile_, (column + n * kMmaColumns) * rhs_pitches_.line + term * rhs_pitches_.term,
                          rhs_pitch, rhs_by_column ? MatrixOrder::kColumnMajor : MatrixOrder::kRowMajor);
          for (size_t m = 0; m < lefts.size(); ++m) k_.Mma(Sum(m, n), lefts[m], right);
        }
      }
    });
  }

  SumFragment Sum(int64_t m, int64_t n) const { return sums_[m * (kColumnsOfWarp / kMmaColumns) + n]; }

  // Calls f(row of the tile) while row_ holds the warp's part of it.
  void ForEachRow(const std::function<void(Value)>& f) {
    k_.Warps([&] {
      const Value mine = k_.warp() * (kMmaRows * kColumnsOfWarp);
      for (int64_t m = 0; m < rows_of_warp_ / kMmaRows; ++m) {
        k_.Phase([&] {
          for (int64_t n = 0; n < kColumnsOfWarp / kMmaColumns; ++n) {
            const SumFragment sum = Sum(m, n);
            for (int i = 0; i < sum.width(); ++i)
              rows_.Store(mine + sum.Row(i) * kColumnsOfWarp + n * kMmaColumns + sum.Column(i), sum.Get(i));
          }
        });
        k_.Loop(int64_t{0}, kMmaRows, 1, [&](Value r) {
          k_.Tile(1, [&](Value j) { row_.Set(rows_.Load(mine + r * kColumnsOfWarp + j)); });
          f(FirstRow() + m * kMmaRows + r);
        });
      }
    });
  }

  void StoreRow(Value row) {
    Emission::Scope scope(emission_);
    const auto store = [&] {
      emission_.Bind(space_.row().e, row0_ + row);
      results_.StoreRow(row_, column0_ + FirstColumn(), kColumnsOfWarp);
    };
    const int64_t columns = space_.column().size;
    const auto store_columns = [&] {
      if (columns % tile_columns_ == 0) store();
      else k_.If(column0_ + FirstColumn() < columns, store);
    };
    if (space_.row().size % tile_rows_ == 0) store_columns();
    else k_.If(row0_ + row < space_.row().size, store_columns);
  }

  void Store() override {
    emission_.SetLane(space_.column().e);
    ForEachRow([&](Value row) { StoreRow(row); });
  }

  void LeavePartials(const Array& partials, Value begin) override {
    ForEachRow([&](Value row) {
      k_.Tile(1, [&](Value j) { partials.Store(begin + row * tile_columns_ + FirstColumn() + j, row_.Get()); });
    });
  }

  void StorePartials(const Array& partials, Value begin) override {
    emission_.SetLane(space_.column().e);
    k_.Warps([&] {
      k_.Loop(int64_t{0}, rows_of_warp_, 1, [&](Value r) {
        const Value row = FirstRow() + r;
        k_.Fill(row_, k_.Constant(sum_type_, 0.0));
        k_.Loop(
            int64_t{0}, splits_, 1,
            [&](Value split) {
              const Value from = begin + (split * tile_rows_ + row) * tile_columns_ + FirstColumn();
              k_.Tile(1, [&](Value j) { row_.Set(row_.Get() + partials.Load(from + j)); });
            },
            4);
        StoreRow(row);
      });
    });
  }

  const MmaShape shape_;
  const int64_t rows_of_warp_;
  std::vector<SumFragment> sums_;
  // 16 rows of each warp, before they are stored.
  Array rows_;
  Slot row_;
};

}  // namespace

Result<EmittedKernel> EmitMatrixContraction(const EmitRequest& request) {
  const KernelPlan& plan = request.plan;
  const Instruction& hero = *TRY(ProductOf(request));
  TRY(request.Require(FitsMatrixUnits(hero),
                      "matrix units need two operands of bf16 or f16, and a result of that type or f32"));
  TRY(request.Require((plan.tile[0] == 64 || plan.tile[0] == 128) && plan.tile[1] == kWarpColumns * kColumnsOfWarp &&
                          (plan.tile[2] == 32 || plan.tile[2] == 64) && plan.threads == 32 * kWarpRows * kWarpColumns &&
                          plan.vector == 1 && plan.stages == 1,
                      "a tile of matrix units must have 64 or 128 rows, 64 columns, 32 or 64 terms, and 256 threads"));
  const auto space = TRY(ProductSpaceOf(request, hero));
  MatrixProduct product(*space, hero, request);
  product.Emit();
  return std::move(product).Finish();
}

}  // namespace hlo::gpu
