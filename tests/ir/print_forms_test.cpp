// Tests that golden files cannot express: the forms of single instructions, and limits that need long texts.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/parser.h"

namespace hlo {
namespace {

const PrintOptions& FormNamed(std::string_view name) {
  for (const PrintForm& form : PrintForms()) {
    if (form.name == name) return form.options;
  }
  ADD_FAILURE() << "no form " << name;
  return PrintForms().front().options;
}

std::unique_ptr<Module> Read(std::string text) {
  auto module = Parse(std::make_shared<const SourceText>("test", std::move(text)));
  EXPECT_TRUE(module.has_value()) << Render(module.error(), "test");
  return module ? std::move(*module) : nullptr;
}

TEST(PrintForms, ACanonicalInstructionHasNoNamesAndReadsBack) {
  const auto module = Read("HloModule m\nENTRY e { x = f32[2,3] parameter(0) ROOT y = f32[2,3] add(x, x) }");
  const std::string text = Print(module->entry().root(), FormNamed("canonical"));
  EXPECT_EQ(text, "f32[2,3]{1,0} add(f32[2,3]{1,0}, f32[2,3]{1,0})");
  EXPECT_NE(Read(text), nullptr);
}

std::string Chain(int depth) {
  std::string text = "HloModule chain\nbody0 { x = f32[] parameter(0) ROOT y = f32[] negate(x) }\n";
  for (int i = 1; i < depth; ++i)
    text += Str("body", i, " { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=body", i - 1, " }\n");
  return text + Str("ENTRY e { x = f32[] parameter(0) ROOT y = f32[] call(x), to_apply=body", depth - 1, " }\n");
}

TEST(PrintForms, BodiesNestAThousandDeepAndNoDeeper) {
  const auto deepest = Read(Chain(1000));
  ASSERT_TRUE(CheckBodies(*deepest).has_value());
  EXPECT_TRUE(Print(*deepest, FormNamed("canonical")).contains(std::string(2000, ' ') + "ROOT tmp_1 = f32[] negate"));
  const auto deeper = Read(Chain(1001));
  const Status status = CheckBodies(*deeper);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().exit, ExitCode::kLimit);
}

}  // namespace
}  // namespace hlo
