// Tests of the table of rules: the ids, that a file of its pass applies every rule, and that the rewrite loop reports
// rules that undo each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/module.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "passes/pipelines/text.h"
#include "passes/rewrite.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<Module> ParsedOrNull(std::string text) {
  auto module = Parse(std::make_shared<const SourceText>("rules", std::move(text)));
  return module ? (*module)->Clone(true) : nullptr;
}

TEST(Rules, IdsAreUniqueAndHaveTheSameForm) {
  const std::regex form("[A-Z]\\.[a-z]+\\.[1-9][0-9]*[a-z]?");
  std::set<std::string_view> ids;
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) {
      EXPECT_TRUE(std::regex_match(std::string(rule.id), form)) << rule.id;
      EXPECT_TRUE(ids.insert(rule.id).second) << rule.id << " is there twice";
      ASSERT_EQ(FindRules(rule.id).size(), 1u) << rule.id;
      const auto pipeline = ParsePipeline(std::make_shared<const SourceText>("set", Str(set.pass, rule.options)));
      ASSERT_TRUE(pipeline) << rule.id << ": " << pipeline.error().message();
      // A pass promises at most the properties that its rules preserve.
      const PipelineItem& item = pipeline->items.front();
      EXPECT_LE(rule.preserves, PreservesOf(*item.pass, item.options)) << rule.id;
    }
  }
}

// The folder of a pass, whose name has dashes for spaces.
fs::path FolderOf(std::string_view pass) {
  std::string name(pass);
  std::ranges::replace(name, ' ', '-');
  return fs::path("testdata/passes") / name;
}

// The rules that the pass applies to the files in testdata/passes/PASS with these options.
std::set<std::string_view> AppliedBy(std::string_view pass, std::string_view options) {
  std::set<std::string_view> applied;
  for (const std::string& path : ModuleFilesBelow(FolderOf(pass))) {
    const auto source = ReadSource(path);
    const auto module = source ? ParsedOrNull(std::string((*source)->text())) : nullptr;
    if (module == nullptr) continue;
    const auto report = RunPipeline(*module, {.passes = Str(pass, options)});
    if (!report) continue;
    for (const auto& [id, rewrites] : report->rewrites) applied.insert(id);
  }
  return applied;
}

TEST(Rules, EachRuleIsAppliedInAFileOfItsPass) {
  for (const RuleSet& set : AllRules()) {
    std::map<std::string_view, std::set<std::string_view>> applied;
    for (const Rule& rule : set.rules) {
      const auto [of_options, is_new] = applied.try_emplace(rule.options);
      if (is_new) of_options->second = AppliedBy(set.pass, rule.options);
      EXPECT_TRUE(of_options->second.contains(rule.id))
          << "no file of " << FolderOf(set.pass) << " applies " << rule.id;
    }
  }
}

// Without files, the tests of laws, of meaning and of the verifier would find nothing.
TEST(Rules, EachPassHasAFile) {
  for (const PassRow& pass : AllPasses()) {
    const fs::path folder = FolderOf(pass.name);
    const std::vector<std::string> paths = ModuleFilesBelow(folder);
    const bool runs = std::ranges::any_of(paths, [&](const std::string& path) {
      std::ifstream file(path);
      std::string line;
      std::getline(file, line);
      return line.contains(pass.name);
    });
    EXPECT_TRUE(runs) << "no file of " << folder << " runs '" << pass.name << "' in its first line";
  }
}

// The rows of the catalogue of algebraic rules, if the corpus exists. Some rows are rules with other names: A.min.*
// mirrors maxima, A.slice.6 is A.slice.5 for a vector, and A.gte.1 belongs to tuple-simplifier.
TEST(Rules, CoverTheCatalogue) {
  const char* corpus = std::getenv("CORPUS");
  const auto source = ReadSource((fs::path(corpus == nullptr ? "../shared" : corpus) / "spec/passes.md").string());
  if (!source) GTEST_SKIP() << "no corpus at hand";
  const std::map<std::string, std::string> elsewhere = {
      {"A.min.*", "A.min"}, {"A.slice.6", "A.slice.5"}, {"A.gte.1", "T.gte.1"}};
  const std::string text((*source)->text());
  const std::regex row("\n\\| (A\\.[a-z]+\\.[0-9*]+) \\|");
  int rows = 0, covered = 0;
  for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at) {
    const std::string id = (*at)[1];
    const auto found = elsewhere.find(id);
    const bool is_there = !FindRules(found == elsewhere.end() ? id : found->second).empty();
    EXPECT_TRUE(is_there) << id;
    ++rows;
    covered += is_there ? 1 : 0;
  }
  std::printf("%d of %d rows of the catalogue of algebraic rules are there\n", covered, rows);
  EXPECT_EQ(rows, 186);
}

TEST(Rules, SelectorsEndAtTheirParts) {
  const auto ids = [](std::string_view selector) {
    std::vector<std::string_view> found;
    for (const Rule* rule : FindRules(selector)) found.push_back(rule->id);
    return found;
  };
  EXPECT_EQ(ids("A.resh.1"), (std::vector<std::string_view>{"A.resh.1a", "A.resh.1b"}));
  EXPECT_EQ(ids("A.red.1"), (std::vector<std::string_view>{"A.red.1"}));  // The selector does not match A.red.13.
  EXPECT_EQ(ids("A.re"), std::vector<std::string_view>());
  EXPECT_EQ(ids(""), std::vector<std::string_view>());
  EXPECT_GT(ids("A").size(), 50u);
}

template <Opcode kTo>
Result<Instruction*> Become(Instruction& inst, const PassContext&) {
  return &inst.computation().AddLike(inst, kTo, inst.shape(), {&inst.operand(0)}, NoAttrs());
}

constexpr Rule kCircle[] = {
    {"X.sin.1", Opcode::kSin, Become<Opcode::kCos>, Preserves::kExact, "sin(x) => cos(x)"},
    {"X.cos.1", Opcode::kCos, Become<Opcode::kTan>, Preserves::kExact, "cos(x) => tan(x)"},
    {"X.tan.1", Opcode::kTan, Become<Opcode::kSin>, Preserves::kExact, "tan(x) => sin(x)"},
};
constexpr char kSine[] = "HloModule m\nENTRY e {\n  p = f32[3] parameter(0)\n  ROOT s = f32[3] sine(p)\n}\n";

TEST(Rules, RulesThatUndoEachOtherAreNamed) {
  const auto module = ParsedOrNull(kSine);
  ASSERT_NE(module, nullptr);
  RuleBook book;
  const auto changed = RewriteEach(*module, {.rules = &book}, kCircle);
  ASSERT_TRUE(changed);
  EXPECT_TRUE(*changed);
  ASSERT_EQ(book.cycles.size(), 1u);
  EXPECT_EQ(book.cycles.front().substr(0, book.cycles.front().find(" at ")),
            "rules X.cos.1, X.sin.1, X.tan.1 repeat endlessly");
}

TEST(Rules, FuelAndSwitchesBelongToOneRule) {
  const auto module = ParsedOrNull(kSine);
  ASSERT_NE(module, nullptr);
  RuleBook book;
  book.entries["X.tan.1"].fuel = 2;
  ASSERT_TRUE(RewriteEach(*module, {.rules = &book}, kCircle));
  EXPECT_TRUE(book.cycles.empty());
  EXPECT_TRUE(module->entry().root().Is(Opcode::kTan));
  EXPECT_EQ(book.entries["X.sin.1"].rewrites, 3);
  EXPECT_EQ(book.entries["X.tan.1"].rewrites, 2);
  book.entries["X.tan.1"] = {.disabled = true};
  const auto changed = RewriteEach(*module, {.rules = &book}, kCircle);
  ASSERT_TRUE(changed);
  EXPECT_FALSE(*changed);
}

}  // namespace
}  // namespace hlo
