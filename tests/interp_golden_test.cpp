// The interpreter against what XLA:CPU computed (../shared/golden, see its README): each module of ops/ is one test.
// Runs only where that folder is; CORPUS says where else.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/source_text.h"
#include "base/text.h"
#include "interp/interpreter.h"
#include "interp/npz.h"
#include "parser/parser.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

fs::path GoldenFolder() {
  const char* corpus = std::getenv("CORPUS");
  return fs::path(corpus != nullptr ? corpus : "../shared") / "golden";
}

// What index.json says of one module.
struct Rule {
  std::string compare;  // bits, ulp, tol, ftz
  double rtol = 0, atol = 0;
  std::vector<double> ulp;
};

// index.json: one object of objects, whose values here are strings, numbers and lists of numbers.
std::map<std::string, Rule> ReadIndex() {
  std::map<std::string, Rule> rules;
  std::ifstream file(GoldenFolder() / "index.json");
  if (!file) return rules;
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  const auto after = [&](size_t from, size_t end, const std::string& key) -> size_t {
    const size_t at = text.find("\"" + key + "\":", from);
    return at == std::string::npos || at > end ? std::string::npos : text.find_first_not_of(' ', at + key.size() + 3);
  };
  for (size_t at = 0; (at = text.find("\"ops/", at)) != std::string::npos;) {
    const size_t name_end = text.find('"', at + 1);
    const std::string name = text.substr(at + 5, name_end - at - 5);
    size_t end = text.find("\": {\"npz\"", name_end + 1);
    if (end == std::string::npos) end = text.size();
    at = name_end + 1;
    if (!name.ends_with(".hlo")) continue;
    Rule& rule = rules[name.substr(0, name.size() - 4)];
    const size_t compare = after(at, end, "compare");
    rule.compare = text.substr(compare + 1, text.find('"', compare + 1) - compare - 1);
    rule.rtol = std::atof(text.c_str() + after(at, end, "rtol"));
    rule.atol = std::atof(text.c_str() + after(at, end, "atol"));
    const size_t ulp = after(at, end, "ulp");
    if (ulp == std::string::npos) continue;
    std::istringstream list(text.substr(ulp + 1, text.find(']', ulp) - ulp - 1));
    for (std::string number; std::getline(list, number, ',');) rule.ulp.push_back(std::atof(number.c_str()));
  }
  return rules;
}

// Distance in units in the last place of `type`, counted through zero.
double UlpDistance(PrimitiveType type, double a, double b) {
  const auto ordered = [&](double value) -> int64_t {
    if (type == PrimitiveType::kF64) {
      const int64_t bits = std::bit_cast<int64_t>(value);
      return bits < 0 ? -(bits & INT64_MAX) : bits;
    }
    if (type == PrimitiveType::kF32) {
      const int32_t bits = std::bit_cast<int32_t>(static_cast<float>(value));
      return bits < 0 ? -int64_t{bits & INT32_MAX} : bits;
    }
    const uint32_t bits = EncodeFloat(FormatOf(type), value), sign = 1u << (BitWidth(type) - 1);
    return bits & sign ? -int64_t{bits & (sign - 1)} : bits;
  };
  return std::fabs(static_cast<double>(ordered(a)) - static_cast<double>(ordered(b))) < 0x1p60
             ? std::fabs(static_cast<double>(ordered(a) - ordered(b)))
             : 0x1p60;
}

bool BothNan(std::complex<double> a, std::complex<double> b) {
  const auto nan = [](std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  return nan(a) && nan(b);
}

// The first element that breaks the rule, in words; "" when all agree. `skip` marks elements not to compare.
std::string Difference(const Rule& rule, size_t output, const Literal& actual, const Literal& expected,
                       const std::string& skip) {
  const PrimitiveType type = actual.shape().type();
  const int64_t count = actual.shape().NumElements(), bytes = ByteWidth(type);
  if (rule.compare == "ftz" && type == PrimitiveType::kPred) return "";  // Of subnormals that XLA:CPU takes for equal.
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double size = std::abs(expected.GetComplex(i));
    if (std::isfinite(size)) squares += size * size;
  }
  const double rms = count == 0 ? 0 : std::sqrt(squares / static_cast<double>(count));
  const bool exact = rule.compare == "bits" || !(IsFloat(type) || IsComplex(type));
  int64_t wrong = 0;
  std::string first;
  for (int64_t i = 0; i < count; ++i) {
    if (!skip.empty() && skip[i] != 0) continue;
    if (std::memcmp(actual.raw() + i * bytes, expected.raw() + i * bytes, bytes) == 0) continue;
    const std::complex<double> a = actual.GetComplex(i), x = expected.GetComplex(i);
    if ((IsFloat(type) || IsComplex(type)) && BothNan(a, x)) continue;
    bool good = false;
    if (!exact && rule.compare == "tol")
      good = std::abs(a - x) <= rule.atol * std::max(1.0, rms) + rule.rtol * std::abs(x) || a == x;
    if (!exact && rule.compare == "ulp") {
      const PrimitiveType part = type == PrimitiveType::kC64    ? PrimitiveType::kF32
                                 : type == PrimitiveType::kC128 ? PrimitiveType::kF64
                                                                : type;
      good = UlpDistance(part, a.real(), x.real()) <= rule.ulp[output] &&
             UlpDistance(part, a.imag(), x.imag()) <= rule.ulp[output];
    }
    // XLA:CPU takes subnormal operands and results for zero.
    if (!exact && rule.compare == "ftz") good = std::abs(a - x) < 0x1p-126;
    if (good) continue;
    if (++wrong == 1)
      first = Str("out", output, "[", i, "] is ", Format("%.9g%+.9gi", a.real(), a.imag()), ", XLA:CPU has ",
                  Format("%.9g%+.9gi", x.real(), x.imag()));
  }
  return wrong == 0 ? "" : Str(wrong, " of ", count, " differ: ", first);
}

std::string Check(const std::string& name, const Rule& rule) {
  const fs::path folder = GoldenFolder() / "ops";
  auto source = ReadSource((folder / (name + ".hlo")).string());
  if (!source) return Render(source.error(), "test");
  auto module = Parse(*source);
  if (!module) return Render(module.error(), "test");
  const std::string path = (folder / (name + ".npz")).string();
  auto args = ReadArguments(path, **module);
  if (!args) return Render(args.error(), "test");
  auto result = Interpret(**module, *args);
  if (!result) return Render(result.error(), "test");
  auto arrays = ReadNpz(path);
  if (!arrays) return Render(arrays.error(), "test");

  std::vector<Literal> outputs;
  if (result->shape().IsTuple()) outputs = result->elements();
  else outputs = {*result};
  for (const auto& [key, array] : *arrays) {
    if (!key.starts_with("out")) continue;
    std::vector<int64_t> index;
    for (const auto part : Split(std::string_view(key).substr(3), '.')) ParseInt(part, &index.emplace_back());
    const Literal& actual = outputs[index[0]].At(std::span(index).subspan(1));
    auto expected = LiteralFromNpy(array, actual.shape(), "the result", key);
    if (!expected) return Render(expected.error(), "test");
    std::string skip;
    for (const auto& [other, mask] : *arrays) {
      if (other == "skip" + key.substr(3)) skip = mask.bytes;
    }
    const std::string difference = Difference(rule, index[0], actual, *expected, skip);
    if (!difference.empty()) return difference;
  }
  return "";
}

// Where the file is not what spec/ops.md defines.
const std::map<std::string, std::string> kNotTheDefinition = {
    {"reduce_all", "2145 elements sum to 8.2745 and the initial value is -0.9939: 7.2805, not 1.3169"},
    {"reduce_no_dims", "XLA:CPU drops the initial value when nothing is reduced"},
};

class GoldenOps : public testing::TestWithParam<std::string> {};

TEST_P(GoldenOps, AgreesWithXlaCpu) {
  static const std::map<std::string, Rule> rules = ReadIndex();
  if (const auto it = kNotTheDefinition.find(GetParam()); it != kNotTheDefinition.end()) GTEST_SKIP() << it->second;
  EXPECT_EQ(Check(GetParam(), rules.at(GetParam())), "");
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : ReadIndex()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Interp, GoldenOps, testing::ValuesIn(Names()), [](const auto& info) { return info.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GoldenOps);

}  // namespace
}  // namespace hlo
