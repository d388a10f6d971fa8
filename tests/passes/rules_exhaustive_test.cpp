// Tests that a rule with Preserves::kExact keeps every bit. Each such rule has modules with the line `// RULE:
// A.add.1`, in testdata/rules, or in testdata/passes if the example of a pass shows the rule.
//
// The pass runs on the module with all its other rules disabled. Both modules are interpreted, and their values are
// compared bit by bit. This is done for the module as written, and in each type of kTypes for which it is valid. A
// parameter of few bits takes all its values, and two of them take all pairs, if their arrays are large enough. Other
// parameters take seeded values.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "judge/bits.h"
#include "passes/pipeline.h"
#include "passes/rewrite.h"
#include "tests/module_files.h"
#include "tests/retyped_module.h"

namespace hlo {
namespace {

constexpr PrimitiveType kTypes[] = {PrimitiveType::kF8E4M3FN, PrimitiveType::kF8E5M2, PrimitiveType::kF4E2M1FN,
                                    PrimitiveType::kS4,       PrimitiveType::kU4,     PrimitiveType::kS8,
                                    PrimitiveType::kPred,     PrimitiveType::kBF16,   PrimitiveType::kF16};
constexpr std::string_view kWritten[] = {"f8e4m3fn", "s8", "pred", "f32", "s32", "u32", "bf16", "f16"};

// ---- Modules of rules ----------------------------------------------------------------------------------------------

// The texts of the modules of each rule, by id.
using Modules = std::map<std::string, std::vector<std::string>, std::less<>>;
Modules ReadModules() {
  Modules modules;
  constexpr std::string_view kMark = "// RULE: ";
  for (const char* folder : {"testdata/rules", "testdata/passes"}) {
    for (const std::string& path : ModuleFilesBelow(folder)) {
      const auto source = ReadSource(path);
      if (!source) continue;
      for (const std::string_view line : Split((*source)->text(), '\n')) {
        if (line.starts_with(kMark)) modules[std::string(line.substr(kMark.size()))].emplace_back((*source)->text());
      }
    }
  }
  return modules;
}

const Modules& AllModules() {
  static const Modules kModules = ReadModules();
  return kModules;
}

// The module as written and in the other types.
std::vector<std::unique_ptr<Module>> Variants(const std::string& text) {
  std::set<std::string> texts = {text};
  for (const std::string_view from : kWritten) {
    for (const PrimitiveType to : kTypes) texts.insert(Retyped(text, from, ToString(to)));
  }
  std::vector<std::unique_ptr<Module>> variants;
  for (const std::string& variant : texts) {
    const VerifyLevel level = variant == text ? VerifyLevel::kDefault : VerifyLevel::kStrict;
    if (auto module = ValidOrNull(variant, level)) variants.push_back(std::move(module));
  }
  return variants;
}

// ---- Arguments -----------------------------------------------------------------------------------------------------

// The number of values of the type. 0 if there are too many to try all of them.
int64_t ValuesOf(const Shape& shape) {
  if (!shape.IsArray() || IsComplex(shape.type())) return 0;
  if (shape.type() == PrimitiveType::kPred) return 2;
  const int bits = BitWidth(shape.type());
  return bits <= 16 ? int64_t{1} << bits : 0;
}

// The type has at most 16 bits.
void SetBits(Literal& x, int64_t i, uint64_t bits) {
  if (!IsFloat(x.shape().type())) return x.SetInt(i, static_cast<int64_t>(bits));
  if (ByteWidth(x.shape().type()) == 1) x.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(bits);
  else x.mutable_data<uint16_t>()[i] = static_cast<uint16_t>(bits);
}

// The kind of the arguments of one run.
enum class Kind {
  kBits,      // Any bits if ValuesOf counts the type. Other floats are numbers and special values.
  kDistinct,  // Each element differs from the others, if the type has enough values.
  kNumbers,   // Floats whose sums round. Integers are small.
  kSmall,     // Numbers whose sums do not round.
};

double AnyNumber(PrimitiveType type, std::mt19937_64& random) {
  const int range = BitWidth(type) > 16 || type == PrimitiveType::kBF16 ? 30 : 3;  // The largest binary exponent.
  const auto significand = static_cast<double>(random() % (1 << 24)) * 0x1p-23 - 1;
  return std::ldexp(significand, static_cast<int>(random() % (2 * range + 1)) - range);
}

double AnySpecial(std::mt19937_64& random) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kSpecial[] = {-0.0, 0.0, kNan, kInfinity, -kInfinity, 0x1p-149, 0x1p127};
  return kSpecial[random() % std::size(kSpecial)];
}

void Fill(Kind kind, std::mt19937_64& random, uint64_t* next, Literal& x) {
  for (Literal& element : x.mutable_elements()) Fill(kind, random, next, element);
  if (!x.shape().IsArray()) return;
  const PrimitiveType type = x.shape().type();
  const auto values = static_cast<uint64_t>(ValuesOf(x.shape()));
  for (int64_t i = 0; i < x.shape().NumElements(); ++i) {
    const auto small = static_cast<int64_t>(random() % 9) - 4;
    if (kind == Kind::kDistinct && values != 0) {
      SetBits(x, i, (*next)++ % values);
    } else if (kind == Kind::kDistinct) {
      x.SetDouble(i, static_cast<double>((*next)++));
    } else if (kind == Kind::kBits && values != 0) {
      SetBits(x, i, random() % values);
    } else if (IsComplex(type)) {
      x.SetComplex(i, {static_cast<double>(small) / 2, static_cast<double>(random() % 3)});
    } else if (!IsFloat(type)) {
      x.SetInt(i, small);
    } else if (kind == Kind::kBits && random() % 8 == 0) {
      x.SetDouble(i, AnySpecial(random));
    } else {
      x.SetDouble(i, kind == Kind::kSmall ? static_cast<double>(small) / 2 : AnyNumber(type, random));
    }
  }
}

// Gives the parameters of few bits all tuples of their values. False if the arrays are too small for that.
bool TakeAll(std::vector<Literal>& arguments) {
  int64_t tuples = 1;
  for (const Literal& x : arguments) {
    if (const int64_t values = ValuesOf(x.shape()); values != 0 && !x.shape().IsScalar()) {
      tuples *= values;
      if (x.shape().NumElements() < tuples) return false;
    }
  }
  int64_t stride = 1;
  for (Literal& x : arguments) {
    const int64_t values = ValuesOf(x.shape());
    if (values == 0 || x.shape().IsScalar()) continue;
    for (int64_t i = 0; i < x.shape().NumElements(); ++i) SetBits(x, i, static_cast<uint64_t>(i / stride % values));
    stride *= values;
  }
  return true;
}

// Sets of arguments of the entry. If the first set has all values or is large, it is the only set.
std::vector<std::vector<Literal>> ArgumentsOf(const Module& module) {
  constexpr int64_t kTuples = 1 << 16;
  std::mt19937_64 random(850'000'000);
  std::vector<std::vector<Literal>> sets;
  for (const Kind kind : {Kind::kBits, Kind::kNumbers, Kind::kDistinct, Kind::kSmall, Kind::kBits, Kind::kNumbers,
                          Kind::kSmall, Kind::kBits}) {
    std::vector<Literal>& set = sets.emplace_back();
    uint64_t next = 0;
    for (const Instruction* parameter : module.entry().parameters())
      Fill(kind, random, &next, set.emplace_back(parameter->shape()));
    const bool has_scalars = std::ranges::any_of(set, [](const Literal& x) { return x.shape().IsScalar(); });
    const bool is_large = std::ranges::any_of(
        set, [](const Literal& x) { return x.shape().IsArray() && x.shape().NumElements() >= kTuples; });
    const bool has_all = TakeAll(set);
    if ((has_all && !has_scalars) || is_large) break;
  }
  return sets;
}

// ---- One rule ------------------------------------------------------------------------------------------------------

struct Named {
  const RuleSet* set;
  const Rule* rule;
};
void PrintTo(const Named& named, std::ostream* out) { *out << named.rule->id; }

std::vector<Named> RulesThat(const std::function<bool(const Rule&)>& are) {
  std::vector<Named> rules;
  for (const RuleSet& set : AllRules()) {
    for (const Rule& rule : set.rules) {
      if (are(rule)) rules.push_back({&set, &rule});
    }
  }
  return rules;
}

// The module after the pass, which may apply this rule alone. Null if the rule does not apply.
Result<std::unique_ptr<Module>> Applied(const Named& named, const Module& module) {
  PipelineOptions options{.passes = Str(named.set->pass, named.rule->options),
                          .verify = [](const Module& made) { return Verify(made); }};
  for (const Rule& other : named.set->rules) {
    if (&other != named.rule) options.disabled_rules.emplace_back(other.id);
  }
  auto after = module.Clone(/*as_input=*/true);
  const PipelineReport report = TRY(RunPipeline(*after, options));
  return report.rewrites.contains(named.rule->id) ? std::move(after) : nullptr;
}

// The comparison on the first set of arguments that found a difference or decided nothing, or else on the last set.
Result<BitsResult> Compare(const Module& before, const Module& after) {
  const BitsOptions options = {.interpret = {.max_loop_iterations = 1000, .max_steps = 1'000'000}};
  BitsResult result;
  for (const auto& arguments : ArgumentsOf(before)) {
    result = TRY(CompareByBits(before, after, arguments, options));
    if (result.verdict != Verdict::kMatch) break;
  }
  return result;
}

class ExactRule : public testing::TestWithParam<Named> {};

TEST_P(ExactRule, KeepsEveryBit) {
  const std::string_view id = GetParam().rule->id;
  const auto texts = AllModules().find(id);
  ASSERT_NE(texts, AllModules().end()) << "no module below testdata has the line '// RULE: " << id << "'";
  for (const std::string& text : texts->second) {
    int kept = 0;
    for (const auto& before : Variants(text)) {
      const auto after = Applied(GetParam(), *before);
      ASSERT_TRUE(after) << after.error().message() << "\n" << Print(*before, ShortForm());
      if (*after == nullptr) continue;
      const auto result = Compare(*before, **after);
      ASSERT_TRUE(result) << result.error().message() << "\n" << Print(*before, ShortForm());
      ASSERT_NE(result->verdict, Verdict::kMismatch) << ToString(*result) << "\n"
                                                     << Print(*before, ShortForm()) << "\n"
                                                     << Print(**after, ShortForm());
      kept += result->verdict == Verdict::kMatch ? 1 : 0;
    }
    EXPECT_GT(kept, 0) << "the rule changes nothing in\n" << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, ExactRule,
                         testing::ValuesIn(RulesThat([](const Rule& r) { return r.preserves == Preserves::kExact; })),
                         [](const testing::TestParamInfo<Named>& info) {
                           std::string name(info.param.rule->id);
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

// Each line `// RULE:` names a rule that the test above tries.
TEST(ExactRules, AreNamedByModules) {
  for (const auto& [id, texts] : AllModules()) {
    const auto rules = RulesThat([&](const Rule& rule) { return rule.id == id; });
    ASSERT_EQ(rules.size(), 1u) << id;
    EXPECT_EQ(rules.front().rule->preserves, Preserves::kExact) << id;
  }
}

// Rules that change the number of roundings change bits. So the comparison can fail.
TEST(RuleThatRounds, MayChangeBits) {
  constexpr std::pair<std::string_view, std::string_view> kModules[] = {
      {"A.add.3b",
       "x = f8e4m3fn[256] parameter(0)\n"
       "c = f8e4m3fn[] constant(448)\n"
       "cs = f8e4m3fn[256] broadcast(c), dimensions={}\n"
       "d = f8e4m3fn[] constant(-448)\n"
       "ds = f8e4m3fn[256] broadcast(d), dimensions={}\n"
       "s = f8e4m3fn[256] add(x, cs)\n"
       "ROOT r = f8e4m3fn[256] add(s, ds)\n"},
      {"A.pow.1c",
       "x = f16[65536] parameter(0)\n"
       "three = f16[] constant(3)\n"
       "threes = f16[65536] broadcast(three), dimensions={}\n"
       "ROOT r = f16[65536] power(x, threes)\n"},
  };
  for (const auto& [id, body] : kModules) {
    const auto before = ValidOrNull(Str("HloModule m\nENTRY e {\n", body, "}\n"));
    ASSERT_NE(before, nullptr) << body;
    const auto rules = RulesThat([id](const Rule& rule) { return rule.id == id; });
    ASSERT_EQ(rules.size(), 1u) << id;
    const auto after = Applied(rules.front(), *before);
    ASSERT_TRUE(after) << after.error().message();
    ASSERT_NE(*after, nullptr) << id;
    const auto result = Compare(*before, **after);
    ASSERT_TRUE(result) << result.error().message();
    EXPECT_EQ(result->verdict, Verdict::kMismatch) << id;
  }
}

}  // namespace
}  // namespace hlo
