// Tests of generated modules and randomly drawn passes: a seed determines the module, and the oracles find planted
// faults and nothing else.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/source_text.h"
#include "driver/fuzz/draw_passes.h"
#include "driver/fuzz/fuzz.h"
#include "driver/fuzz/grower.h"
#include "ir/verifier/verifier.h"
#include "passes/pipelines/text.h"

namespace hlo {
namespace {

struct Grown {
  std::unique_ptr<Module> module;
  std::string text;
};

Grown GrowFrom(uint64_t seed, GrowOptions options = {}) {
  options.seed = seed;
  Grown grown{GrowModule(options), ""};
  grown.text = GrownText(*grown.module, options);
  return grown;
}

TEST(GrownModules, DependOnTheSeedAlone) {
  std::set<std::string> texts;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const std::string text = GrowFrom(seed).text;
    EXPECT_EQ(text, GrowFrom(seed).text);
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 30u);
}

TEST(GrownModules, AreValidAndContainAllKinds) {
  std::map<Opcode, int> seen;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Grown grown = GrowFrom(seed);
    const Status valid = Verify(*grown.module);
    ASSERT_TRUE(valid) << valid.error().message() << "\n" << grown.text;
    for (const Computation* computation : grown.module->Computations()) {
      for (const Instruction* inst : computation->Instructions()) ++seen[inst->opcode()];
    }
  }
  for (const std::span<const GrowRow> family : {ElementwiseRows(), MovementRows(), IndexingRows(), ReductionRows(),
                                                ContractionRows(), ControlRows(), LinearRows()}) {
    for (const GrowRow& row : family) EXPECT_GT(seen[row.opcode], 0) << ToString(row.opcode);
  }
}

// This seed grows an op that requests a parameter of a fusion and is then discarded.
TEST(GrownModules, FusionsUseAllTheirParameters) {
  const Grown grown = GrowFrom(10880);
  const Status valid = Verify(*grown.module);
  EXPECT_TRUE(valid) << valid.error().message();
}

TEST(GrownModules, ObeyTheirLimits) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Grown grown = GrowFrom(seed, {.max_elems = 64, .ops = "add|dot|broadcast"});
    for (const Instruction* inst : grown.module->entry().Instructions()) {
      EXPECT_TRUE(!inst->shape().IsArray() || inst->shape().NumElements() <= 64) << grown.text;
      EXPECT_FALSE(inst->Is(Opcode::kSort) || inst->Is(Opcode::kWhile)) << grown.text;
    }
  }
}

TEST(GrownModules, AFocusGrowsMoreOfItsOpcode) {
  const auto gathers = [](const GrowOptions& options) {
    int count = 0;
    for (uint64_t seed = 0; seed < 40; ++seed) {
      const Grown grown = GrowFrom(seed, options);
      for (const Instruction* inst : grown.module->entry().Instructions()) count += inst->Is(Opcode::kGather);
    }
    return count;
  };
  EXPECT_GT(gathers({.focus = {"gather"}}), 4 * gathers({}));
}

TEST(FuzzOracles, FindNothingInSixtyModules) {
  int64_t judged = 0;
  for (uint64_t seed = 5000; seed < 5060; ++seed) {
    const Grown grown = GrowFrom(seed);
    const FuzzOutcome outcome = CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, seed));
    for (const FuzzFinding& finding : outcome.findings)
      ADD_FAILURE() << finding.oracle << ": " << finding.what << "\n" << grown.text;
    judged += outcome.unsupported.empty() && outcome.inconclusive.empty();
  }
  EXPECT_GT(judged, 15) << "most modules are judged by no kernel";
}

// The number of findings for the modules of the seeds [first, end), by oracle.
std::map<std::string, int> Findings(const RunOptions& run, const GrowOptions& options, uint64_t first, uint64_t end) {
  std::map<std::string, int> by_oracle;
  for (uint64_t seed = first; seed < end; ++seed) {
    const Grown grown = GrowFrom(seed, options);
    for (const FuzzFinding& finding : CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, seed, run)).findings)
      ++by_oracle[finding.oracle];
  }
  return by_oracle;
}

// If planted faults were not found in the generated modules, the generator would test nothing.
TEST(FuzzOracles, FindAFaultInKernels) {
  RunOptions run;
  run.inject = "kernel:*:tail";
  const auto found = Findings(run, {}, 0, 10);
  EXPECT_GT(found.count("optimized"), 0u);
  EXPECT_GT(found.count("unfused"), 0u);
}

// The fault changes results only if a transpose permutes three equal sizes cyclically, as in about one of forty modules
// of transposes.
TEST(FuzzOracles, FindAFaultInAPass) {
  RunOptions run;
  run.pipeline.inject = "algsimp:swapped_permutation";
  const auto found = Findings(run, {.max_elems = 64, .ops = "transpose"}, 100, 130);
  EXPECT_GT(found.count("optimized"), 0u);
}

TEST(DrawnPasses, DependOnTheSeedAloneAndContainAllPassesAndOptions) {
  std::set<std::string_view> passes;
  std::set<std::string> options;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const std::string text = DrawPasses(seed);
    EXPECT_EQ(text, DrawPasses(seed));
    const auto pipeline = ParsePipeline(std::make_shared<const SourceText>("drawn", text));
    ASSERT_TRUE(pipeline) << text << ": " << pipeline.error().message();
    for (const PipelineItem& item : pipeline->items) {
      passes.insert(item.pass->name);
      const auto given = Describe(item.options), defaults = Describe(item.pass->defaults());
      for (size_t i = 0; i < given.size(); ++i) {
        if (given[i].value != defaults[i].value) options.insert(Str(item.pass->name, "{", given[i].name, "}"));
      }
    }
  }
  for (const PassRow& pass : AllPasses()) {
    EXPECT_TRUE(passes.contains(pass.name)) << pass.name;
    for (const OptionText& option : Describe(pass.defaults()))
      EXPECT_TRUE(options.contains(Str(pass.name, "{", option.name, "}"))) << pass.name << ": " << option.name;
  }
}

// Only the oracle `passes` distinguishes a pass that keeps its promise about bits from one that does not.
TEST(FuzzOracles, FindAFaultInAPassOfAList) {
  RunOptions run;
  run.pipeline.passes = "cse,algsimp,dce";
  const GrowOptions options{.ops = "^(multiply|add|constant)$"};
  EXPECT_EQ(Findings(run, options, 15, 18), (std::map<std::string, int>()));
  run.pipeline.inject = "algsimp:drop_add_zero_sign";
  EXPECT_EQ(Findings(run, options, 15, 16), (std::map<std::string, int>{{"passes", 1}}));
}

TEST(FuzzOracles, FindAFaultInAPassByBitsAlone) {
  RunOptions run;
  run.pipeline.passes = "cse,algsimp,dce";
  run.pipeline.inject = "algsimp:drop_add_zero_sign";
  const Grown grown = GrowFrom(15, {.ops = "^(multiply|add|constant)$"});
  const FuzzOutcome outcome = CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, 15, run), nullptr, {"bits"});
  ASSERT_EQ(outcome.findings.size(), 1u);
  EXPECT_EQ(outcome.findings[0].oracle, "bits");
  EXPECT_TRUE(outcome.findings[0].what.starts_with("algsimp#1: ")) << outcome.findings[0].what;
}

TEST(FuzzOracles, FindNothingInTwoHundredModulesByBits) {
  for (uint64_t seed = 9000; seed < 9200; ++seed) {
    const Grown grown = GrowFrom(seed);
    for (const FuzzFinding& finding :
         CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, seed), nullptr, {"bits"}).findings)
      ADD_FAILURE() << finding.oracle << ": " << finding.what << "\n" << grown.text;
  }
}

TEST(FuzzOracles, FindNothingInFortyModulesAfterRandomPasses) {
  for (uint64_t seed = 7000; seed < 7040; ++seed) {
    const Grown grown = GrowFrom(seed);
    RunOptions run;
    run.pipeline.passes = DrawPasses(seed);
    for (const FuzzFinding& finding : CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, seed, run)).findings)
      ADD_FAILURE() << finding.oracle << ": " << finding.what << "\n" << *run.pipeline.passes << "\n" << grown.text;
  }
}

TEST(FuzzOracles, FindAnInvalidModule) {
  Grown grown = GrowFrom(1, {.ops = "transpose|add"});
  for (Instruction* inst : grown.module->entry().Instructions()) {
    if (!inst->Is(Opcode::kAdd)) continue;
    inst->SetShape(inst->shape().WithType(PrimitiveType::kU8));
    const FuzzOutcome outcome = CheckAll(*grown.module, grown.text, JudgedAs(*grown.module, 1));
    ASSERT_EQ(outcome.findings.size(), 1u);
    EXPECT_EQ(outcome.findings[0].oracle, "verify");
    return;
  }
  GTEST_FAIL() << "no add grew";
}

TEST(FuzzOracles, KindsOmitNamesAndNumbers) {
  EXPECT_EQ(KindOf("kernel 'fusion.12' at 17, 'sort' has none"), KindOf("kernel 'fusion.3' at 4, 'sort' has none"));
  EXPECT_NE(KindOf("'sort' has none"), KindOf("'topk' has none"));
}

}  // namespace
}  // namespace hlo
