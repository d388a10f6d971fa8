// The judge by residues: other orders and groupings are equal, other real numbers differ, and close decisions are open.
#include "judge/residues/residues.h"
#include "judge/residues/residue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <filesystem>
#include <map>
#include <set>

#include "compare_widened_cases.h"
#include "driver/run/pass_segments.h"
#include "ir/mutation.h"
#include "ir/text/printer.h"
#include "judge/new_roundings.h"
#include "passes/pipeline.h"
#include "passes/pipelines/text.h"
#include "passes/rewrite.h"
#include "tests/module_files.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// ---- The rules of passes -------------------------------------------------------------------------------------------

std::vector<std::unique_ptr<Module>> ModulesOf(std::string pass) {
  std::ranges::replace(pass, ' ', '-');
  std::vector<std::unique_ptr<Module>> modules;
  for (const std::string& path : ModuleFilesBelow(fs::path("testdata/passes") / pass)) {
    const auto source = ReadSource(path);
    auto module = source ? Parse(*source) : std::unexpected(source.error());
    if (module) modules.push_back(std::move(*module));
    if (module) modules.back()->SetName(path);
  }
  return modules;
}

void MakePositive(Literal* arg) {
  if (!arg->shape().IsArray() || !IsFloat(arg->shape().type())) return;
  for (int64_t i = 0; i < arg->shape().NumElements(); ++i) arg->SetDouble(i, std::fabs(arg->GetDouble(i)));
}

struct Judged {
  BitsResult result;
  std::unique_ptr<Module> after;
  std::set<std::string_view> rules;  // Regrouping rules that changed the module.
  std::vector<Literal> args;
};

// Runs one pass with its exact rules and its regrouping rules only, and judges the result.
Judged JudgePass(const Module& module, const PipelineItem& item) {
  Judged judged;
  judged.after = module.Clone(/*as_input=*/true);
  RuleBook book;
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) book.entries[rule.id].disabled = rule.preserves == Preserves::kChangesPrecision;
  }
  const auto changed = item.pass->function(*judged.after, {.options = item.options, .rules = &book});
  if (!changed) return judged;
  judged.after->Sweep();
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) {
      if (book.entries[rule.id].rewrites > 0 && rule.preserves == Preserves::kReassociates)
        judged.rules.insert(rule.id);
    }
  }
  if (judged.rules.empty()) return judged;
  auto args = MakeArguments(module, {.seed = 820000000});
  if (!args) {
    judged.rules.clear();
    return judged;
  }
  for (Literal& arg : *args) MakePositive(&arg);  // Square roots of variances must not be NaN.
  judged.args = std::move(*args);
  auto result = CompareByResidues(module, *judged.after, judged.args);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  if (result) judged.result = std::move(*result);
  return judged;
}

const ResiduesOptions kLimits = {.interpret = {.max_loop_iterations = 1000, .max_steps = 100'000}};

// Whether some number of the results differs by more than roundings can explain.
bool DifferMuch(const Literal& a, const Literal& b) {
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (DifferMuch(a.elements()[i], b.elements()[i])) return true;
  }
  if (!a.shape().IsArray()) return false;
  for (int64_t i = 0; i < a.shape().NumElements(); ++i) {
    const std::complex<double> x = a.GetComplex(i), y = b.GetComplex(i);
    if (std::abs(x - y) > 0.05 * (std::abs(x) + std::abs(y) + 1)) return true;  // False for NaN.
  }
  return false;
}

// Plants each fault once in a module that a rule changed. Faults that change results by more than roundings must be
// found. Returns the number of such faults.
int PlantIn(const Module& before, const Module& after, const std::vector<Literal>& args) {
  int planted = 0;
  for (const Mutation& mutation : Mutations()) {
    const auto wrong = after.Clone();
    const Instruction* const place = Plant(mutation, *wrong);
    if (place == nullptr) continue;
    const auto expected = Interpret(after, args, kLimits.interpret),
               actual = Interpret(*wrong, args, kLimits.interpret);
    if (!expected || !actual || !DifferMuch(*expected, *actual)) continue;
    ++planted;
    const auto result = CompareByResidues(before, *wrong, args, kLimits);
    EXPECT_TRUE(result && result->verdict == Verdict::kMismatch)
        << before.name() << ": " << mutation.name << " in '" << place->name()
        << "': " << (result ? result->reason : "");
  }
  return planted;
}

// Rules that residues cannot judge: rules of transforms and decompositions, and rules of several devices.
const std::set<std::string_view> kNotByResidues = {"L.eigh.1", "L.qr.1", "M.ar.1", "M.ar.2", "M.rs.2", "X.fft.1"};

TEST(JudgeResidues, EachRuleThatRegroupsKeepsRealNumbersAndFaultsDoNot) {
  std::set<std::string_view> settled;
  int planted = 0;
  for (const RuleSet& set : AllRules()) {
    std::map<std::string_view, PipelineItem> items;
    for (const Rule& rule : set.rules) {
      if (rule.preserves != Preserves::kReassociates) continue;
      const auto pipeline = ParsePipeline(std::make_shared<const SourceText>("set", Str(set.pass, rule.options)));
      ASSERT_TRUE(pipeline);
      items.try_emplace(rule.options, pipeline->items.front());
    }
    for (const auto& [options, item] : items) {
      for (const auto& module : ModulesOf(std::string(set.pass))) {
        const Judged judged = JudgePass(*module, item);
        const bool other = std::ranges::any_of(judged.rules, [](auto rule) { return kNotByResidues.contains(rule); });
        if (judged.rules.empty()) continue;
        const bool is_open =
            judged.result.verdict == Verdict::kUnsupported || judged.result.verdict == Verdict::kInconclusive;
        EXPECT_TRUE(other ? is_open : judged.result.verdict == Verdict::kMatch)
            << module->name() << ": " << judged.result.reason;
        if (judged.result.verdict != Verdict::kMatch) continue;
        settled.insert(judged.rules.begin(), judged.rules.end());
        planted += PlantIn(*module, *judged.after, judged.args);
      }
    }
    for (const Rule& rule : set.rules) {
      if (rule.preserves != Preserves::kReassociates || kNotByResidues.contains(rule.id)) continue;
      EXPECT_TRUE(settled.contains(rule.id)) << "no module shows that residues settle " << rule.id;
    }
  }
  EXPECT_GE(planted, 300);
}

// ---- Pairs of modules ----------------------------------------------------------------------------------------------

// Instructions of the same name have the same value, unless the name begins with "new".
void SetOrigins(const Module& before, const Module& after) {
  for (const Computation* computation : after.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      const Instruction* origin = Named(before, inst->name());
      inst->SetOrigin(origin != nullptr && !inst->name().starts_with("new") ? origin->id() : -1);
    }
  }
}

BitsResult JudgePair(const Module& before, const Module& after, const std::vector<Literal>& args,
                     const ResiduesOptions& options = kLimits) {
  SetOrigins(before, after);
  auto result = CompareByResidues(before, after, args, options);
  EXPECT_TRUE(result) << (result ? "" : result.error().message());
  return result ? std::move(*result) : BitsResult();
}

BitsResult JudgeTexts(const std::string& before, const std::string& after, const std::vector<Literal>& args) {
  constexpr const char* kComputations = R"(HloModule m
sum {
  a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT c = f64[] add(a, b)
}
less {
  a = f64[] parameter(0)
  b = f64[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}
)";
  const auto parsed = [&](const std::string& body) {
    return Parsed(Str(kComputations, "ENTRY main {\n", body, "\n}\n"));
  };
  const auto x = parsed(before), y = parsed(after);
  return JudgePair(*x, *y, args);
}

Literal F64s(const std::vector<double>& values) { return Literal::Vector(PrimitiveType::kF64, values); }

TEST(JudgeResidues, ChaosIsSettled) {
  const auto module = [](const std::string& name) {
    return Parsed(std::string((*ReadSource(Str("testdata/judge/", name, ".hlo")))->text()));
  };
  const auto before = module("chaotic_loop"), regrouped = module("chaotic_loop.regrouped"),
             wrong = module("chaotic_loop.wrong");
  const std::vector<Literal> args = {Literal::Vector(PrimitiveType::kF32, std::vector{.1, .2, -.3, .45, .6, .7, .9})};
  EXPECT_EQ(CompareByBits(*before, *regrouped, args)->verdict, Verdict::kMismatch);
  const BitsResult same = JudgePair(*before, *regrouped, args);
  EXPECT_EQ(same.verdict, Verdict::kMatch) << same.reason;
  EXPECT_EQ(same.undetermined, 0);
  const BitsResult other = JudgePair(*before, *wrong, args);
  EXPECT_EQ(other.verdict, Verdict::kMismatch);
  ASSERT_TRUE(other.finding);
  EXPECT_EQ(other.finding->after->name(), "r");
}

TEST(JudgeResidues, ADroppedTermDiffersHoweverSmallItIs) {
  const std::string sum = "x = f64[4] parameter(0)\n z = f64[] constant(0)\n";
  const std::string all = sum + "ROOT new = f64[] reduce(x, z), dimensions={0}, to_apply=sum";
  const std::string most =
      sum + "s = f64[3] slice(x), slice={[0:3]}\n ROOT new = f64[] reduce(s, z), dimensions={0}, to_apply=sum";
  EXPECT_EQ(JudgeTexts(all, most, {F64s({1e9, 3, 1e-9, 1e-300})}).verdict, Verdict::kMismatch);
  EXPECT_EQ(JudgeTexts(all, most, {F64s({1e9, 3, 1e-9, 0})}).verdict, Verdict::kMatch);
}

TEST(JudgeResidues, FunctionsFollowTheirLaws) {
  struct Law {
    const char *before, *after;
  };
  constexpr Law kLaws[] = {
      {"ROOT new = f64[4] rsqrt(x)", "s = f64[4] sqrt(x)\n ROOT new = f64[4] divide(ones, s)"},
      {"ROOT new = f64[4] logistic(x)",
       "n = f64[4] negate(x)\n e = f64[4] exponential(n)\n p = f64[4] add(e, ones)\n ROOT new = f64[4] divide(ones, "
       "p)"},
      {"ROOT new = f64[4] power(x, threes)", "q = f64[4] multiply(x, x)\n ROOT new = f64[4] multiply(q, x)"},
      {"h = f64[4] divide(ones, twos)\n ROOT new = f64[4] power(x, h)", "ROOT new = f64[4] sqrt(x)"},
      {"t = f64[4] tanh(zeros)\n ROOT new = f64[4] add(x, t)", "ROOT new = f64[4] copy(x)"},
  };
  std::string given = "x = f64[4] parameter(0)\n";
  for (const auto& [name, value] : {std::pair("zero", 0), {"one", 1}, {"two", 2}, {"three", 3}})
    given += Str(name, " = f64[] constant(", value, ")\n ", value == 0 ? "zeroe" : name, "s = f64[4] broadcast(", name,
                 "), dimensions={}\n");
  given = std::string(given).replace(given.find("zeroes"), 6, "zeros");
  for (const Law& law : kLaws) {
    const BitsResult result = JudgeTexts(given + law.before, given + law.after, {F64s({.3, 1, 2, 1e3})});
    EXPECT_EQ(result.verdict, Verdict::kMatch) << law.before << ": " << result.reason;
  }
  EXPECT_EQ(JudgeTexts(given + "ROOT new = f64[4] exponential(x)", given + "ROOT new = f64[4] exp2(x)",
                       {F64s({.3, 1, 2, 1e3})})
                .verdict,
            Verdict::kMismatch);
}

TEST(JudgeResidues, DecisionsAreTakenAlike) {
  // 0.1 * 10 rounds to 1 in f64, and is slightly more in real numbers. x * 30 > 3 is the same decision, which roundings
  // change.
  const std::string given =
      "x = f64[1] parameter(0)\n t = f64[1] constant({10})\n u = f64[1] constant({1})\n v = f64[1] constant({3})\n";
  const std::string close = "p = f64[1] multiply(x, t)\n ROOT new = pred[1] compare(p, u), direction=GT";
  const std::string scaled =
      "p = f64[1] multiply(x, t)\n new.1 = f64[1] multiply(p, v)\n ROOT new = pred[1] compare(new.1, v), direction=GT";
  const BitsResult open = JudgeTexts(given + close, given + scaled, {F64s({0.1})});
  EXPECT_NE(open.verdict, Verdict::kMismatch) << open.reason;
  EXPECT_EQ(JudgeTexts(given + close, given + close, {F64s({0.1})}).verdict, Verdict::kMatch);
  const std::string other =
      "p = f64[1] multiply(x, t)\n new.1 = f64[1] multiply(p, v)\n ROOT new = pred[1] compare(new.1, u), direction=GT";
  EXPECT_EQ(JudgeTexts(given + close, given + other, {F64s({0.05})}).verdict, Verdict::kMismatch);
}

// In f64 the second grouping loses the constant 2. The floor depends on the 2, and the operand of the square root
// becomes negative instead of 0.
TEST(JudgeResidues, CancellationDoesNotChangeDecisions) {
  const std::string given =
      "x = f64[1] parameter(0)\n m = f64[1] parameter(1)\n k = f64[1] constant({0.3})\n t = f64[1] constant({2})\n";
  const std::string before = given + "d = f64[1] subtract(x, m)\n e = f64[1] multiply(d, k)\n s = f64[1] add(e, t)\n ";
  const std::string after = given + "new.1 = f64[1] multiply(x, k)\n new.2 = f64[1] multiply(m, k)\n " +
                            "new.3 = f64[1] subtract(t, new.2)\n s = f64[1] add(new.1, new.3)\n ";
  for (const char* use : {"ROOT new = f64[1] floor(s)", "r = f64[1] subtract(s, t)\n ROOT new = f64[1] sqrt(r)"}) {
    const BitsResult result = JudgeTexts(before + use, after + use, {F64s({1e30}), F64s({1e30})});
    EXPECT_EQ(result.verdict, Verdict::kMatch) << use << ": " << result.reason;
    EXPECT_EQ(result.undetermined, 0);
  }
}

// 0.125 and 2^58 have the same residue, because 2^61 is 1 modulo the prime.
TEST(JudgeResidues, APowerOf2IsToldFromAnotherByItsValue) {
  const std::string given = "x = f64[1] parameter(0)\n y = f64[1] parameter(1)\n ";
  const std::vector<Literal> args = {F64s({0.125}), F64s({0x1p58})};
  const std::string largest = given + "ROOT new = f64[1] maximum(x, y)";
  EXPECT_EQ(JudgeTexts(largest, given + "ROOT new = f64[1] maximum(y, x)", args).verdict, Verdict::kMatch);
  EXPECT_EQ(JudgeTexts(largest, given + "ROOT new = f64[1] copy(x)", args).verdict, Verdict::kMismatch);
}

// A difference that cancels in f64 may have either sign, so its root may be NaN.
// 2^61 has the residue 1, so 2^-126 has that of 2^-4.
TEST(JudgeResidues, ADifferenceWithTheResidueOfZeroIsNotAlwaysZero) {
  using residue::Number;
  const Number difference = Number::Exactly(0x1p-126) - Number::Exactly(0x1p-4);
  EXPECT_EQ(difference.residue(), 0u);
  EXPECT_NEAR(difference.value, -0x1p-4, 1e-12);
  EXPECT_EQ((Number::Exactly(0.75) - Number::Exactly(0.75)).value, 0);
}

TEST(JudgeResidues, ADecisionWithinTheErrorOfItsValueIsOpen) {
  const std::string given = "x = f64[1] parameter(0)\n z = f64[1] constant({0})\n t = f64[1] constant({1e-40})\n ";
  const std::string rest = given + "s = f64[1] add(x, t)\n h = f64[1] subtract(s, x)\n ROOT new = f64[1] ";
  for (const char* use : {"maximum(h, z)", "sqrt(h)", "log(h)", "sign(h)", "floor(h)"}) {
    SCOPED_TRACE(use);
    const std::string other = given + "ROOT new = f64[1] constant({-3})";
    EXPECT_EQ(JudgeTexts(rest + use, other, {F64s({0.7})}).verdict, Verdict::kInconclusive);
  }
}

TEST(JudgeResidues, InfinitiesInAnotherGroupingSayNothing) {
  const std::string given = "x = f64[2] parameter(0)\n y = f64[2] parameter(1)\n";
  const std::string before = "s = f64[2] subtract(x, y)\n ROOT new = f64[2] multiply(s, x)";
  const std::string after =
      "new.1 = f64[2] multiply(x, x)\n new.2 = f64[2] multiply(y, x)\n ROOT new = f64[2] subtract(new.1, new.2)";
  EXPECT_EQ(JudgeTexts(given + before, given + after, {F64s({1, 2}), F64s({3, 4})}).verdict, Verdict::kMatch);
  const BitsResult result = JudgeTexts(given + before, given + after, {F64s({1, INFINITY}), F64s({3, 4})});
  EXPECT_EQ(result.verdict, Verdict::kInconclusive);
  EXPECT_EQ(result.undetermined, 1);
}

TEST(JudgeResidues, ComplexProductsAreCompared) {
  const std::string given = "x = f64[2] parameter(0)\n y = f64[2] parameter(1)\n z = c128[2] complex(x, y)\n";
  const std::string before = "w = c128[2] multiply(z, z)\n ROOT new = f64[2] real(w)";
  const std::string sum = "new.1 = f64[2] add(x, y)\n new.2 = f64[2] subtract(x, y)\n ";
  const std::vector<Literal> args = {F64s({.1, 2}), F64s({.3, 4})};
  EXPECT_EQ(JudgeTexts(given + before, given + sum + "ROOT new = f64[2] multiply(new.1, new.2)", args).verdict,
            Verdict::kMatch);
  EXPECT_EQ(JudgeTexts(given + before, given + sum + "ROOT new = f64[2] multiply(new.1, new.1)", args).verdict,
            Verdict::kMismatch);
}

// ---- Roundings and constants ---------------------------------------------------------------------------------------

constexpr const char* kAdders = R"(HloModule m
sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
sum.narrow {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT c = bf16[] add(a, b)
}
)";

struct RoundingCase {
  const char* what;
  const char *before, *after;
  bool is_added;
};

// x: f32[4,8], y: bf16[4,8].
constexpr RoundingCase kRoundingCases[] = {
    {"partial sums of f32", "ROOT s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum",
     "new.1 = f32[4] reduce(x, z), dimensions={1}, to_apply=sum\n"
     "ROOT s = f32[] reduce(new.1, z), dimensions={0}, to_apply=sum",
     false},
    {"partial sums of f32 by way of bf16", "ROOT s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum",
     "new.1 = f32[4] reduce(x, z), dimensions={1}, to_apply=sum\n"
     "new.2 = bf16[4] convert(new.1)\n new.3 = f32[4] convert(new.2)\n"
     "ROOT s = f32[] reduce(new.3, z), dimensions={0}, to_apply=sum",
     true},
    {"partial sums of f32 by way of f16", "ROOT s = f32[] reduce(x, z), dimensions={0,1}, to_apply=sum",
     "new.1 = f32[4] reduce(x, z), dimensions={1}, to_apply=sum\n"
     "new.2 = f16[4] convert(new.1)\n new.3 = f32[4] convert(new.2)\n"
     "ROOT s = f32[] reduce(new.3, z), dimensions={0}, to_apply=sum",
     true},
    {"sums in bf16 of numbers of bf16",
     "w = f32[4,8] convert(y)\n ROOT s = f32[] reduce(w, z), dimensions={0,1}, to_apply=sum",
     "new.1 = bf16[4] reduce(y, zn), dimensions={1}, to_apply=sum.narrow\n new.2 = f32[4] convert(new.1)\n"
     "ROOT s = f32[] reduce(new.2, z), dimensions={0}, to_apply=sum",
     true},
    {"products in bf16 of numbers of bf16",
     "w = f32[4,8] convert(y)\n p = f32[4,8] multiply(w, w)\n"
     "ROOT s = f32[] reduce(p, z), dimensions={0,1}, to_apply=sum",
     "new.1 = bf16[4,8] multiply(y, y)\n new.2 = f32[4,8] convert(new.1)\n"
     "ROOT s = f32[] reduce(new.2, z), dimensions={0,1}, to_apply=sum",
     true},
    {"partial sums in the type of the sum", "ROOT s = bf16[] reduce(y, zn), dimensions={0,1}, to_apply=sum.narrow",
     "new.1 = bf16[4] reduce(y, zn), dimensions={1}, to_apply=sum.narrow\n"
     "ROOT s = bf16[] reduce(new.1, zn), dimensions={0}, to_apply=sum.narrow",
     false},
    {"a conversion that the module before has, too",
     "n = bf16[4,8] convert(x)\n w = f32[4,8] convert(n)\n t = f32[4] reduce(w, z), dimensions={1}, to_apply=sum\n"
     "s = f32[] reduce(t, z), dimensions={0}, to_apply=sum\n ROOT r = tuple(n, s)",
     "n = bf16[4,8] convert(x)\n new.1 = bf16[4,8] convert(x)\n new.2 = f32[4,8] convert(new.1)\n"
     "s = f32[] reduce(new.2, z), dimensions={0,1}, to_apply=sum\n ROOT r = tuple(n, s)",
     false},
    {"numbers of bf16 that are moved and converted back",
     "w = f32[4,8] convert(y)\n ROOT s = f32[8,4] transpose(w), "
     "dimensions={1,0}",
     "new.1 = bf16[8,4] transpose(y), dimensions={1,0}\n ROOT s = f32[8,4] convert(new.1)", false},
};

TEST(JudgeResidues, ARoundingThatAPassAddsCounts) {
  const auto parsed = [](const std::string& body) {
    return Parsed(Str(kAdders,
                      "ENTRY main {\n x = f32[4,8] parameter(0)\n y = bf16[4,8] parameter(1)\n z = f32[] constant(0)\n "
                      "zn = bf16[] constant(0)\n ",
                      body, "\n}\n"));
  };
  for (const RoundingCase& test : kRoundingCases) {
    SCOPED_TRACE(test.what);
    const auto before = parsed(test.before), after = parsed(test.after);
    SetOrigins(*before, *after);
    const auto rounded = WithNewRoundings(*before, *after);
    ASSERT_EQ(rounded != nullptr, test.is_added);
    const auto args = MakeArguments(*before, {.seed = 882000000});
    ASSERT_TRUE(args);
    const auto without = CompareByResidues(*before, *after, *args, kLimits);
    EXPECT_EQ(without->verdict, Verdict::kMatch) << without->reason;
    if (!test.is_added) continue;
    const auto residues = CompareByResidues(*before, *rounded, *args, kLimits);
    EXPECT_EQ(residues->verdict, Verdict::kMismatch) << residues->reason;
    EXPECT_EQ(CompareWidened(*before, *rounded, *args)->verdict, Verdict::kMismatch);
    // The declared types are not changed.
    EXPECT_EQ(CompareByBits(*after, *rounded, *args)->verdict, Verdict::kMatch);
  }
}

// Rules that change precision use laws that residues do not have. Differences by such laws decide nothing, but a wrong
// constant is found.
TEST(JudgeResidues, AConstantOfARuleThatChangesPrecisionIsExact) {
  const auto judge = [](const std::string& before, const std::string& after) {
    const auto parsed = [](const std::string& body) {
      return Parsed(
          Str("HloModule m\nENTRY main {\n x = f32[3] parameter(0)\n y = f32[3] parameter(1)\n ", body, "\n}\n"));
    };
    ResiduesOptions options = kLimits;
    options.functions_have_laws = false;
    const auto x = parsed(before), y = parsed(after);
    return JudgePair(*x, *y,
                     {Literal::Vector(PrimitiveType::kF32, std::vector{.3, -.2, 2.}),
                      Literal::Vector(PrimitiveType::kF32, std::vector{.7, 1.5, -3.})},
                     options);
  };
  const auto logistic = [](const std::string& one) {
    return "n = f32[3] negate(x)\n e = f32[3] exponential(n)\n c = f32[3] constant({" + one + ", 1, 1})\n" +
           "p = f32[3] add(c, e)\n ROOT new = f32[3] divide(c, p)";
  };
  const std::string whole = "ROOT new = f32[3] logistic(x)";
  EXPECT_EQ(judge(whole, logistic("1")).verdict, Verdict::kMatch);
  EXPECT_EQ(judge(whole, logistic("1.00000012")).verdict, Verdict::kMismatch);
  const std::string quotient = "c = f32[3] constant({3, 3, 3})\n ROOT new = f32[3] divide(x, c)";
  const auto product = [](const std::string& one) {
    return "c = f32[3] constant({3, 3, 3})\n o = f32[3] constant({" + one + ", 1, 1})\n q = f32[3] divide(o, c)\n" +
           "ROOT new = f32[3] multiply(x, q)";
  };
  EXPECT_EQ(judge(quotient, product("1")).verdict, Verdict::kMatch);
  EXPECT_EQ(judge(quotient, product("1.00000012")).verdict, Verdict::kMismatch);
  // Residues do not follow these laws.
  const std::string exponentials =
      "e = f32[3] exponential(x)\n f = f32[3] exponential(y)\n ROOT new = f32[3] multiply(e, f)";
  EXPECT_NE(judge(exponentials, "s = f32[3] add(x, y)\n ROOT new = f32[3] exponential(s)").verdict, Verdict::kMismatch);
  EXPECT_NE(judge("e = f32[3] exponential(x)\n ROOT new = f32[3] log(e)", "ROOT new = f32[3] copy(x)").verdict,
            Verdict::kMismatch);
}

// A sort has no residues. Equal operands give equal results. If only one module has the sort, a difference decides
// nothing.
TEST(JudgeResidues, AnInstructionWithoutARuleIsComparedAsAWhole) {
  const std::string given = "x = f64[3] parameter(0)\n y = f64[3] parameter(1)\n";
  const std::string sorted = "ROOT new = f64[3] sort(s), dimensions={0}, to_apply=less";
  const std::string before = given + "s = f64[3] add(x, y)\n " + sorted;
  const std::vector<Literal> args = {F64s({.1, .7, .3}), F64s({.3, .4, .5})};
  EXPECT_EQ(JudgeTexts(before, given + "s = f64[3] add(y, x)\n " + sorted, args).verdict, Verdict::kMatch);
  EXPECT_EQ(JudgeTexts(before, given + "s = f64[3] add(y, x)\n ROOT new = f64[3] copy(s)", args).verdict,
            Verdict::kUnsupported);
}

}  // namespace
}  // namespace hlo
