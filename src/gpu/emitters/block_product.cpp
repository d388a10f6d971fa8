#include "gpu/emitters/block_product.h"

#include <vector>

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

class ByThreads : public BlockProduct {
 public:
  ByThreads(KernelBuilder& k, int64_t lines, int64_t columns)
      : k_(k), lines_(lines / k.warps()), width_(static_cast<int>(columns / 32)) {
    for (int64_t i = 0; i < lines_; ++i) sums_.push_back(k_.MakeSlot(Type::kF32, width_));
  }

  void Clear() override {
    for (const Slot& sum : sums_) k_.Fill(sum, 0.0);
  }

  void Add(const LeftMatrix& left, const Array& right, TilePitches right_pitches, int64_t terms) override {
    k_.Warps([&] {
      const Value first = left.at + k_.warp() * (lines_ * left.pitch);
      k_.Tile(width_, [&](Value column) {
        std::vector<Variable> running;
        for (const Slot& sum : sums_) running.push_back(k_.MakeVariable(sum.Get()));
        k_.Loop(
            int64_t{0}, terms, 1,
            [&](Value term) {
              const Value b = right.Load(term * right_pitches.term + column * right_pitches.line);
              for (int64_t i = 0; i < lines_; ++i) {
                const Value a = Convert(left.array.Load(first + (term + i * left.pitch)), Type::kF32);
                running[i].Set(Fma(a, b, running[i].Get()));
              }
            },
            8);
        for (int64_t i = 0; i < lines_; ++i) sums_[i].Set(running[i].Get());
      });
    });
  }

  void Store(const Array& to, Value at, int64_t pitch) override {
    k_.Warps([&] {
      const Value first = at + k_.warp() * (lines_ * pitch);
      k_.Tile(width_, [&](Value column) {
        for (int64_t i = 0; i < lines_; ++i) to.Store(first + i * pitch + column, Convert(sums_[i].Get(), to.type()));
      });
    });
  }

 private:
  KernelBuilder& k_;
  const int64_t lines_;
  const int width_;
  std::vector<Slot> sums_;
};

class ByMatrixUnits : public BlockProduct {
 public:
  ByMatrixUnits(KernelBuilder& k, int64_t lines, int64_t columns, MmaShape shape)
      : k_(k), shape_(shape), lines_(lines), columns_(columns / k.warps()) {
    for (int64_t i = 0; i < lines_ / kMmaRows * (columns_ / kMmaColumns); ++i) sums_.push_back(k_.MakeSum(shape_));
  }

  void Clear() override {
    for (const SumFragment& sum : sums_) k_.Fill(sum, k_.Constant(Type::kF32, 0.0));
  }

  void Add(const LeftMatrix& left, const Array& right, TilePitches right_pitches, int64_t terms) override {
    const bool by_column = right_pitches.term == 1;
    const int64_t pitch = by_column ? right_pitches.line : right_pitches.term;
    k_.Warps([&] {
      const Value column = k_.warp() * columns_;
      for (int64_t term = 0; term < terms; term += kernel::InfoOf(shape_).terms) {
        std::vector<LeftFragment> lefts;
        for (int64_t m = 0; m < lines_; m += kMmaRows) {
          lefts.push_back(k_.MakeLeft(shape_));
          k_.LoadFragment(lefts.back(), left.array, left.at + (m * left.pitch + term), left.pitch,
                          MatrixOrder::kRowMajor);
        }
        for (int64_t n = 0; n < columns_ / kMmaColumns; ++n) {
          const RightFragment fragment = k_.MakeRight(shape_);
          k_.LoadFragment(fragment, right, (column + n * kMmaColumns) * right_pitches.line + term * right_pitches.term,
                          pitch, by_column ? MatrixOrder::kColumnMajor : MatrixOrder::kRowMajor);
          for (size_t m = 0; m < lefts.size(); ++m) k_.Mma(Sum(m, n), lefts[m], fragment);
        }
      }
    });
  }

  void Store(const Array& to, Value at, int64_t pitch) override {
    k_.Warps([&] {
      const Value column = k_.warp() * columns_;
      k_.Phase([&] {
        for (int64_t m = 0; m < lines_ / kMmaRows; ++m) {
          for (int64_t n = 0; n < columns_ / kMmaColumns; ++n) {
            const SumFragment sum = Sum(m, n);
            for (int i = 0; i < sum.width(); ++i) {
              const Value line = sum.Row(i) + m * kMmaRows;
              to.Store(at + line * pitch + (column + n * kMmaColumns + sum.Column(i)), Convert(sum.Get(i), to.type()));
            }
          }
        }
      });
    });
  }

 private:
  SumFragment Sum(int64_t m, int64_t n) const { return sums_[m * (columns_ / kMmaColumns) + n]; }

  KernelBuilder& k_;
  const MmaShape shape_;
  const int64_t lines_, columns_;
  std::vector<SumFragment> sums_;
};

}  // namespace

std::unique_ptr<BlockProduct> MakeBlockProduct(KernelBuilder& k, int64_t lines, int64_t columns,
                                               std::optional<MmaShape> shape) {
  if (shape) return std::make_unique<ByMatrixUnits>(k, lines, columns, *shape);
  return std::make_unique<ByThreads>(k, lines, columns);
}

}  // namespace hlo::gpu
