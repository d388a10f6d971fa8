// Tests that VerifyAgain on a changed module finds the same errors as Verify.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "ir/module.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

std::string TextOf(const Status& status) {
  std::string text;
  if (status) return text;
  for (const Diagnostic& diagnostic : status.error().diagnostics)
    text += diagnostic.code + " " + diagnostic.message + "\n";
  return text;
}

// Makes a change that a faulty pass could make, in a computation or in the header.
void Break(Module& module, uint32_t how, std::mt19937& random) {
  std::vector<Instruction*> all;
  for (Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) all.push_back(inst);
  }
  Instruction& inst = *all[random() % all.size()];
  Computation& computation = inst.computation();
  switch (how % 6) {
    case 0: inst.SetShape(Shape(PrimitiveType::kPred, {7})); break;
    case 1: computation.root().SetShape(Shape(PrimitiveType::kPred, {7})); break;
    case 2: computation.SetRoot(inst); break;
    case 3:
      for (Instruction* call : all) {
        if (!call->Is(Opcode::kFusion)) continue;
        call->computation().AddClone(*call, {call->operands().begin(), call->operands().end()});
        break;
      }
      break;
    case 4: module.header.is_scheduled = true; break;
    case 5: module.header.num_partitions += 6; break;
    default: break;
  }
}

TEST(VerifyAgain, FindsTheErrorsOfVerify) {
  std::mt19937 random(15);
  int modules = 0, wrong = 0, inside = 0;
  for (const char* folder : {"testdata/passes", "testdata/run", "testdata/verify"}) {
    if (!std::filesystem::exists(folder)) GTEST_SKIP() << "run from the project's folder";
    for (const std::string& path : ModuleFilesBelow(folder)) {
      const auto source = ReadSource(path);
      ASSERT_TRUE(source);
      const auto parsed = Parse(*source);
      if (!parsed || !Verify(**parsed)) continue;  // The file shows an error.
      ++modules;
      for (uint32_t how = 0; how < 6; ++how) {
        const auto module = (*parsed)->Clone();
        Verified verified;
        ASSERT_TRUE(VerifyAgain(*module, &verified)) << path;
        EXPECT_TRUE(VerifyAgain(*module, &verified)) << path;
        Break(*module, how, random);
        const std::string expected = TextOf(Verify(*module));
        EXPECT_EQ(TextOf(VerifyAgain(*module, &verified)), expected) << path << ", change " << how;
        wrong += !expected.empty();
        inside += !expected.empty() && module->Computations().size() > 1;
      }
    }
  }
  EXPECT_GT(modules, 400);
  EXPECT_GT(wrong, 500);
  EXPECT_GT(inside, 100);
}

}  // namespace
}  // namespace hlo
