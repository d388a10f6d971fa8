// Tests of the passes that lower kernels for the host. kernel_test.cpp and emitters_test.cpp test the results of the
// kernels.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>

#include "base/host_isa.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/host/adjacent.h"
#include "gpu/kernel/builder.h"

namespace hlo::kernel {
namespace {

constexpr int64_t kElements = 512;

// The number of tiles that share the loop of the first tile.
size_t Together(const Kernel& kernel) {
  const std::span<const Instruction> body = kernel.body.body;
  const auto first = std::ranges::find(body, Op::kTile, &Instruction::op);
  return AdjacentTiles(kernel, body.subspan(first - body.begin())).size();
}

TEST(HostLowering, TilesOverTheSameElementsShareALoop) {
  KernelBuilder k("rows", 1, 128);
  const Array x = k.Input("x", Type::kF32, kElements), y = k.Output("y", Type::kF32, 3 * kElements);
  for (int64_t row = 0; row < 3; ++row)
    k.Tile(4, [&](Value i) { y.Store(row * kElements + i, x.Load(i) * static_cast<double>(row)); });
  EXPECT_EQ(Together(std::move(k).Build()), 3);
}

TEST(HostLowering, ATileThatReadsResultsOfTheTileBeforeStaysSeparate) {
  KernelBuilder k("backwards", 1, 128);
  const Array x = k.Input("x", Type::kF32, kElements), y = k.InOut("y", Type::kF32, kElements),
              z = k.Output("z", Type::kF32, kElements);
  k.Tile(4, [&](Value i) { y.Store(i, x.Load(i)); });
  k.Tile(4, [&](Value i) { z.Store(i, y.Load((kElements - 1) - i)); });
  EXPECT_EQ(Together(std::move(k).Build()), 1);
}

TEST(HostLowering, ATileWithALimitStaysSeparate) {
  KernelBuilder k("cut_short", 1, 128);
  const Array y = k.Output("y", Type::kF32, 100), z = k.Output("z", Type::kF32, kElements);
  k.Tile(4, k.Index(100), [&](Value i) { y.Store(i, k.Constant(Type::kF32, 1.0)); });
  k.Tile(4, [&](Value i) { z.Store(i, k.Constant(Type::kF32, 2.0)); });
  EXPECT_EQ(Together(std::move(k).Build()), 1);
}

std::string Lowered(const Kernel& kernel) {
  auto text = EmitHost(kernel, HostStage::kLowered);
  EXPECT_TRUE(text) << text.error().message();
  return text ? *text : "";
}

// The vectors exist before any pass of LLVM runs.
TEST(HostLowering, ContiguousBodiesAreVectors) {
  const HostIsa before = ChosenHostIsa();
  ASSERT_TRUE(ChooseHostIsa("avx2"));
  KernelBuilder k("scale", 1, 128);
  const Array x = k.Input("x", Type::kF32, kElements), y = k.Output("y", Type::kF32, kElements);
  k.Tile(4, [&](Value i) { y.Store(i, x.Load(i) * 2.0); });
  EXPECT_NE(Lowered(std::move(k).Build()).find("fmul <8 x float>"), std::string::npos);
  // Loads with gaps between the elements are not vectors.
  KernelBuilder gaps("gaps", 1, 128);
  const Array from = gaps.Input("x", Type::kF32, 2 * kElements), to = gaps.Output("y", Type::kF32, kElements);
  gaps.Tile(4, [&](Value i) { to.Store(i, from.Load(i * 2) * 2.0); });
  EXPECT_EQ(Lowered(std::move(gaps).Build()).find("fmul <8 x float>"), std::string::npos);
  ASSERT_TRUE(ChooseHostIsa(kHostIsaNames[static_cast<size_t>(before)]));
}

}  // namespace
}  // namespace hlo::kernel
