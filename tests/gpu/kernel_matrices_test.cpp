// Tests of matrix products in kernels: the elements of each lane, the results, the PTX, and the kernels that are
// rejected.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include "gpu/codegen/emulator.h"
#include "gpu/codegen/host.h"
#include "gpu/codegen/nvptx.h"
#include "gpu/kernel/verify.h"
#include "tests/gpu/kernel_buffers.h"
#include "tests/gpu/kernel_samples.h"

namespace hlo::kernel {
namespace {

// The position of an element in the figures of the PTX ISA, in their terms: group = lane >> 2, thread = lane % 4,
// element i.
MatrixPosition AsPtxSays(FragmentKind kind, int lane, int i) {
  const int group = lane >> 2, thread = lane % 4;
  if (kind.role == FragmentRole::kSum) return {i < 2 ? group : group + 8, thread * 2 + (i & 1)};
  const bool left = kind.role == FragmentRole::kLeft;
  switch (kind.shape) {
    case MmaShape::kF16:
    case MmaShape::kBF16:
      if (!left) return {thread * 2 + (i & 1) + (i < 2 ? 0 : 8), group};
      return {i < 2 || (i >= 4 && i < 6) ? group : group + 8, thread * 2 + (i & 1) + (i < 4 ? 0 : 8)};
    case MmaShape::kTF32:
      if (!left) return {i == 0 ? thread : thread + 4, group};
      return {i == 0 || i == 2 ? group : group + 8, i < 2 ? thread : thread + 4};
    case MmaShape::kS8:
      if (!left) return {thread * 4 + (i & 3) + (i < 4 ? 0 : 16), group};
      return {i < 4 || (i >= 8 && i < 12) ? group : group + 8, thread * 4 + (i & 3) + (i < 8 ? 0 : 16)};
  }
  return {};
}

TEST(Matrices, LanesHoldTheElementsOfThePtxIsa) {
  for (const MmaShape shape : kMmaShapes) {
    for (const FragmentRole role : {FragmentRole::kLeft, FragmentRole::kRight, FragmentRole::kSum}) {
      const FragmentKind kind{shape, role};
      std::set<std::pair<int, int>> seen;
      for (int lane = 0; lane < kWarpSize; ++lane) {
        for (int i = 0; i < LaneElements(kind); ++i) {
          const MatrixPosition at = PositionOf(kind, lane, i);
          EXPECT_EQ(at, AsPtxSays(kind, lane, i)) << InfoOf(shape).text << " lane " << lane << " element " << i;
          EXPECT_TRUE(at.row < Rows(kind) && at.column < Columns(kind) && seen.emplace(at.row, at.column).second);
        }
      }
      EXPECT_EQ(std::ssize(seen), Rows(kind) * Columns(kind));
    }
  }
}

float FromBF16(const std::vector<char>& bytes, int64_t i) {
  uint16_t bits;
  std::memcpy(&bits, bytes.data() + 2 * i, 2);
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

TEST(Matrices, AProductOf64x64x64IsWithinItsBound) {
  const Kernel kernel = MatrixProduct(MmaShape::kBF16);
  const auto compiled = CompileHost(kernel);
  ASSERT_TRUE(compiled) << compiled.error().message();
  const Buffers buffers = MakeBuffers(kernel);
  compiled->Launch(buffers.arguments);
  for (int64_t row = 0; row < 64; ++row) {
    for (int64_t column = 0; column < 64; ++column) {
      double exact = 0, magnitude = 0;
      for (int64_t k = 0; k < 64; ++k) {
        const double product = static_cast<double>(FromBF16(*buffers.storage[0], row * 64 + k)) *
                               FromBF16(*buffers.storage[1], k * 64 + column);
        exact += product;
        magnitude += std::abs(product);
      }
      float computed;
      std::memcpy(&computed, buffers.storage[2]->data() + 4 * (row * 64 + column), 4);
      ASSERT_NEAR(computed, exact, 64 * 0x1p-24 * magnitude * (1 + 64 * 0x1p-24)) << row << ", " << column;
    }
  }
}

// The op rounds halves away from zero and keeps NaN, infinity and all numbers of tf32.
TEST(Matrices, Tf32RoundsHalvesAwayFromZero) {
  constexpr int64_t kCount = 8;
  const float given[kCount] = {1,         1 + 0x1p-11f, -1 - 0x1p-11f, 1 + 0x1p-12f, 0x1.fffffep127f,
                               -INFINITY, NAN,          0x1p-149f};
  const float wanted[kCount] = {1, 1 + 0x1p-10f, -1 - 0x1p-10f, 1, INFINITY, -INFINITY, NAN, 0};
  KernelBuilder k("round_tf32", 1, 32);
  const Array x = k.Input("x", Type::kF32, kCount), y = k.Output("y", Type::kF32, kCount);
  k.Tile(1, k.Index(kCount), [&](Value i) { y.Store(i, k.Record(Op::kRoundTf32, Type::kF32, {x.Load(i)})); });
  const Kernel kernel = std::move(k).Build();
  const auto compiled = CompileHost(kernel);
  ASSERT_TRUE(compiled) << compiled.error().message();
  float host[kCount], gpu[kCount];
  void* const on_host[] = {const_cast<float*>(given), host};
  void* const emulated[] = {const_cast<float*>(given), gpu};
  compiled->Launch(on_host);
  ASSERT_TRUE(Emulate(kernel, emulated));
  for (int64_t i = 0; i < kCount; ++i) {
    for (const float rounded : {host[i], gpu[i]}) {
      if (std::isnan(wanted[i])) EXPECT_TRUE(std::isnan(rounded));
      else EXPECT_EQ(rounded, wanted[i]) << i;
    }
  }
}

TEST(Matrices, PtxHasTheInstructions) {
  constexpr const char* kProducts[] = {
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32",
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"};
  for (const MmaShape shape : kMmaShapes) {
    const auto ptx = EmitPtx(MatrixProduct(shape), {.arch = "sm_80"});
    ASSERT_TRUE(ptx) << ptx.error().message();
    EXPECT_NE(ptx->text.find(kProducts[static_cast<int>(shape)]), std::string::npos) << ptx->text;
    EXPECT_NE(ptx->text.find("ldmatrix.sync.aligned.m8n8.x4.shared.b16"), std::string::npos) << ptx->text;
    const bool turns = InfoOf(shape).operand == Type::kF16 || InfoOf(shape).operand == Type::kBF16;
    EXPECT_EQ(ptx->text.find("ldmatrix.sync.aligned.m8n8.x2.trans") != std::string::npos, turns) << ptx->text;
  }
}

TEST(Matrices, AreAssembledForAmpereAndHopper) {
  if (FindPtxas().empty()) GTEST_SKIP() << "ptxas not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin";
  for (const char* arch : {"sm_80", "sm_90"}) {
    std::vector<Ptx> parts;
    for (const MmaShape shape : kMmaShapes) {
      for (Kernel kernel : {MatrixProduct(shape), OneProduct(shape, MatrixOrder::kColumnMajor, 1)}) {
        kernel.name += std::to_string(parts.size());
        parts.push_back(*EmitPtx(kernel, {.arch = arch}));
      }
    }
    const auto assembled = Ptxas(JoinPtx(parts), arch, 300);
    ASSERT_TRUE(assembled) << assembled.error().message();
    ASSERT_EQ(assembled->kernels.size(), parts.size());
    for (const PtxasKernel& kernel : assembled->kernels) {
      EXPECT_EQ(kernel.spill_store_bytes, 0) << kernel.entry;
      EXPECT_EQ(kernel.stack_bytes, 0) << kernel.entry;
    }
  }
}

// A lane at the wrong position is not a race and reads valid memory, so only the values show it.
TEST(Matrices, AWrongLaneChangesTheValues) {
  for (const MmaShape shape : kMmaShapes) {
    for (const Kernel& kernel : {MatrixProduct(shape), OneProduct(shape, MatrixOrder::kRowMajor, 1)}) {
      const Buffers before = MakeBuffers(kernel), right = before.CopyWritten(kernel),
                    wrong = before.CopyWritten(kernel);
      EmulateOptions options;
      ASSERT_TRUE(Emulate(kernel, right.arguments, options));
      options.nvptx.fault = KernelFault::kWrongFragmentLane;
      const auto report = Emulate(kernel, wrong.arguments, options);
      ASSERT_TRUE(report) << report.error().message();
      EXPECT_TRUE(report->clean()) << report->ToString();
      EXPECT_NE(CompareWritten(kernel, before, right, wrong).differences, "") << InfoOf(shape).text;
    }
  }
}

TEST(Matrices, AMissingBarrierIsARace) {
  const Kernel kernel = MatrixProduct(MmaShape::kBF16);
  EmulateOptions options;
  options.nvptx.fault = KernelFault::kMissingBarrier;
  const auto report = Emulate(kernel, MakeBuffers(kernel).arguments, options);
  ASSERT_TRUE(report) << report.error().message();
  EXPECT_TRUE(std::ranges::any_of(report->findings, [](const SanitizerFinding& f) {
    return f.finding == Finding::kSharedRace;
  })) << report->ToString();
}

Instruction* Find(Region& region, Op op, Region** in) {
  for (Instruction& instruction : region.body) {
    *in = &region;
    if (instruction.op == op) return &instruction;
    for (Region& inner : instruction.regions) {
      if (Instruction* const found = Find(inner, op, in)) return found;
    }
  }
  return nullptr;
}

TEST(Verify, RejectsProductsInDivergentCodeAndOfOtherFragments) {
  Kernel kernel = OneProduct(MmaShape::kBF16, MatrixOrder::kRowMajor, 0);
  ASSERT_TRUE(Verify(kernel));
  Region* region;
  Instruction* const mma = Find(kernel.body, Op::kMma, &region);
  ASSERT_TRUE(mma);
  const Instruction good = *mma;
  std::swap(mma->slots[1], mma->slots[2]);
  auto verified = Verify(kernel);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "'mma' takes a sum, a left and a right fragment of m16n8k16.bf16");
  *mma = {.op = Op::kPhase, .regions = {Region{.arguments = {}, .body = {good}, .yields = {}}}};
  verified = Verify(kernel);
  ASSERT_FALSE(verified);
  EXPECT_EQ(verified.error().message(), "'mma' is in a phase or tile, but must be at warp level");
}

}  // namespace
}  // namespace hlo::kernel
