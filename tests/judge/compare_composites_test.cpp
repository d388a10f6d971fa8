// Tests judge/compare/widened.h on ops that passes expand. The judge has its own definitions of these ops. Each
// expansion is judged as the pass made it, and with one instruction changed.
#include <gtest/gtest.h>

#include "compare_widened_cases.h"
#include "passes/pipeline.h"

namespace hlo {
namespace {

constexpr const char* kRaggedRows = R"(HloModule m
ENTRY main {
  a = f32[2,7,3] parameter(0)
  b = f32[2,4,3,5] parameter(1)
  n = s32[4] constant({2, 0, 3, 1})
  x = f32[2,7,3] negate(a)
  ROOT r = f32[2,7,5] ragged-dot(x, b, n), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={1}
})";
constexpr const char* kRaggedTerms = R"(HloModule m
ENTRY main {
  a = bf16[6,9] parameter(0)
  b = bf16[9,5] parameter(1)
  n = s32[3] constant({4, 3, 1})
  x = bf16[6,9] negate(a)
  ROOT r = bf16[3,6,5] ragged-dot(x, b, n), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}
})";
constexpr const char* kRaggedBatch = R"(HloModule m
ENTRY main {
  a = f32[5,2,3] parameter(0)
  b = f32[5,3,4] parameter(1)
  n = s32[2] constant({1, 3})
  x = f32[5,2,3] negate(a)
  ROOT r = f32[5,2,4] ragged-dot(x, b, n), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}, lhs_ragged_dims={0}
})";
constexpr const char* kScaled = R"(HloModule m
ENTRY main {
  a = f8e4m3fn[3,8] parameter(0)
  b = f8e5m2[8,5] parameter(1)
  s = f8e8m0fnu[3,4] constant({{1, 2, 0.5, 4}, {2, 2, 1, 0.25}, {8, 1, 1, 2}})
  t = bf16[2,5] parameter(2)
  x = bf16[2,5] negate(t)
  ROOT r = f32[3,5] scaled-dot(a, b, s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr const char* kUnscaled = R"(HloModule m
ENTRY main {
  a = bf16[3,8] parameter(0)
  b = f8e5m2[8,5] parameter(1)
  s = bf16[1,1] constant({{3}})
  t = bf16[2,5] parameter(2)
  x = bf16[2,5] negate(t)
  ROOT r = f32[3,5] scaled-dot(a, b, s, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
})";
constexpr const char* kScan = R"(HloModule m
step {
  row = f32[2] parameter(0)
  count = s32[] parameter(1)
  carry = f32[2] parameter(2)
  one = s32[] constant(1)
  next_count = s32[] add(count, one)
  half = f32[] constant(0.5)
  halves = f32[2] broadcast(half), dimensions={}
  scaled = f32[2] multiply(carry, halves)
  next = f32[2] add(row, scaled)
  ROOT r = (f32[2], s32[], f32[2]) tuple(scaled, next_count, next)
}
ENTRY main {
  x = f32[2,6] parameter(0)
  zero = s32[] constant(0)
  init = f32[2] parameter(1)
  y = f32[2,6] negate(x)
  ROOT r = (f32[2,6], s32[], f32[2]) scan(y, zero, init), dimensions={1}, num_carries=2, is_reverse=true, to_apply=step
})";

// Judges the expansion that `pass` makes of `text`, after `fault` has changed it.
WidenedResult Expanded(const char* text, const char* pass, const std::function<void(Module&)>& fault = nullptr) {
  return Widened(
      [&](Module& module) {
        const auto report = RunPipeline(module, {.passes = pass});
        ASSERT_TRUE(report) << report.error().message();
        EXPECT_TRUE(report->changed) << pass;
        if (fault) fault(module);
      },
      text);
}

Instruction& FirstOf(Module& module, Opcode opcode) {
  for (const Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->Is(opcode)) return *inst;
    }
  }
  ADD_FAILURE() << "no " << ToString(opcode);
  return module.entry().root();
}

void Become(Instruction& inst, Opcode opcode, const std::vector<Instruction*>& operands, Attributes attrs = NoAttrs()) {
  inst.ReplaceAllUses(inst.computation().Add(opcode, inst.shape(), operands, std::move(attrs)));
  inst.computation().RemoveDeadTree(inst);
}

TEST(Composites, RaggedDotIsTheSumOfItsGroup) {
  for (const char* text : {kRaggedRows, kRaggedTerms, kRaggedBatch}) {
    const WidenedResult right = Expanded(text, "ragged-dot-rewriter");
    EXPECT_EQ(right.verdict, Verdict::kMatch) << right.reason << "\n" << text;
    EXPECT_EQ(right.undetermined, 0) << text;
    // The fault: a group has one row less, or a row of another group.
    const WidenedResult wrong = Expanded(text, "ragged-dot-rewriter", [](Module& module) {
      Instruction& compare = FirstOf(module, Opcode::kCompare);
      Become(compare, Opcode::kCompare, {&compare.operand(0), &compare.operand(1)},
             CompareAttrs{ComparisonDirection::kGt});
    });
    EXPECT_EQ(wrong.verdict, Verdict::kMismatch) << wrong.reason << "\n" << text;
  }
}

TEST(Composites, ScaledDotScalesItsBlocks) {
  for (const char* text : {kScaled, kUnscaled}) {
    const WidenedResult right = Expanded(text, "scaled-dot-rewriter");
    EXPECT_EQ(right.verdict, Verdict::kMatch) << right.reason << "\n" << text;
    EXPECT_EQ(right.undetermined, 0) << text;
    const WidenedResult wrong = Expanded(text, "scaled-dot-rewriter", [](Module& module) {
      Instruction& product = FirstOf(module, Opcode::kMultiply);
      Become(product, Opcode::kAdd, {&product.operand(0), &product.operand(1)});
    });
    EXPECT_EQ(wrong.verdict, Verdict::kMismatch) << wrong.reason << "\n" << text;
  }
}

TEST(Composites, ScanIsItsRecurrence) {
  const WidenedResult right = Expanded(kScan, "scan_expander");
  EXPECT_EQ(right.verdict, Verdict::kMatch) << right.reason;
  EXPECT_EQ(right.undetermined, 0);
  // The fault: the steps run forward instead of backward.
  const WidenedResult wrong = Expanded(kScan, "scan_expander", [](Module& module) {
    Instruction& reversed = FirstOf(module, Opcode::kSubtract);
    reversed.ReplaceAllUses(reversed.operand(1));
    reversed.computation().RemoveDeadTree(reversed);
  });
  EXPECT_EQ(wrong.verdict, Verdict::kMismatch) << wrong.reason;
}

}  // namespace
}  // namespace hlo
