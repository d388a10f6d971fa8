// Tests of the grammar of pipelines, of presets, gates, options, and fixed points that do not end.
#include <gtest/gtest.h>

#include <set>

#include "driver/optimize.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "passes/pipelines/text.h"

namespace hlo {
namespace {

using Kind = PipelineItem::Kind;

std::unique_ptr<Module> Parsed(std::string text) {
  auto module = Parse(std::make_shared<const SourceText>("text", std::move(text)));
  EXPECT_TRUE(module) << (module ? "" : module.error().message());
  return (*module)->Clone(true);
}

std::unique_ptr<Module> Example() {
  return Parsed(R"(HloModule m
add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[4,8] parameter(0)
  y = f32[4,8] multiply(x, x)
  u = f32[4,8] exponential(x)
  v = f32[4,8] exponential(y)
  t = f32[4,8] add(u, v)
  z = f32[] constant(0)
  ROOT r = f32[4] reduce(t, z), dimensions={1}, to_apply=add
})");
}

std::shared_ptr<const SourceText> Text(std::string text) {
  return std::make_shared<const SourceText>("p.txt", std::move(text));
}

void Collect(const std::vector<PipelineItem>& items, std::vector<const PipelineItem*>* found) {
  for (const PipelineItem& item : items) {
    if (item.kind == Kind::kPass || item.kind == Kind::kTodo) found->push_back(&item);
    Collect(item.items, found);
  }
}

std::string NameOf(const PipelineItem& item) {
  return item.kind == Kind::kPass ? std::string(item.pass->name) : item.name;
}

// The study of the 2022 compiler counts 97 passes that run on one device. They are of 72 kinds that optimize and 4
// kinds that prepare the emission. With the 3 kinds of the partitioner, 75 kinds optimize.
TEST(PipelineText, ThePresetOf2022HasTheStudysCounts) {
  const auto pipeline = ParsePipeline(FindPreset("2022")->source);
  ASSERT_TRUE(pipeline) << pipeline.error().message();
  const std::set<std::string> emission = {"alias_passthrough_params", "loop-schedule-linearizer", "copy-insertion",
                                          "sanitize-constant-names", "gpu-schedule"};
  std::set<std::string> kinds, single;
  int run = 0;
  for (const PipelineItem& stage : pipeline->items) {
    ASSERT_EQ(stage.kind, Kind::kStage);
    std::vector<const PipelineItem*> passes;
    Collect(stage.items, &passes);
    for (const PipelineItem* pass : passes) {
      if (emission.contains(NameOf(*pass))) continue;
      kinds.insert(NameOf(*pass));
      if (stage.name != "spmd-partitioner") single.insert(NameOf(*pass));
    }
    if (stage.name == "spmd-partitioner" || stage.name == "schedule") continue;
    // The study does not count async-collective-creator, which depends on a flag.
    for (const PipelineItem* pass : passes) run += NameOf(*pass) != "async-collective-creator";
  }
  EXPECT_EQ(kinds.size(), 75u);
  EXPECT_EQ(single.size(), 72u);
  EXPECT_EQ(run, 97);
}

TEST(PipelineText, PresetsRunAsTheirOwnText) {
  for (const Preset& preset : AllPresets()) {
    const auto by_name = Example(), by_text = Example();
    const auto first = RunPipeline(*by_name, {.pipeline = std::string(preset.name)});
    const auto second = RunPipeline(*by_text, {.pipeline = "p.txt", .text = Text(std::string(preset.source->text()))});
    ASSERT_TRUE(first && second) << preset.name;
    EXPECT_EQ(Print(*by_name), Print(*by_text)) << preset.name;
    EXPECT_EQ(first->runs.size(), second->runs.size());
    EXPECT_EQ(first->todo, second->todo);
    EXPECT_TRUE(by_name->header.is_scheduled) << preset.name;
  }
}

TEST(PipelineText, StagesNestAndNameTheirPasses) {
  const auto module = Example();
  const auto report = RunPipeline(*module, {.passes = R"(
      dce  // Alone.
      pipeline outer(fixed-point) { algsimp, pipeline the inner one { cse; } })"});
  EXPECT_FALSE(report);  // A semicolon is not a separator.
  const auto nested = RunPipeline(
      *module,
      {.passes = "dce\npipeline outer { algsimp, pipeline the inner one { cse }\n }, todo(x{a=1}(fixed-point))"});
  ASSERT_TRUE(nested) << nested.error().message();
  ASSERT_EQ(nested->runs.size(), 3u);
  EXPECT_EQ(nested->runs[0].pipeline, "passes");
  EXPECT_EQ(nested->runs[1].pipeline, "outer");
  EXPECT_EQ(nested->runs[2].pipeline, "the inner one");
  EXPECT_EQ(nested->todo, std::vector<std::string>{"x"});
  EXPECT_EQ(nested->items, 4);
  const auto without = RunPipeline(*module, {.passes = "pipeline a { pipeline b { dce } }, cse", .disabled = {"a"}});
  ASSERT_TRUE(without);
  EXPECT_TRUE(without->runs[0].skipped);
  EXPECT_FALSE(without->runs[1].skipped);
}

TEST(PipelineText, ANameMayBelongToAStageAndAPass) {
  const auto skipped = [](const std::string& disabled) {
    const auto module = Example();
    const auto report = RunPipeline(*module, {.disabled = {disabled}});
    std::set<std::string_view> names;
    for (const PassRun& run : report->runs) {
      if (run.skipped) names.insert(run.pass->name);
    }
    return names;
  };
  EXPECT_EQ(skipped("fusion"), (std::set<std::string_view>{"fusion", "dce", "multi_output_fusion", "fusion_merger"}));
  EXPECT_EQ(skipped("fusion/fusion"), (std::set<std::string_view>{"fusion"}));
}

TEST(PipelineText, OptionsReachThePass) {
  const auto kernels = [](const std::string& passes) {
    const auto module = Example();
    EXPECT_TRUE(RunPipeline(*module, {.passes = passes}));
    return CountKernels(*module).kernels;
  };
  EXPECT_EQ(kernels("layout-assignment, fusion"), 1);
  EXPECT_GT(kernels("layout-assignment, fusion{instructions=1}"), 1);
}

TEST(PipelineText, GatesDependOnTheModuleAndTheDevice) {
  const auto runs = [](const std::string& gate, int64_t partitions, std::string_view device) {
    const auto module = Example();
    module->header.num_partitions = partitions;
    const auto report = RunPipeline(*module, {.passes = "if " + gate + " { dce }", .device = FindDevice(device)});
    EXPECT_TRUE(report) << report.error().message();
    return report && report->runs.size() == 1;
  };
  EXPECT_TRUE(runs("partitions>1", 4, "h200"));
  EXPECT_FALSE(runs("partitions > 1", 1, "h200"));
  EXPECT_TRUE(runs("partitions==1", 1, "h200"));
  EXPECT_TRUE(runs("replicas <= 1", 1, "h200"));
  EXPECT_TRUE(runs("cc>=8.0", 1, "h200"));
  EXPECT_TRUE(runs("cc==9.0", 1, "h200"));
  EXPECT_FALSE(runs("cc!=9", 1, "h200"));
  EXPECT_FALSE(runs("cc>9.0", 1, "h200"));
  EXPECT_TRUE(runs("cc<9.5", 1, "h200"));
  EXPECT_FALSE(runs("cc>=7.0", 1, "host"));
}

// The first pass of the fixed point removes the fusions that the second one makes.
constexpr char kEndless[] = "layout-assignment\npipeline both(fixed-point) {\n  fusion-dissolver\n  fusion\n}\n";

TEST(PipelineText, AnEndlessFixedPointIsNamed) {
  const auto module = Example();
  const auto report = RunPipeline(*module, {.pipeline = "p.txt", .text = Text(kEndless)});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().exit, ExitCode::kUsage);
  EXPECT_NE(report.error().message().find("'both' reaches no fixed point"), std::string::npos)
      << report.error().message();
  EXPECT_NE(report.error().message().find("fusion-dissolver, fusion"), std::string::npos) << report.error().message();
  ASSERT_NE(report.error().source, nullptr);
  EXPECT_EQ(report.error().source->PlaceOf(report.error().diagnostics.front().range.begin).line, 2);
}

TEST(PipelineText, AFixedPointMayHaveALimit) {
  const auto module = Example();
  const auto counted = RunPipeline(*module, {.passes = "layout-assignment, pipeline p(fixed-point=1) { fusion }"});
  ASSERT_TRUE(counted) << counted.error().message();
  EXPECT_EQ(counted->runs.size(), 2u);
  EXPECT_TRUE(counted->cycles.empty());
  const auto alone = RunPipeline(*Example(), {.passes = "algsimp(fixed-point)"});
  ASSERT_TRUE(alone);
  EXPECT_LE(alone->runs.size(), 2u);
}

struct Wrong {
  const char* text;
  int line, column;
  const char* message;
};

TEST(PipelineText, ErrorsAreLocated) {
  const Wrong cases[] = {
      {"dce,\nalgsmp", 2, 1, "unknown pass 'algsmp'; did you mean 'algsimp'?"},
      {"fusion{instrctions=1}", 1, 8, "did you mean 'instructions'?"},
      {"fusion{instructions=many}", 1, 8, "wants a number of at least 0, not 'many'"},
      {"fusion{instructions}", 1, 8, "wants a number of at least 0, not ''"},
      {"cse{fusions_only=1}", 1, 5, "wants true or false, not '1'"},
      {"dce{x=1}", 1, 5, "'dce' has no options"},
      {"simplification{x=1}", 1, 15, "is a pipeline, which has no options"},
      {"if patitions>1 { dce }", 1, 4, "did you mean 'partitions'?"},
      {"if { dce }", 1, 3, "unknown gate ''"},
      {"if cc=9 { dce }", 1, 4, "expected a comparison with a number"},
      {"if cc>=nine { dce }", 1, 4, "expected a comparison with a number"},
      {"if cc>=9", 1, 8, "expected '{'"},
      {"pipeline p {\n  dce\n", 1, 12, "'{' is not closed"},
      {"dce\n}", 2, 1, "'}' has no matching '{'"},
      {"fusion{instructions=1", 1, 7, "'{' is not closed"},
      {"algsimp(fixed-point", 1, 8, "'(' is not closed"},
      {"algsimp(fixed)", 1, 9, "expected 'fixed-point' or 'fixed-point=N', not 'fixed'"},
      {"algsimp(fixed-point=0)", 1, 9, "expected 'fixed-point' or 'fixed-point=N'"},
      {"todo(dce)", 1, 6, "'dce' exists in hlokit: write it without todo"},
      {"todo()", 1, 6, "expected the name of a pass"},
      {"todo", 1, 4, "expected '(' and a name after 'todo'"},
      {"todo(x", 1, 5, "'(' is not closed"},
      {"pipeline {dce}", 1, 10, "expected a name after 'pipeline'"},
      {"algsimp{} cse", 1, 11, "expected ',' or a new line after 'algsimp{}'"},
      {"dce cse", 1, 1, "unknown pass 'dce cse'"},
      {"(fixed-point)", 1, 1, "expected the name of a pass or pipeline"},
  };
  for (const Wrong& wrong : cases) {
    const auto pipeline = ParsePipeline(Text(wrong.text));
    ASSERT_FALSE(pipeline) << wrong.text;
    const Error& error = pipeline.error();
    EXPECT_EQ(error.exit, ExitCode::kUsage) << wrong.text;
    EXPECT_NE(error.message().find(wrong.message), std::string::npos) << wrong.text << ": " << error.message();
    ASSERT_NE(error.source, nullptr) << wrong.text;
    const SourceText::Place place = error.source->PlaceOf(error.diagnostics.front().range.begin);
    EXPECT_EQ(place.line, wrong.line) << wrong.text;
    EXPECT_EQ(place.column, wrong.column) << wrong.text;
  }
}

TEST(PipelineText, DeepNestingIsRejected) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "pipeline p {";
  const auto pipeline = ParsePipeline(Text(text));
  ASSERT_FALSE(pipeline);
  EXPECT_NE(pipeline.error().message().find("nested deeper than"), std::string::npos);
}

TEST(Findings, OfARunAreReportedOnce) {
  PipelineReport report;
  report.cycles = {"'fusion' reaches no fixed point", "'fusion' reaches no fixed point"};
  report.runs = {{.pass = FindPass("dce"), .instance = 1, .changed = true, .misreported = true},
                 {.pass = FindPass("dce"), .instance = 2, .changed = true, .misreported = true}};
  const std::vector<std::string> findings = FindingsOf(report);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0], "[I010] dce reports no change, but changed the module");
  EXPECT_EQ(findings[1], "[I011] 'fusion' reaches no fixed point; hlokit ended the repetition");
}

}  // namespace
}  // namespace hlo
