// Tests of structural diffs: of pairs with known differences, of each model against itself with other names and order,
// and of each model against the output of a pass. The golden files under testdata/diff show the reports.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "base/text.h"
#include "driver/diff/graph.h"
#include "driver/diff/match.h"
#include "driver/diff/rank_test.h"
#include "driver/diff/renamed.h"
#include "driver/diff/structure.h"
#include "driver/load.h"
#include "driver/target.h"
#include "ir/fusion.h"
#include "ir/text/printer.h"
#include "parser/parser.h"
#include "passes/pipeline.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

std::unique_ptr<Module> ModuleOf(const std::string& text) {
  auto module = Parse(std::make_shared<const SourceText>("text", text));
  if (module) return std::move(*module);
  ADD_FAILURE() << Render(module.error(), "test") << text;
  return nullptr;
}

StructureOptions Options() { return {.device = &DefaultDevice()}; }

StructureDiff DiffOf(const Module& left, const Module& right, const StructureOptions& options = Options()) {
  auto diff = DiffModules(left, right, options);
  EXPECT_TRUE(diff) << diff.error().message();
  return std::move(*diff);
}

// The differences as a sorted list such as "changed add: direction; only-left mul; split f -> g,h". Names come from the
// left module, or else from the right one.
std::string Told(const StructureDiff& diff) {
  std::vector<std::string> lines;
  for (const InstructionDiff& one : diff.changed) {
    std::vector<std::string> what;
    for (const AttributeChange& change : one.changes)
      what.push_back(Str(change.attribute, " ", change.left, " -> ", change.right));
    lines.push_back(Str("changed ", one.left->name(), ": ", Join(what, ", ")));
  }
  for (const InstructionDiff& one : diff.only_left) lines.push_back(Str("only-left ", one.left->name()));
  for (const InstructionDiff& one : diff.only_right) lines.push_back(Str("only-right ", one.right->name()));
  const auto names = [](const std::vector<const Instruction*>& list) {
    std::vector<std::string_view> all;
    for (const Instruction* inst : list) all.push_back(inst->name());
    return Join(all, ",");
  };
  for (const KernelDiff& kernel : diff.kernels)
    lines.push_back(Str(kernel.what, " ", names(kernel.left), " -> ", names(kernel.right)));
  for (const AttributeChange& change : diff.module)
    lines.push_back(Str("module ", change.attribute, ": ", change.left, " -> ", change.right));
  if (diff.moved > 0) lines.push_back(Str("moved ", diff.moved));
  std::ranges::sort(lines);
  return Join(lines, "; ");
}

// The diff of two modules as text. Expects that the diff in the other direction is its mirror image.
std::string ToldOf(const Module& left, const Module& right, const StructureOptions& options = Options()) {
  const StructureDiff diff = DiffOf(left, right, options);
  StructureDiff mirror = DiffOf(right, left, options);
  const auto turn = [](std::vector<AttributeChange>& changes) {
    for (AttributeChange& change : changes) std::swap(change.left, change.right);
    std::ranges::sort(changes, {}, &AttributeChange::attribute);
  };
  std::swap(mirror.only_left, mirror.only_right);
  for (auto* list : {&mirror.changed, &mirror.only_left, &mirror.only_right}) {
    for (InstructionDiff& one : *list) {
      std::swap(one.left, one.right);
      turn(one.changes);
    }
  }
  for (KernelDiff& kernel : mirror.kernels) {
    using What = KernelDiff::What;
    constexpr What kMirrored[] = {What::kChanged,   What::kMerged,    What::kSplit,
                                  What::kRegrouped, What::kOnlyRight, What::kOnlyLeft};
    std::swap(kernel.left, kernel.right);
    kernel.what = kMirrored[static_cast<int>(kernel.what)];
  }
  turn(mirror.module);
  StructureDiff sorted = diff;
  for (InstructionDiff& one : sorted.changed) std::ranges::sort(one.changes, {}, &AttributeChange::attribute);
  std::ranges::sort(sorted.module, {}, &AttributeChange::attribute);
  EXPECT_EQ(Told(sorted), Told(mirror));
  EXPECT_EQ(diff.matched, mirror.matched);
  EXPECT_EQ(diff.left.instructions, diff.matched + std::ssize(diff.changed) + std::ssize(diff.only_left));
  EXPECT_EQ(diff.right.instructions, diff.matched + std::ssize(diff.changed) + std::ssize(diff.only_right));
  return Told(diff);
}

std::string ToldOf(const std::string& left, const std::string& right, const StructureOptions& options = Options()) {
  const auto was = ModuleOf(left), is = ModuleOf(right);
  return was == nullptr || is == nullptr ? "" : ToldOf(*was, *is, options);
}

// A chain of `length` instructions with alternating opcodes. A line that `change` returns replaces the original line.
std::string Chain(int length, const std::function<std::string(int number, const std::string& operand)>& change) {
  std::string text = "HloModule chain\nENTRY main {\n  v0 = f32[8] parameter(0)\n";
  std::string last = "v0";
  constexpr std::string_view kOps[] = {"exponential", "negate", "sine", "tanh"};
  for (int i = 1; i <= length; ++i) {
    const std::string changed = change(i, last);
    text += changed.empty() ? Str("  v", i, " = f32[8] ", kOps[i % 4], "(", last, ")\n") : changed;
    last = Str("v", i);
  }
  return Str(text, "  ROOT r = f32[8] add(", last, ", v0)\n}\n");
}

TEST(DiffModules, NamesAndOrderAreNoDifference) {
  const std::string left = R"(HloModule a
ENTRY main {
  p = f32[2,3] parameter(0)
  q = f32[2,3] parameter(1)
  s = f32[2,3] sine(p)
  c = f32[2,3] cosine(q)
  ROOT r = f32[2,3] subtract(s, c)
})";
  const std::string right = R"(HloModule b
ENTRY other {
  y = f32[2,3] parameter(1)
  d = f32[2,3] cosine(y)
  x = f32[2,3] parameter(0)
  t = f32[2,3] sine(x)
  ROOT z = f32[2,3] subtract(t, d)
})";
  EXPECT_EQ(ToldOf(left, right), "");
  StructureOptions all = Options();
  all.ignore = {};
  EXPECT_EQ(
      ToldOf(left, right, all),
      "changed c: name c -> d; changed p: name p -> x; changed q: name q -> y; changed r: name r -> z; changed s: "
      "name s -> t; module name: a -> b; moved 2");
}

TEST(DiffModules, FindsASingleChangeInALongChain) {
  const auto none = [](int, const std::string&) { return std::string(); };
  const std::string plain = Chain(200, none);
  const std::string inserted = Chain(200, [](int i, const std::string& last) {
    return i == 100 ? Str("  new = f32[8] abs(", last, ")\n  v100 = f32[8] exponential(new)\n") : "";
  });
  EXPECT_EQ(ToldOf(plain, inserted), "only-right new");
  const std::string replaced = Chain(
      200, [](int i, const std::string& last) { return i == 100 ? Str("  v100 = f32[8] log(", last, ")\n") : ""; });
  EXPECT_EQ(ToldOf(plain, replaced), "changed v100: opcode exponential -> log");
  // Neither operands nor users match the instructions between the two differences.
  const std::string twice = Chain(200, [](int i, const std::string& last) {
    return i == 60 || i == 140
               ? Str("  new", i, " = f32[8] abs(", last, ")\n  v", i, " = f32[8] exponential(new", i, ")\n")
               : "";
  });
  EXPECT_EQ(ToldOf(plain, twice), "only-right new140; only-right new60");
}

TEST(DiffModules, NamesAChangedAttribute) {
  const auto compare = [](const char* direction) {
    return Str(
        "ENTRY main {\n p = f32[4] parameter(0)\n q = f32[4] parameter(1)\n c = pred[4] compare(p, q), direction=",
        direction, "\n ROOT r = f32[4] select(c, p, q)\n}");
  };
  EXPECT_EQ(ToldOf(compare("GE"), compare("GT")), "changed c: direction GE -> GT");
  const auto constant = [](const char* value) {
    return Str("ENTRY main {\n p = f32[] parameter(0)\n c = f32[] constant(", value, ")\n ROOT r = f32[] add(p, c)\n}");
  };
  EXPECT_EQ(ToldOf(constant("1"), constant("2")), "changed c: value 1 -> 2");
  const auto other = [](const char* operand) {
    return Str(
        "ENTRY main {\n p = f32[4] parameter(0)\n s = f32[4] sine(p)\n c = f32[4] cosine(p)\n d = f32[4] divide(s, ",
        operand, ")\n ROOT t = (f32[4], f32[4], f32[4]) tuple(d, s, c)\n}");
  };
  EXPECT_EQ(ToldOf(other("c"), other("s")), "changed d: operand 1 c -> s");
  const auto root = [](const char* s, const char* c) {
    return Str("ENTRY main {\n p = f32[4] parameter(0)\n ", s, "s = f32[4] sine(p)\n ", c, "c = f32[4] cosine(p)\n}");
  };
  EXPECT_EQ(ToldOf(root("ROOT ", ""), root("", "ROOT ")),
            "changed c: root false -> true; changed s: root true -> false");
}

TEST(DiffModules, ReportsLayoutsAndShapes) {
  const auto with = [](const char* shape) {
    return Str("ENTRY main {\n p = ", shape, " parameter(0)\n ROOT r = ", shape, " sine(p)\n}");
  };
  EXPECT_EQ(ToldOf(with("f32[2,3]{1,0}"), with("f32[2,3]{0,1}")),
            "changed p: shape f32[2,3] -> f32[2,3]{0,1}; changed r: shape f32[2,3] -> f32[2,3]{0,1}");
  StructureOptions no_layouts = Options();
  no_layouts.ignore.layouts = true;
  EXPECT_EQ(ToldOf(with("f32[2,3]{1,0}"), with("f32[2,3]{0,1}"), no_layouts), "");
  EXPECT_EQ(ToldOf(with("f32[2,3]"), with("f32[2,5]"), no_layouts),
            "changed p: shape f32[2,3] -> f32[2,5]; changed r: shape f32[2,3] -> f32[2,5]");
  StructureOptions no_shapes = no_layouts;
  no_shapes.ignore.shapes = true;
  EXPECT_EQ(ToldOf(with("f32[2,3]"), with("f32[2,5]"), no_shapes), "");
}

TEST(DiffModules, AnInsertedParameterMovesTheOthers) {
  EXPECT_EQ(ToldOf("ENTRY main {\n w = f32[4] parameter(0)\n x = f32[4] parameter(1)\n m = f32[4] multiply(w, x)\n"
                   " ROOT r = f32[4] sine(m)\n}",
                   "ENTRY main {\n n = f32[4] parameter(0)\n w = f32[4] parameter(1)\n x = f32[4] parameter(2)\n"
                   " m = f32[4] multiply(w, x)\n ROOT r = f32[4] sine(m)\n}"),
            "only-right n");
}

TEST(DiffModules, SharedAndCopiedComputationsAreEqual) {
  const auto reduces = [](const char* first, const char* second, const std::string& more) {
    return Str("add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT s = f32[] add(a, b)\n}\n", more,
               "ENTRY main {\n x = f32[2,3] parameter(0)\n zero = f32[] constant(0)\n r = f32[2] reduce(x, zero), "
               "dimensions={1}, to_apply=",
               first, "\n q = f32[3] reduce(x, zero), dimensions={0}, to_apply=", second,
               "\n ROOT t = (f32[2], f32[3]) tuple(r, q)\n}");
  };
  const std::string copy = "plus { c = f32[] parameter(0)\n d = f32[] parameter(1)\n ROOT e = f32[] add(c, d)\n}\n";
  const std::string most = "most { c = f32[] parameter(0)\n d = f32[] parameter(1)\n ROOT e = f32[] maximum(c, d)\n}\n";
  EXPECT_EQ(ToldOf(reduces("add", "add", ""), reduces("add", "plus", copy)), "");
  // Only one of the two callers calls another computation, so the caller has changed.
  EXPECT_EQ(ToldOf(reduces("add", "add", ""), reduces("add", "most", most)),
            "changed q: to_apply add -> most; only-right c; only-right d; only-right e");
  // Both callers call the other computation, so the computation itself counts as changed.
  EXPECT_EQ(ToldOf(reduces("add", "add", ""), reduces("most", "most", most)), "changed s: opcode add -> maximum");
}

TEST(DiffModules, TheBodyOfALoopIsMatchedThroughItsCaller) {
  const auto loop = [](const char* op) {
    return Str(
        "body { s = (s32[], f32[4]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n x = f32[4] "
        "get-tuple-element(s), index=1\n one = s32[] constant(1)\n j = s32[] add(i, one)\n y = f32[4] ",
        op,
        "(x)\n ROOT t = (s32[], f32[4]) tuple(j, y)\n}\ncond { s = (s32[], f32[4]) parameter(0)\n i = s32[] "
        "get-tuple-element(s), index=0\n n = s32[] constant(5)\n ROOT c = pred[] compare(i, n), direction=LT\n}\n"
        "ENTRY main { x = f32[4] parameter(0)\n z = s32[] constant(0)\n t = (s32[], f32[4]) tuple(z, x)\n ROOT w = "
        "(s32[], f32[4]) while(t), condition=cond, body=body\n}");
  };
  EXPECT_EQ(ToldOf(loop("sine"), loop("cosine")), "changed y: opcode sine -> cosine");
}

constexpr char kOneFusion[] = R"(HloModule m
f {
  p = f32[64] parameter(0)
  e = f32[64] exponential(p)
  n = f32[64] negate(e)
  ROOT s = f32[64] sine(n)
}
ENTRY main {
  x = f32[64] parameter(0)
  ROOT fusion = f32[64] fusion(x), kind=kLoop, calls=f
})";
constexpr char kTwoFusions[] = R"(HloModule m
f {
  p = f32[64] parameter(0)
  ROOT e = f32[64] exponential(p)
}
g {
  p = f32[64] parameter(0)
  n = f32[64] negate(p)
  ROOT s = f32[64] sine(n)
}
ENTRY main {
  x = f32[64] parameter(0)
  a = f32[64] fusion(x), kind=kLoop, calls=f
  ROOT b = f32[64] fusion(a), kind=kLoop, calls=g
})";

TEST(DiffModules, ReportsSplitAndMergedFusions) {
  EXPECT_EQ(ToldOf(kOneFusion, kTwoFusions), "split fusion -> a,b");
  EXPECT_EQ(ToldOf(kTwoFusions, kOneFusion), "merged a,b -> fusion");
  const auto left = ModuleOf(kOneFusion), right = ModuleOf(kTwoFusions);
  const StructureDiff diff = DiffOf(*left, *right);
  ASSERT_EQ(diff.kernels.size(), 1u);
  EXPECT_EQ(diff.kernels[0].launches, 1);
  EXPECT_EQ(diff.kernels[0].bytes, 2 * 64 * 4);  // The intermediate result is written and read once more.
  EXPECT_DOUBLE_EQ(diff.kernels[0].seconds, diff.right.seconds - diff.left.seconds);
  EXPECT_DOUBLE_EQ(diff.kernels[0].launches, diff.right.launches - diff.left.launches);
  EXPECT_DOUBLE_EQ(diff.kernels[0].bytes, diff.right.bytes - diff.left.bytes);
  EXPECT_EQ(diff.matched, 4);
}

TEST(DiffModules, ComparesFusedWithUnfusedModules) {
  EXPECT_EQ(ToldOf(kOneFusion,
                   "ENTRY main {\n x = f32[64] parameter(0)\n e = f32[64] exponential(x)\n n = f32[64] "
                   "negate(e)\n ROOT s = f32[64] sine(n)\n}"),
            "split fusion -> e,n,s");
}

// ---- Models --------------------------------------------------------------------------------------------------------

std::vector<std::string> Models() {
  std::vector<std::string> paths;
  for (const std::string& path : ModuleFilesBelow("testdata/models")) {
    if (!path.contains("/large/")) paths.push_back(path);
  }
  EXPECT_GE(paths.size(), 12u);
  return paths;
}

std::unique_ptr<Module> Load(const std::string& path) {
  auto module = LoadModule(path);
  EXPECT_TRUE(module) << path;
  return std::move(*module);
}

std::unique_ptr<Module> Optimized(const Module& module) {
  auto copy = module.Clone();
  EXPECT_TRUE(RunPipeline(*copy, {.device = &DefaultDevice()}));
  return copy;
}

// The same module with other names for everything, in a random order.
std::unique_ptr<Module> Shuffled(const Module& module) {
  std::mt19937_64 random(7);
  std::vector<int64_t> ranks(module.id_limit());
  for (int64_t& rank : ranks) rank = static_cast<int64_t>(random() >> 1);
  return Renamed(module, {.of_computation = [](const Computation& c) { return Str("computation_of_", c.id()); },
                          .of_instruction = [&](const Instruction& i) { return Str("value_", ranks[i.id()]); },
                          .rank = [&](const Instruction& i) { return ranks[i.id()]; }});
}

TEST(DiffModules, ModelsAreEqualUnderOtherNamesInAnotherOrder) {
  for (const std::string& path : Models()) {
    const auto module = Load(path);
    const auto optimized = Optimized(*module);
    for (const Module* one : {module.get(), optimized.get()}) {
      // The module is printed and parsed, like a module from a dump.
      const auto other = ModuleOf(Print(*Shuffled(*one)));
      ASSERT_NE(other, nullptr);
      EXPECT_EQ(ToldOf(*one, *other), "") << path;
      EXPECT_EQ(DiffOf(*one, *one).matched, DiffOf(*one, *other).matched) << path;
    }
  }
}

// At least as many instructions must be matched as have the same line in the entry after the pass. Of two equal
// instructions the pass keeps one, and either may be matched.
TEST(DiffModules, UnchangedInstructionsAreMatched) {
  int64_t compared = 0, kept_in_all = 0;
  for (const std::string& path : Models()) {
    const auto before = Load(path);
    for (const char* pass : {"algsimp", "cse", "fusion", "multi_output_fusion", "dot_decomposer", "reshape-mover"}) {
      const auto after = before->Clone();
      ASSERT_TRUE(RunPipeline(*after, {.passes = pass, .device = &DefaultDevice()})) << path << " " << pass;
      const auto shuffled = Shuffled(*after);
      const StructureDiff diff = DiffOf(*before, *shuffled);
      ++compared;
      std::set<std::string> lines;
      for (const Computation* computation : after->PostOrder()) {
        for (const Instruction* inst : computation->instructions()) lines.insert(ToString(*inst));
      }
      int64_t kept = 0;
      for (const Instruction* inst : before->entry().instructions()) kept += lines.contains(ToString(*inst));
      const auto in_entry = [](const InstructionDiff& one) { return one.left->computation().IsEntry(); };
      const int64_t found = before->entry().InstructionCount() - std::ranges::count_if(diff.only_left, in_entry);
      EXPECT_GE(found, kept) << path << " " << pass;
      kept_in_all += kept;
      // A pass without effect gives an empty diff, and a pass that did more than reorder or remove dead instructions
      // does not.
      if (Fingerprint(*before) == Fingerprint(*after)) EXPECT_EQ(Told(diff), "") << path << " " << pass;
      else EXPECT_FALSE(diff.is_equal()) << path << " " << pass;
    }
  }
  EXPECT_GE(compared, 72);
  EXPECT_GT(kept_in_all, 10'000);
}

TEST(DiffModules, TheOppositeDirectionIsTheMirrorImage) {
  int64_t compared = 0;
  std::unique_ptr<Module> last;
  for (const std::string& path : ModuleFilesBelow("testdata/passes")) {
    auto module = LoadModule(path);
    if (!module) continue;
    EXPECT_EQ(ToldOf(**module, **module), "") << path;
    if (last != nullptr) {
      SCOPED_TRACE(path);
      ToldOf(*last, **module);
      ++compared;
    }
    last = std::move(*module);
  }
  EXPECT_GT(compared, 400);
}

TEST(DiffModules, NamesTheFlagOfItsLimit) {
  const auto module = ModuleOf(kOneFusion);
  StructureOptions options = Options();
  options.most_instructions = 4;
  const auto diff = DiffModules(*module, *module, options);
  ASSERT_FALSE(diff);
  EXPECT_EQ(diff.error().exit, ExitCode::kLimit);
  EXPECT_TRUE(diff.error().message().contains("--max_instructions")) << diff.error().message();
}

// ---- Ranks ---------------------------------------------------------------------------------------------------------

// The p value by definition: counts all ways to choose the first sample from all numbers.
double ByCounting(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const auto distance = [&](uint32_t of_a) {
    double u = 0;
    for (size_t i = 0; i < all.size(); ++i) {
      for (size_t k = 0; k < all.size(); ++k) {
        if ((of_a >> i & 1) == 0 || (of_a >> k & 1) == 1) continue;
        u += all[i] > all[k] ? 1 : all[i] == all[k] ? 0.5 : 0;
      }
    }
    return std::abs(u - static_cast<double>(a.size() * b.size()) / 2);
  };
  const double own = distance((1U << a.size()) - 1);
  double as_far = 0, ways = 0;
  for (uint32_t of_a = 0; of_a < 1U << all.size(); ++of_a) {
    if (std::popcount(of_a) != static_cast<int>(a.size())) continue;
    ++ways;
    as_far += distance(of_a) >= own;
  }
  return as_far / ways;
}

TEST(RankTest, EqualsCountingOfAllOrders) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 40; ++round) {
    std::vector<double> a(1 + random() % 6), b(1 + random() % 6);
    for (double& x : a) x = static_cast<double>(random() % 1'000'000);
    for (double& x : b) x = static_cast<double>(random() % 1'000'000) + (round % 2 == 0 ? 300'000 : 0);
    EXPECT_NEAR(RankTest(a, b), ByCounting(a, b), 1e-12);
    EXPECT_EQ(RankTest(a, b), RankTest(b, a));
  }
}

TEST(RankTest, IsCloseToCountingWithTies) {
  const std::vector<double> a = {1, 2, 2, 3, 3, 3, 4, 5}, b = {2, 3, 4, 4, 5, 5, 6, 6};
  EXPECT_NEAR(RankTest(a, b), ByCounting(a, b), 0.02);
  EXPECT_EQ(RankTest(std::vector<double>{1, 1}, std::vector<double>{1, 1}), 1);
  EXPECT_EQ(RankTest({}, b), 1);
}

}  // namespace
}  // namespace hlo
