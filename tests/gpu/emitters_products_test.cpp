// Tests of products as planned for a host, with packed panels and sums in registers. Shapes leave a remainder in every
// dimension of a tile. All sums of the integer inputs are exact, so the default of 0 ulps requires the interpreter's
// values. bf16 uses kPlain: f32 sums in another order may round to the neighbouring bf16, hence 1 ulp.
#include <gtest/gtest.h>

#include "emitters_harness.h"
#include "ir/fusion_plan.h"

namespace hlo::gpu {
namespace {

// The fusion of `text` with the host's plan written into it, so that every device obeys it.
std::unique_ptr<Module> ForHost(const std::string& text, FusionKind fusion = FusionKind::kLoop, bool streamed = false) {
  auto module = Fused(text, fusion);
  Instruction& root = module->entry().root();
  auto plan = PlanKernels(root, HostDescription(2, 32));
  if (!plan) {
    ADD_FAILURE() << plan.error().message();
    return module;
  }
  EXPECT_EQ(plan->kernels.front().kind, KernelKind::kContraction) << text;
  if (plan->kernels.front().kind == KernelKind::kContraction) {
    EXPECT_EQ(plan->kernels.front().tile[2] == 512, streamed) << text;
  }
  plan->target.clear();
  SetPlan(root, *plan);
  return module;
}

std::string Dot(const std::string& lhs, const std::string& rhs, const std::string& result, int lhs_term, int rhs_term) {
  return "ENTRY e { a = " + lhs + " parameter(0) b = " + rhs + " parameter(1) ROOT d = " + result +
         " dot(a, b), lhs_contracting_dims={" + std::to_string(lhs_term) + "}, rhs_contracting_dims={" +
         std::to_string(rhs_term) + "} }";
}

TEST(EmitPackedContraction, ComputesDotsOfAnyShape) {
  Check(*ForHost(Dot("f32[70,90]", "f32[90,130]", "f32[70,130]", 1, 0)));
  Check(*ForHost(Dot("f32[96,128]", "f32[128,64]", "f32[96,64]", 1, 0)));
  Check(*ForHost(Dot("f32[13,300]", "f32[300,40]", "f32[13,40]", 1, 0)));
  Check(*ForHost(Dot("f32[1,77]", "f32[50,77]", "f32[1,50]", 1, 1)));
  Check(*ForHost(Dot("f32[50,77]", "f32[77,1]", "f32[50,1]", 1, 0)));
}

// Either dimension of an operand is contracted. The last result has contiguous columns.
TEST(EmitPackedContraction, ComputesOperandsInAnyOrder) {
  Check(*ForHost(Dot("f32[70,45]", "f32[130,45]", "f32[70,130]", 1, 1)));
  Check(*ForHost(Dot("f32[45,70]", "f32[45,30]", "f32[70,30]", 0, 0)));
  Check(*ForHost(Dot("f32[45,70]", "f32[30,45]", "f32[70,30]", 0, 1)));
  Check(*ForHost(Dot("f32[35,45]", "f32[45,30]", "f32[35,30]{0,1}", 1, 0)));
}

TEST(EmitPackedContraction, ComputesEachType) {
  Check(*ForHost(Dot("bf16[20,40]", "bf16[40,33]", "bf16[20,33]", 1, 0)), Inputs::kPlain, 1);
  Check(*ForHost(Dot("f16[20,40]", "f16[33,40]", "f32[20,33]", 1, 1)));
  Check(*ForHost(Dot("f64[20,40]", "f64[40,33]", "f64[20,33]", 1, 0)));
  Check(*ForHost(Dot("s32[20,40]", "s32[40,33]", "s32[20,33]", 1, 0)));
  Check(*ForHost(Dot("u8[20,300]", "u8[300,33]", "u8[20,33]", 1, 0)));
}

// Narrow integers are multiplied in pairs, or as floats without rounding. All products are the largest one, -128 *
// -128. Some sums have more terms than f32 can add exactly.
TEST(EmitPackedContraction, NarrowIntegersAreExact) {
  for (const int64_t terms : {300, 301, 1300, 1301}) {
    const std::string size = std::to_string(terms);
    const auto module = ForHost(Dot("s8[7," + size + "]", "s8[33," + size + "]", "s32[7,33]", 1, 1));
    Check(*module);
    std::vector<Literal> inputs = MakeInputs(*module, Inputs::kIntegers);
    for (Literal& input : inputs) {
      for (int64_t i = 0; i < input.shape().NumElements(); ++i) input.SetInt(i, -128);
    }
    const auto result = RunKernels(*module, inputs, On::kHost);
    ASSERT_TRUE(result);
    for (int64_t i = 0; i < result->shape().NumElements(); ++i) ASSERT_EQ(result->GetInt(i), terms * 128 * 128);
  }
  // Sums that do not fit into the result's type are truncated.
  Check(*ForHost(Dot("s8[20,300]", "u8[300,33]", "s8[20,33]", 1, 0)));
  Check(*ForHost(Dot("s4[20,300]", "s4[300,33]", "s32[20,33]", 1, 0)));
}

TEST(EmitPackedContraction, MultipliesPairsOfTerms) {
  const std::string both[][4] = {{"[70,46]", "[130,46]", "1", "1"},
                                 {"[46,70]", "[46,130]", "0", "0"},
                                 {"[46,70]", "[130,46]", "0", "1"},
                                 {"[70,46]", "[46,130]", "1", "0"}};
  for (const auto& [lhs, rhs, lhs_term, rhs_term] : both) {
    const auto dot = [&](const std::string& a, const std::string& b, const std::string& result) {
      Check(*ForHost(Dot(a + lhs, b + rhs, result + "[70,130]", std::stoi(lhs_term), std::stoi(rhs_term))),
            Inputs::kWide);
    };
    dot("s8", "s8", "s32");
    dot("u8", "s8", "s32");
    dot("u8", "u8", "s32");
    dot("s8", "s8", "s8");
  }
  Check(*ForHost(Dot("s8[33,1536]", "s8[1536,65]", "s32[33,65]", 1, 0)), Inputs::kWide);
  Check(*ForHost(Dot("s8[9,32]", "s8[40,32]", "s32[9,40]", 1, 1)), Inputs::kWide);
}

TEST(EmitPackedContraction, ComputesBatchesAndEpilogues) {
  Check(
      *ForHost("ENTRY e { a = bf16[2,20,3,33] parameter(0) b = bf16[2,33,3,35] parameter(1) ROOT d = f32[2,3,20,35] "
               "dot(a, b), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, "
               "rhs_contracting_dims={1} }"));
  Check(
      *ForHost("ENTRY e { a = f32[40,50] parameter(0) b = s8[50,70] parameter(1) c = f32[70] parameter(2)"
               " w = f32[50,70] convert(b) d = f32[40,70] dot(a, w), lhs_contracting_dims={1}, "
               "rhs_contracting_dims={0} z = f32[] constant(0) zz = f32[40,70] broadcast(z), dimensions={}"
               " cc = f32[40,70] broadcast(c), dimensions={1} s = f32[40,70] add(d, cc) m = f32[40,70] maximum(s, zz)"
               " ROOT r = (f32[40,70], f32[40,70]) tuple(m, s) }",
               FusionKind::kCustom));
}

TEST(EmitPackedContraction, ComputesConvolutions) {
  Check(*ForHost(
      "ENTRY e { x = f32[2,9,11,20] parameter(0) w = f32[3,3,20,40] parameter(1) c = f32[40] parameter(2)"
      " v = f32[2,5,6,40] convolution(x, w), window={size=3x3 stride=2x2 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
      " cc = f32[2,5,6,40] broadcast(c), dimensions={3} ROOT r = f32[2,5,6,40] add(v, cc) }",
      FusionKind::kCustom));
  Check(
      *ForHost("ENTRY e { x = f32[1,3,12,12] parameter(0) w = f32[8,3,5,5] parameter(1) ROOT v = f32[1,8,8,8] "
               "convolution(x, w), window={size=5x5}, dim_labels=bf01_oi01->bf01 }"));
  Check(
      *ForHost("ENTRY e { x = bf16[2,10,16] parameter(0) w = bf16[3,16,6] parameter(1) ROOT v = bf16[2,19,6] "
               "convolution(x, w), window={size=3 pad=1_1 lhs_dilate=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f }"));
  Check(
      *ForHost("ENTRY e { x = f32[2,10,12] parameter(0) w = f32[5,6,20] parameter(1) ROOT v = f32[2,6,20] "
               "convolution(x, w), window={size=5}, dim_labels=b0f_0io->b0f, feature_group_count=2 }"));
  // The first convolution has integers, the second groups of the batch.
  Check(
      *ForHost("ENTRY e { x = s8[2,9,9,20] parameter(0) w = s8[3,3,20,12] parameter(1) ROOT v = s32[2,7,7,12] "
               "convolution(x, w), window={size=3x3}, dim_labels=b01f_01io->b01f }"));
  Check(
      *ForHost("ENTRY e { x = f32[6,9,10] parameter(0) w = f32[3,10,24] parameter(1) ROOT v = f32[2,7,24] "
               "convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f, batch_group_count=3 }"));
  // The input is dilated, so each residue of the positions is computed separately. Some residues cross the end of a
  // tile.
  Check(
      *ForHost("ENTRY e { x = f32[2,6,7,40] parameter(0) w = f32[3,3,40,20] parameter(1) ROOT v = f32[2,12,14,20] "
               "convolution(x, w), window={size=3x3 pad=2_1x2_1 lhs_dilate=2x2 rhs_reversal=1x1}, "
               "dim_labels=b01f_01io->b01f }"));
  // The first convolution has its channels first. The second is the gradient of a filter, which sums over the batch.
  Check(
      *ForHost("ENTRY e { x = f32[2,20,7,9] parameter(0) w = f32[24,20,3,3] parameter(1) ROOT v = f32[2,24,7,9] "
               "convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=bf01_oi01->bf01 }"));
  Check(
      *ForHost("ENTRY e { x = f32[4,6,6,20] parameter(0) y = f32[4,6,6,24] parameter(1) ROOT v = f32[3,3,20,24] "
               "convolution(x, y), window={size=6x6 pad=1_1x1_1}, dim_labels=f01b_i01o->01bf }"));
}

// A convolution with a window of three positions, with these element types and this many input features.
std::string Convolution(const std::string& lhs, const std::string& rhs, const std::string& result, int features) {
  const std::string size = std::to_string(features);
  return "ENTRY e { x = " + lhs + "[2,9," + size + "] parameter(0) w = " + rhs + "[3," + size + ",12] parameter(1)" +
         " ROOT v = " + result + "[2,7,12] convolution(x, w), window={size=3}, dim_labels=b0f_0io->b0f }";
}

// Operands outside the range of the result's type wrap into it. Their sums have more bits and saturate to the range.
TEST(EmitPackedContraction, ConvolutionsSaturateSumsOfWrappedOperands) {
  // Most sums of 2 features fit into the type. 20 features are one panel, 300 are several.
  for (const int features : {2, 20, 300}) {
    Check(*ForHost(Convolution("u8", "s8", "s8", features)), Inputs::kWide);
    Check(*ForHost(Convolution("s8", "u8", "s8", features)), Inputs::kWide);
    Check(*ForHost(Convolution("s8", "s4", "s4", features)), Inputs::kWide);
  }
  Check(*ForHost(Convolution("s8", "s8", "s4", 1)));
}

// Sums of 60 products of s16 or s32 exceed s32 before they are saturated. Sums of 60 products of s8 or u8 do not.
TEST(EmitPackedContraction, ConvolutionsOfWideIntegersSaturate) {
  Check(*ForHost(Convolution("s16", "s16", "s16", 20)), Inputs::kWide);
  Check(*ForHost(Convolution("s8", "s8", "s16", 20)), Inputs::kWide);
  Check(*ForHost(Convolution("s32", "s32", "s32", 20)), Inputs::kWide);
  Check(*ForHost(Convolution("u8", "u8", "u16", 20)), Inputs::kWide);
}

// f8e8m0fnu has no 0, so no value of the type can serve as padding. Holes and elements beyond the edge are zeros of the
// accumulator's type. With few features, lanes of a vector differ in which of them are padding. With 20 they do not.
TEST(EmitPackedContraction, PadsATypeWithoutZero) {
  for (const int features : {10, 20}) {
    const std::string of = "," + std::to_string(features) + ",";
    const std::string x = "[2" + of + "10]", w = "[3" + of + "6]";
    Check(*ForHost("ENTRY e { p = u8" + x + " parameter(0) q = u8" + w + " parameter(1) one = u8[] constant(1)" +
                       " ones = u8" + x + " broadcast(one), dimensions={} also = u8" + w +
                       " broadcast(one), dimensions={} pp = u8" + x + " add(p, ones) qq = u8" + w +
                       " add(q, also) x = f8e8m0fnu" + x + " convert(pp) w = f8e8m0fnu" + w +
                       " convert(qq) ROOT v = f8e8m0fnu[2,25,6] convolution(x, w), " +
                       "window={size=3 pad=4_4 lhs_dilate=2}, dim_labels=bf0_0io->b0f }",
                   FusionKind::kCustom));
  }
}

// One operand has few rows or columns. The other operand is read in place, whatever its type.
TEST(EmitStreamedContraction, ComputesDots) {
  const auto check = [](const std::string& text, Inputs inputs = Inputs::kIntegers, double ulps = 0) {
    Check(*ForHost(text, FusionKind::kLoop, true), inputs, ulps);
  };
  check(Dot("f32[1,77]", "f32[77,50]", "f32[1,50]", 1, 0));
  check(Dot("bf16[3,1037]", "bf16[1037,300]", "bf16[3,300]", 1, 0), Inputs::kPlain, 1);
  check(Dot("s32[4,40]", "s32[40,33]", "s32[4,33]", 1, 0));
  check(Dot("f32[60,45]{0,1}", "f32[45,2]", "f32[60,2]{0,1}", 1, 0));
  check(
      "ENTRY e { a = bf16[2,3,70] parameter(0) b = s8[2,70,90] parameter(1) c = f32[90] parameter(2)"
      " w = bf16[2,70,90] convert(b) d = f32[2,3,90] dot(a, w), lhs_batch_dims={0}, rhs_batch_dims={0},"
      " lhs_contracting_dims={2}, rhs_contracting_dims={1} cc = f32[2,3,90] broadcast(c), dimensions={2}"
      " ROOT r = f32[2,3,90] add(d, cc) }");
}

}  // namespace
}  // namespace hlo::gpu
