// Tests of kernels that are written with the builder: their results on the host and their PTX.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/builder.h"
#include "gpu/kernel/distinct.h"

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

TEST(Kernel, ElementwiseKernelsRunOnTheHost) {
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

TEST(Kernel, RowSumsRunOnTheHost) {
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

TEST(Kernel, MayHaveManyParameters) {
  constexpr int kInputs = 40;
  KernelBuilder k("many", 1, 32);
  std::vector<Array> inputs;
  for (int i = 0; i < kInputs; ++i) inputs.push_back(k.Input("x", Type::kS32, 20));
  const Array y = k.Output("y", Type::kS32, 20);
  k.Tile(1, k.Index(20), [&](Value i) {
    Value sum = inputs[0].Load(i);
    for (int j = 1; j < kInputs; ++j) sum = sum + inputs[j].Load(i);
    y.Store(i, sum);
  });
  const auto kernel = CompileHost(std::move(k).Build());
  ASSERT_TRUE(kernel) << kernel.error().message();
  std::vector<std::vector<int>> storage(kInputs + 1, std::vector<int>(20));
  std::vector<void*> arguments;
  for (int j = 0; j <= kInputs; ++j) {
    for (int i = 0; i < 20; ++i) storage[j][i] = j * 100 + i;
    arguments.push_back(storage[j].data());
  }
  kernel->Launch(arguments);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(storage[kInputs][i], kInputs * (kInputs - 1) / 2 * 100 + kInputs * i);
}

TEST(Kernel, EqualKernelsHaveEqualHashes) {
  EXPECT_EQ(Hash(Scale(1000)), Hash(Scale(1000)));
  EXPECT_NE(Hash(Scale(1000)), Hash(Scale(1001)));
  EXPECT_NE(Hash(RowSum(5, 1000)), Hash(RowSum(5, 1001)));
}

// Barriers are placed only where different threads access the same shared memory in consecutive phases.
TEST(Kernel, BarriersArePlacedWhereNecessary) {
  const auto barriers = [](const Kernel& kernel) {
    const std::string text = ToString(kernel);
    int count = 0;
    for (size_t at = 0; (at = text.find(" barrier()", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(barriers(Scale(1000)), 0);
  EXPECT_EQ(barriers(RowSum(5, 1000)), 1);
  KernelBuilder k("loop", 1, 64);
  const Array y = k.Output("y", Type::kS32, 64), shared = k.Shared("shared", Type::kS32, 64);
  k.Loop(0, 4, 1, [&](Value) {  // Reads wait for the writes, and the writes of the next trip wait for the reads.
    k.Tile(1, [&](Value i) { shared.Store(i, Convert(i, Type::kS32)); });
    k.Tile(1, [&](Value i) { y.Store(i, shared.Load(63 - i)); });
  });
  EXPECT_EQ(barriers(std::move(k).Build()), 2);
}

TEST(Kernel, PtxHasWideAccesses) {
  const auto ptx = EmitPtx(Scale(8192));
  ASSERT_TRUE(ptx) << ptx.error().message();
  // The kernel first waits for the preceding kernels, which older devices cannot do.
  const size_t wait = ptx->text.find("griddepcontrol.wait;");
  EXPECT_NE(wait, std::string::npos);
  EXPECT_LT(wait, ptx->text.find("ld.global"));
  EXPECT_TRUE(ptx->waits);
  const auto older = EmitPtx(Scale(8192), {.arch = "sm_80"});
  EXPECT_EQ(older->text.find("griddepcontrol"), std::string::npos);
  EXPECT_FALSE(older->waits);
  EXPECT_NE(ptx->text.find("ld.global.nc.v4.f32"), std::string::npos) << ptx->text;
  EXPECT_NE(ptx->text.find("st.global.v4.f32"), std::string::npos) << ptx->text;
  EXPECT_EQ(ptx->text.find("fma"), std::string::npos) << "x * 2 + 1 was contracted";
  EXPECT_EQ(ptx->text.find(".local"), std::string::npos) << ptx->text;
}

// The kernel has no guard, so its code does not contain the number of blocks.
Kernel WholeTiles(int64_t blocks) {
  KernelBuilder k("whole_tiles", blocks, 256);
  const Array x = k.Input("x", Type::kF32, blocks * 1024), y = k.Output("y", Type::kF32, blocks * 1024);
  k.Tile(4, [&](Value i) { y.Store(k.block() * 1024 + i, x.Load(k.block() * 1024 + i) + 1.0); });
  return std::move(k).Build();
}

// Kernels that differ only in names are compiled once, with the result of compiling each alone.
TEST(Kernel, EqualKernelsShareTheirPtxExceptForNames) {
  std::vector<Kernel> kernels = {Scale(8192), RowSum(5, 1000), Scale(8192), WholeTiles(16), WholeTiles(48)};
  kernels[0].name = "a";
  kernels[2].name = "fusion.a_kernel-7";
  std::vector<const Kernel*> pointers;
  for (const Kernel& kernel : kernels) pointers.push_back(&kernel);
  const auto together = EmitPtx(pointers);
  ASSERT_TRUE(together) << together.error().message();
  for (size_t i = 0; i < kernels.size(); ++i) {
    const auto alone = EmitPtx(kernels[i]);
    ASSERT_TRUE(alone) << alone.error().message();
    EXPECT_EQ((*together)[i].text, alone->text);
    EXPECT_EQ((*together)[i].entry, alone->entry);
    EXPECT_EQ((*together)[i].dynamic_shared_bytes, alone->dynamic_shared_bytes);
  }
}

TEST(Kernel, DistinctKernelsAreSortedByDescendingSize) {
  const Kernel small = Scale(1000), large = RowSum(5, 1000);
  Kernel renamed = large;
  renamed.name = "another";
  const Kernel few = WholeTiles(16), many = WholeTiles(64);
  const Kernel* const kernels[] = {&small, &large, &renamed, &few, &many};
  const DistinctKernels distinct = FindDistinct(kernels, [](Kernel& kernel) {
    kernel.blocks = 1;
    for (ArrayInfo& array : kernel.arrays) array.elements = 0;
  });
  EXPECT_EQ(distinct.kernels.front(), &large);
  EXPECT_EQ(distinct.kernels.size(), 3u);
  EXPECT_EQ(distinct.which[1], distinct.which[2]);
  EXPECT_EQ(distinct.which[3], distinct.which[4]);
  EXPECT_NE(distinct.which[0], distinct.which[3]);
  EXPECT_GT(CodeSize(large), CodeSize(small));
}

}  // namespace
}  // namespace hlo::kernel
