// Kernels written with the builder: what the host computes, what PTX comes out.
#define GTEST_DONT_DEFINE_FAIL 1
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gpu/kernel/builder.h"
#include "gpu/kernel/host.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::kernel {
namespace {

Kernel Scale(int64_t count) {
  KernelBuilder k("scale", CeilDiv(count, 256 * 4), 256);
  const Array x = k.Input("x", Type::kF32, count);
  const Array z = k.Output("z", Type::kF32, count);
  const Value base = k.block() * (256 * 4);
  k.Tile(4, count - base, [&](Value i) { z.Store(base + i, x.Load(base + i) * 2.0 + 1.0); });
  return std::move(k).Build();
}

Kernel RowSum(int64_t rows, int64_t columns) {
  KernelBuilder k("row_sum", rows, 256);
  const Array x = k.Input("x", Type::kF32, rows * columns);
  const Array y = k.Output("y", Type::kF32, rows);
  const Slot sum = k.MakeSlot(Type::kF32, 4);
  k.Fill(sum, 0.0);
  const Value row = k.block() * columns;
  k.Loop(0, columns, 256 * 4, [&](Value begin) {
    k.Tile(4, columns - begin, [&](Value i) { sum.Set(sum.Get() + x.Load(row + begin + i)); });
  });
  const Value total = k.BlockReduce(sum, [](Value a, Value b) { return a + b; });
  y.Store(k.block(), total);
  return std::move(k).Build();
}

TEST(Kernel, ElementwiseRunsOnTheHost) {
  constexpr int64_t kCount = 10007;
  std::vector<float> x(kCount), z(kCount + 1, -1);
  for (int64_t i = 0; i < kCount; ++i) x[i] = static_cast<float>(i);
  const auto kernel = CompileHost(Scale(kCount));
  ASSERT_TRUE(kernel) << kernel.error().message();
  void* const arguments[] = {x.data(), z.data()};
  kernel->Launch(arguments);
  for (int64_t i = 0; i < kCount; ++i) ASSERT_EQ(z[i], x[i] * 2 + 1) << i;
  EXPECT_EQ(z[kCount], -1);
}

TEST(Kernel, RowSumRunsOnTheHost) {
  constexpr int64_t kRows = 5, kColumns = 1000;
  std::vector<float> x(kRows * kColumns), y(kRows);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 17);
  const auto kernel = CompileHost(RowSum(kRows, kColumns));
  ASSERT_TRUE(kernel) << kernel.error().message();
  void* const arguments[] = {x.data(), y.data()};
  kernel->Launch(arguments);
  for (int64_t row = 0; row < kRows; ++row) {
    float sum = 0;
    for (int64_t i = 0; i < kColumns; ++i) sum += x[row * kColumns + i];
    EXPECT_EQ(y[row], sum);
  }
}

}  // namespace
}  // namespace hlo::kernel
