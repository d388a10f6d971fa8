// Tests of the properties of a step that do not depend on runs: bits, tensor cores with the reason against them, and
// work.
#include <gtest/gtest.h>

#include "base/text.h"
#include "driver/profile/profile.h"
#include "gpu/runtime/executable.h"
#include "parser/parser.h"

namespace hlo {
namespace {

const Instruction& Root(const Module& module) { return module.entry().root(); }

std::unique_ptr<Module> Read(const std::string& text) {
  auto module = Parse(std::make_shared<const SourceText>("test", text));
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  return std::move(*module);
}

int BitsOfRoot(const std::string& text) {
  const auto module = Read(text);
  return BitsOf(Root(*module), CostAnalysis(*module).CostOf(Root(*module)));
}

TEST(ProfileSteps, HaveTheBitsOfMostBytes) {
  EXPECT_EQ(BitsOfRoot("f32[8] add(f32[8] x, f32[8] y)"), 32);
  EXPECT_EQ(BitsOfRoot("pred[8] compare(s64[8] x, s64[8] y), direction=LT"), 64);
  EXPECT_EQ(BitsOfRoot("f32[8] convert(bf16[8] x)"), 32);  // 32 of 48 bytes have this type.
  EXPECT_EQ(BitsOfRoot("c64[8] add(c64[8] x, c64[8] y)"), 32);
  EXPECT_EQ(BitsOfRoot("s4[8] add(s4[8] x, s4[8] y)"), 8);
  // A product counts with its wider operand, whatever its result type.
  EXPECT_EQ(BitsOfRoot("f32[8,9] dot(f16[8,4] x, f16[4,9] y), lhs_contracting_dims={1}, rhs_contracting_dims={0}"), 16);
}

TensorCoreUse UseOf(const std::string& text, const gpu::StepInfo& how, bool is_host, bool allow_tf32,
                    std::string_view device = "h200") {
  const auto module = Read(text);
  gpu::StepInfo step = how;
  step.instruction = &Root(*module);
  return TensorCoresOf(step, *FindDevice(device), is_host, allow_tf32);
}

// Names, metadata and plans do not belong to a step's work. Shapes, values and called computations do.
TEST(ProfileSteps, WorkDependsOnlyOnTheComputation) {
  const auto work = [](const std::string& shape, const std::string& op, const std::string& name,
                       const std::string& more) {
    const auto module = Read(Str("HloModule m\nc { p = ", shape, " parameter(0)\n ROOT ", name, " = ", shape, " ", op,
                                 "(p) }\nENTRY e { x = ", shape, " parameter(0)\n ROOT f = ", shape,
                                 " fusion(x), kind=kLoop, calls=c", more, " }"));
    return WorkOf(Root(*module));
  };
  const uint64_t own = work("f32[2,3]", "negate", "n", "");
  EXPECT_EQ(own, work("f32[2,3]", "negate", "other", ", metadata={op_name=\"a\"}"));
  EXPECT_EQ(own, work("f32[2,3]", "negate", "n", ", backend_config={\"a\":1}"));
  EXPECT_NE(own, work("f32[3,2]", "negate", "n", ""));
  EXPECT_NE(own, work("f32[2,3]", "sine", "n", ""));
}

TEST(ProfileSteps, UseTensorCoresOrSayWhyNot) {
  const auto dot = [](std::string_view type, int terms, int columns) {
    return Str("f32[16,", columns, "] dot(", type, "[16,", terms, "] x, ", type, "[", terms, ",", columns,
               "] y), lhs_contracting_dims={1}, rhs_contracting_dims={0}");
  };
  const gpu::StepInfo kernel{.kind = gpu::StepKind::kKernel}, call{.kind = gpu::StepKind::kGemm};
  gpu::StepInfo units = kernel, refused = kernel;
  units.plan.kernels.push_back({.kind = KernelKind::kContraction, .algorithm = "mma"});
  refused.plan.refused = {"cuBLASLt: it has an odd stride"};

  EXPECT_FALSE(UseOf("f32[8] add(f32[8] x, f32[8] y)", kernel, false, true).eligible);
  EXPECT_FALSE(UseOf(dot("s32", 64, 64), call, false, true).eligible);         // No such instruction exists.
  EXPECT_FALSE(UseOf(dot("f16", 64, 64), call, true, true, "host").eligible);  // This device has no tensor cores.
  EXPECT_TRUE(UseOf(dot("f16", 64, 64), call, false, false).used);
  EXPECT_TRUE(UseOf(dot("f16", 63, 63), units, false, false).used);
  EXPECT_TRUE(UseOf(dot("f32", 64, 64), call, false, true).used);
  const auto why = [](const TensorCoreUse& use) {
    EXPECT_TRUE(use.eligible && !use.used);
    return use.why_not;
  };
  EXPECT_EQ(why(UseOf(dot("f32", 64, 64), call, false, false)), "its operands are f32, and --allow_tf32 is not given");
  EXPECT_EQ(why(UseOf(dot("f16", 63, 64), call, false, false)), "the number of terms, 63, is not a multiple of 8");
  EXPECT_EQ(why(UseOf(dot("s8", 64, 24), call, false, false)), "the number of columns, 24, is not a multiple of 16");
  EXPECT_EQ(why(UseOf(dot("bf16", 64, 1), call, false, false)), "it multiplies a matrix by a vector");
  EXPECT_EQ(why(UseOf(dot("bf16", 64, 64), kernel, false, false)), "its kernel has no matrix instructions");
  EXPECT_EQ(why(UseOf(dot("bf16", 64, 64), refused, false, false)), "cuBLASLt: it has an odd stride");
  EXPECT_EQ(why(UseOf(dot("bf16", 64, 64), call, true, false)), "it ran on the host");
  EXPECT_EQ(why(UseOf("f32[2,5,5,7] convolution(f16[2,5,5,12] x, f16[1,1,12,7] w), window={size=1x1}, "
                      "dim_labels=b01f_01io->b01f",
                      call, false, false)),
            "the number of input features, 12, is not a multiple of 8");
}

}  // namespace
}  // namespace hlo
