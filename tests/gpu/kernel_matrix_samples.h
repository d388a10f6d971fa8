// Kernels with matrix products, for tests of both lowerings.
#ifndef HLO_TESTS_GPU_KERNEL_MATRIX_SAMPLES_H_
#define HLO_TESTS_GPU_KERNEL_MATRIX_SAMPLES_H_

#include <utility>

#include "gpu/kernel/builder.h"
#include "gpu/kernel/mma.h"

namespace hlo::kernel {

constexpr MmaShape kMmaShapes[] = {MmaShape::kF16, MmaShape::kBF16, MmaShape::kTF32, MmaShape::kS8};

// A product of 64 x 64 matrices through shared memory. A block computes 32 x 32 elements, a warp 16 x 16.
inline Kernel MatrixProduct(MmaShape shape, MatrixOrder left_order = MatrixOrder::kRowMajor,
                            MatrixOrder right_order = MatrixOrder::kRowMajor) {
  constexpr int64_t kSize = 64, kTile = 32, kPart = 16;
  const MmaInfo& info = InfoOf(shape);
  const int64_t pitch = kTile + 16 / Bytes(info.operand);
  KernelBuilder k("matrix_product", (kSize / kTile) * (kSize / kTile), 128);
  const Array a = k.Input("a", info.operand, kSize * kSize), b = k.Input("b", info.operand, kSize * kSize);
  const Array c = k.Output("c", info.accumulator, kSize * kSize);
  const Array left = k.Shared("left", info.operand, kTile * pitch),
              right = k.Shared("right", info.operand, kTile * pitch);
  const SumFragment sums[] = {k.MakeSum(shape), k.MakeSum(shape)};
  for (const SumFragment sum : sums) k.Fill(sum, k.Constant(info.accumulator, 0));
  const Value row0 = k.block() / 2 * kTile, column0 = k.block() % 2 * kTile;
  const auto at = [](MatrixOrder order, Value row, Value column, int64_t pitch) {
    return order == MatrixOrder::kRowMajor ? row * pitch + column : row + column * pitch;
  };
  const auto part = [&] { return std::pair(k.warp() / 2 * kPart, k.warp() % 2 * kPart); };
  k.SetSource("dot.5");
  k.Loop(0, kSize, kTile, [&](Value first) {
    const Value from_a = at(left_order, row0, first, kSize), from_b = at(right_order, first, column0, kSize);
    k.Tile(8, [&](Value i) {
      const Value line = i / kTile, place = i % kTile;
      left.Store(line * pitch + place, a.Load(from_a + line * kSize + place));
      right.Store(line * pitch + place, b.Load(from_b + line * kSize + place));
    });
    k.Warps([&] {
      const LeftFragment x = k.MakeLeft(shape);
      const RightFragment y = k.MakeRight(shape);
      const auto [row, column] = part();
      for (int64_t term = 0; term < kTile; term += info.terms) {
        k.LoadFragment(x, left, at(left_order, row, k.Index(term), pitch), pitch, left_order);
        for (int64_t n = 0; n < 2; ++n) {
          k.LoadFragment(y, right, at(right_order, k.Index(term), column + n * kMmaColumns, pitch), pitch, right_order);
          k.Mma(sums[n], x, y);
        }
      }
    });
  });
  k.Warps([&] {
    const auto [row, column] = part();
    k.Phase([&, row, column] {
      for (int64_t n = 0; n < 2; ++n) {
        for (int i = 0; i < sums[n].width(); ++i) {
          const Value to_row = row0 + row + sums[n].Row(i),
                      to_column = column0 + column + n * kMmaColumns + sums[n].Column(i);
          c.Store(to_row * kSize + to_column, sums[n].Get(i));
        }
      }
    });
  });
  return std::move(k).Build();
}

// A product of matrices outside shared memory, added to a sum. The left matrix is negated first. Each line ends with
// `spare` unused elements, so that lines are not aligned.
inline Kernel OneProduct(MmaShape shape, MatrixOrder order, int64_t spare) {
  const MmaInfo& info = InfoOf(shape);
  const bool rows = order == MatrixOrder::kRowMajor;
  const int64_t left_pitch = (rows ? info.terms : kMmaRows) + spare,
                right_pitch = (rows ? kMmaColumns : info.terms) + spare,
                sum_pitch = (rows ? kMmaColumns : kMmaRows) + spare;
  KernelBuilder k("one_product", 2, 32);
  const Array a = k.Input("a", info.operand, 2 + left_pitch * (rows ? kMmaRows : info.terms)),
              b = k.Input("b", info.operand, right_pitch * (rows ? info.terms : kMmaColumns)),
              c = k.Input("c", info.accumulator, sum_pitch * (rows ? kMmaRows : kMmaColumns));
  const Array d = k.Output("d", info.accumulator, 2 * kMmaRows * kMmaColumns);
  const LeftFragment left = k.MakeLeft(shape);
  const RightFragment right = k.MakeRight(shape);
  const SumFragment sum = k.MakeSum(shape);
  k.Warps([&] {
    k.LoadFragment(left, a, k.block() * (spare + 1), left_pitch, order);
    k.LoadFragment(right, b, k.Index(0), right_pitch, order);
    k.LoadFragment(sum, c, k.Index(0), sum_pitch, order);
    k.Phase([&] {
      for (int i = 0; i < left.width(); ++i) left.Set(i, -left.Get(i));
    });
    k.Mma(sum, left, right);
    k.Mma(sum, left, right);
  });
  k.Phase([&] {
    for (int i = 0; i < sum.width(); ++i)
      d.Store(k.block() * (kMmaRows * kMmaColumns) + sum.Row(i) * kMmaColumns + sum.Column(i), sum.Get(i));
  });
  return std::move(k).Build();
}

// Each block multiplies three rows by a panel of 64 columns in shared memory, and stores `columns` columns. The loop
// over the terms has equal bounds in all lanes, and the sums live across it. If `transposed`, the panel has contiguous
// terms in memory.
inline Kernel PanelProduct(Type type, int64_t columns, bool transposed) {
  constexpr int64_t kRows = 3, kTerms = 48, kColumns = 64, kBlocks = 2;
  KernelBuilder k("panel_product", kBlocks, 32);
  const Array x = k.Input("x", type, kBlocks * kRows * kTerms), y = k.Input("y", type, kBlocks * kColumns * kTerms);
  const Array z = k.Output("z", type, kBlocks * kRows * columns);
  const Array lhs = k.Shared("lhs", type, kRows * kTerms);
  const Array rhs = transposed ? k.SharedTile("rhs", type, kColumns, kTerms) : k.Shared("rhs", type, kColumns * kTerms);
  k.Loop(0, kRows * kTerms, 32, [&](Value begin) {
    k.Tile(1, kRows * kTerms - begin,
           [&](Value i) { lhs.Store(begin + i, x.Load(k.block() * (kRows * kTerms) + begin + i)); });
  });
  const Value first = k.block() * (kColumns * kTerms);
  if (transposed) {
    k.Loop(0, kColumns, 1, [&](Value column) {
      k.Tile(2, k.Index(kTerms), [&](Value t) { rhs.StoreAt(column, t, y.Load(first + column * kTerms + t)); });
    });
    k.TransposeTile(rhs, k.Index(kColumns), k.Index(kTerms));
  } else {
    k.Loop(0, kColumns * kTerms, 64,
           [&](Value begin) { k.Tile(2, [&](Value i) { rhs.Store(begin + i, y.Load(first + begin + i)); }); });
  }
  k.Tile(2, k.Index(columns), [&](Value i) {
    std::vector<Variable> sums;
    for (int64_t r = 0; r < kRows; ++r) sums.push_back(k.MakeVariable(k.Constant(type, 0)));
    k.Loop(0, kTerms, 1, [&](Value t) {
      const Value b = transposed ? rhs.LoadTransposed(i, t) : rhs.Load(t * kColumns + i);
      for (int64_t r = 0; r < kRows; ++r) sums[r].Set(lhs.Load(t + r * kTerms) * b + sums[r].Get());
    });
    for (int64_t r = 0; r < kRows; ++r) z.Store((k.block() * kRows + r) * columns + i, sums[r].Get());
  });
  return std::move(k).Build();
}

}  // namespace hlo::kernel

#endif  // HLO_TESTS_GPU_KERNEL_MATRIX_SAMPLES_H_
