// Tests that reducing a module keeps its structure: prefixes stay prefixes, slices still divide their operand in the
// same way, and groups stay groups.
#include "tests/driver/reduced_module.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"

namespace hlo {
namespace {

constexpr std::string_view kModule = R"(HloModule large

max { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT r = f32[] maximum(a, b) }

ENTRY main {
  x = f32[4096,384] parameter(0)
  images = f32[8,112,112,96] parameter(1)
  weights = f32[3,3,1,96] parameter(2)
  low = f32[] constant(-inf)
  prefix = f32[4096,384] reduce-window(x, low), window={size=4096x1 pad=4095_0x0_0}, to_apply=max
  first = f32[4096,128] slice(prefix), slice={[0:4096], [0:128]}
  last = f32[4096,128] slice(prefix), slice={[0:4096], [256:384]}
  by_channel = f32[8,112,112,96] convolution(images, weights), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f, feature_group_count=96
  ROOT all = (f32[4096,128], f32[4096,128], f32[8,112,112,96]) tuple(first, last, by_channel)
}
)";

TEST(ReducedModule, HasSmallerArraysAndTheSameInstructions) {
  const auto module = Parse(std::make_shared<SourceText>("large.hlo", std::string(kModule)));
  ASSERT_TRUE(module) << module.error().message();
  constexpr int64_t kMost = 1 << 14;
  const std::unique_ptr<Module> reduced = Reduced(**module, kMost);
  EXPECT_LE(MostElements(*reduced), kMost);
  EXPECT_EQ(MostElements(**module), 8 * 112 * 112 * 96);
  EXPECT_EQ(reduced->InstructionCount(), (*module)->InstructionCount());
  EXPECT_TRUE(Verify(*reduced));
  const std::string text = Print(*reduced);
  const auto find = [&](std::string_view name) {
    for (const Instruction* inst : reduced->entry().instructions()) {
      if (inst->name() == name) return inst;
    }
    return static_cast<const Instruction*>(nullptr);
  };
  const Shape& x = find("x")->shape();
  EXPECT_EQ(find("prefix")->shape(), x) << text;
  const WindowDim& rows = find("prefix")->attrs<ReduceWindowAttrs>().window.dims[0];
  EXPECT_EQ(rows.size, x.dim(0)) << text;
  EXPECT_EQ(rows.pad_low, x.dim(0) - 1) << text;
  // The slices are thirds.
  const SliceDim& columns = find("last")->attrs<SliceAttrs>().slice.dims[1];
  EXPECT_EQ(columns.limit, x.dim(1)) << text;
  EXPECT_EQ(3 * (columns.limit - columns.start), x.dim(1)) << text;
  EXPECT_EQ(find("first")->shape(), find("last")->shape()) << text;
  EXPECT_EQ(find("by_channel")->attrs<ConvolutionAttrs>().feature_group_count, find("weights")->shape().dim(3)) << text;
  EXPECT_EQ(find("weights")->shape().dim(0), 3) << text;
}

TEST(ReducedModule, IsUnchangedIfItIsSmall) {
  const auto module = Parse(std::make_shared<SourceText>("large.hlo", std::string(kModule)));
  ASSERT_TRUE(module) << module.error().message();
  EXPECT_EQ(Print(*Reduced(**module, int64_t{1} << 40)), Print(**module));
}

}  // namespace
}  // namespace hlo
