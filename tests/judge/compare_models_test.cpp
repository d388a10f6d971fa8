// The interpreter's value of each instruction of the models is within the shadow's bounds. CompareWidened matches each
// model with a copy of itself.
#include <gtest/gtest.h>

#include <filesystem>

#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "judge/bounds/shadow.h"
#include "judge/compare/compare.h"
#include "judge/compare/widened.h"
#include "parser/parser.h"

namespace hlo {
namespace {

class Models : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto source = ReadSource(Str("testdata/models/", GetParam(), ".hlo"));
    ASSERT_TRUE(source.has_value()) << source.error().message();
    auto module = Parse(*source);
    ASSERT_TRUE(module.has_value()) << module.error().message();
    module_ = std::move(*module);
    ArgumentOptions options;
    options.interpret = [&](std::span<const Literal> args) { return Interpret(*module_, args); };
    auto made = MakeArgumentsChecked(*module_, options);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    made_ = std::move(*made);
  }

  std::unique_ptr<Module> module_;
  Arguments made_;
};

TEST_P(Models, ArgumentsGiveFiniteResults) { EXPECT_EQ(made_.non_finite_share, 0) << Join(made_.notes, "; "); }

TEST_P(Models, TheInterpreterKeepsTheBounds) {
  std::unordered_map<const Instruction*, Literal> values;
  int64_t checked = 0, elements = 0, undetermined = 0;
  InterpretOptions options;
  const Computation* entry = &module_->entry();
  options.on_value = [&](const Instruction& inst, const Literal& value) {
    if (&inst.computation() != entry) return;
    values[&inst] = value;
    if (!inst.shape().IsArray() || inst.operand_count() == 0 || HasFailure()) return;
    std::unordered_map<const Instruction*, ShadowValue> operands;
    for (const Instruction* operand : inst.operands()) operands[operand] = ToShadow(values[operand]);
    ShadowOptions shadow_options;
    shadow_options.given = [&](const Instruction& operand) -> std::optional<ShadowValue> {
      const auto it = operands.find(&operand);
      return it == operands.end() ? std::nullopt : std::optional(it->second);
    };
    const auto shadow = EvaluateShadowOf(inst, {}, shadow_options);
    ASSERT_TRUE(shadow.has_value()) << shadow.error().message();
    const Comparison comparison = CompareWithBounds(*shadow, value);
    EXPECT_EQ(comparison.bad(), 0) << inst.name() << " " << ToString(inst.opcode()) << "\n"
                                   << Details(comparison.outputs[0]);
    ++checked;
    elements += comparison.elements();
    undetermined += comparison.Count(ElementClass::kUndetermined);
  };
  ASSERT_TRUE(Interpret(*module_, made_.values, options).has_value());
  EXPECT_GT(checked, 0);
  EXPECT_LE(undetermined * 100, elements);
}

TEST_P(Models, MeanWhatTheyMean) {
  const auto clone = module_->Clone(/*as_input=*/true);
  const auto result = CompareWidened(*module_, *clone, made_.values);
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->verdict, Verdict::kMatch) << ToString(*result);
}

INSTANTIATE_TEST_SUITE_P(All, Models,
                         testing::Values("muladd_reduce", "poisson_jacobi", "lstm_infer", "mlp_train_f32",
                                         "mlp_train_bf16", "gpt2_infer", "vae_sample"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hlo
