// Compares results of the interpreter, and of passes and kernels on the host, with XLA:CPU's. Each single-instruction
// module of ../shared/golden has two tests. `make golden-check` also unpacks and tests the modules of the corpus and
// the programs of libraries that have arguments and results. CORPUS is the shared folder, HLO_UNPACKED the folder with
// the unpacked archives.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/json_reader.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/load.h"
#include "driver/optimize.h"
#include "driver/run/fallback.h"
#include "gpu/device/device.h"
#include "gpu/runtime/executable.h"
#include "interp/arguments/argument_files.h"
#include "interp/interpreter.h"
#include "parser/parser.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// The comparison of one result according to index.json.
struct Rule {
  std::string compare;  // bits, ulp, tol or ftz
  double rtol = 0, atol = 0, ulp = 0;
  bool scaled = true;  // atol is multiplied by max(1, rms of the result).
};

struct Case {
  std::string module, npz;
  std::vector<Rule> rules;  // One for each result. The last rule also holds for all further results.
};

fs::path Folder(const char* variable, const char* otherwise) {
  const char* folder = std::getenv(variable);
  return folder != nullptr ? folder : otherwise;
}

std::vector<Rule> RulesOf(const JsonValue& entry) {
  const auto rule_of = [](const JsonValue& value) {
    Rule rule;
    if (const std::string* compare = value["compare"].String()) rule.compare = *compare;
    rule.rtol = value["rtol"].Number().value_or(0);
    rule.atol = value["atol"].Number().value_or(0);
    return rule;
  };
  std::vector<Rule> rules;
  if (const JsonValue::Array* results = entry["per_result"].Items()) {
    for (const JsonValue& result : *results) {
      rules.push_back(rule_of(result));
      rules.back().scaled = false;
    }
    return rules;
  }
  const JsonValue::Array* const ulps = entry["ulp"].Items();
  for (size_t i = 0; i < (ulps != nullptr ? ulps->size() : 1); ++i) {
    rules.push_back(rule_of(entry));
    if (ulps != nullptr) rules.back().ulp = (*ulps)[i].Number().value_or(0);
  }
  return rules;
}

// Adds the cases of an index whose names begin with `which`. The index's files are in `module` and `npz`.
void AddCases(const fs::path& index, const fs::path& module, const fs::path& npz, std::string_view which,
              std::map<std::string, Case>& cases) {
  const auto text = ReadSource(index.string());
  if (!text) return;
  const auto json = ReadJson((*text)->text());
  if (!json || json->AsObject() == nullptr) throw std::runtime_error(index.string() + " is no index");
  const JsonValue::Object& entries = *json->AsObject();
  for (size_t i = 0; i < entries.keys.size(); ++i) {
    const std::string& name = entries.keys[i];
    const std::string* arrays = entries.values[i]["npz"].String();
    if (!name.starts_with(which) || arrays == nullptr || !fs::exists(npz / *arrays)) continue;
    cases[name] = {(module / name).string(), (npz / *arrays).string(), RulesOf(entries.values[i])};
  }
}

const std::map<std::string, Case>& Cases() {
  static const auto* const cases = [] {
    auto* const all = new std::map<std::string, Case>;
    const fs::path shared = Folder("CORPUS", "../shared"), unpacked = Folder("HLO_UNPACKED", "");
    const fs::path golden = shared / "golden";
    AddCases(golden / "index.json", golden, golden, "ops/", *all);
    if (unpacked.empty()) return all;
    // Large modules of the corpus are in a separate archive.
    AddCases(golden / "index.json", shared / "corpus", unpacked, "xla-hlo/", *all);
    for (auto& [name, found] : *all) {
      if (name.starts_with("xla-hlo/") && !fs::exists(found.module.substr(0, found.module.find('#'))))
        found.module = (unpacked / name).string();
    }
    AddCases(unpacked / "programs/index.json", unpacked / "programs", unpacked / "programs", "", *all);
    return all;
  }();
  return *cases;
}

// The distance of two numbers in units in the last place of `type`, counted through zero.
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

// Describes the first element that breaks the rule, or returns "". `skip` marks elements that are not compared.
std::string Difference(const Rule& rule, size_t output, const Literal& actual, const Literal& expected,
                       const std::string& skip) {
  const PrimitiveType type = actual.shape().type();
  const int64_t count = actual.shape().NumElements(), bytes = ByteWidth(type);
  // XLA:CPU compares subnormal numbers as zeros, so its results may differ.
  if (rule.compare == "ftz" && type == PrimitiveType::kPred) return "";
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
      good =
          std::abs(a - x) <= rule.atol * (rule.scaled ? std::max(1.0, rms) : 1.0) + rule.rtol * std::abs(x) || a == x;
    if (!exact && rule.compare == "ulp") {
      const PrimitiveType part = type == PrimitiveType::kC64    ? PrimitiveType::kF32
                                 : type == PrimitiveType::kC128 ? PrimitiveType::kF64
                                                                : type;
      good = UlpDistance(part, a.real(), x.real()) <= rule.ulp && UlpDistance(part, a.imag(), x.imag()) <= rule.ulp;
    }
    // XLA:CPU treats subnormal operands and results as zero.
    if (!exact && rule.compare == "ftz") good = std::abs(a - x) < 0x1p-126;
    if (good) continue;
    if (++wrong == 1)
      first = Str("out", output, "[", i, "] is ", Format("%.9g%+.9gi", a.real(), a.imag()), ", XLA:CPU has ",
                  Format("%.9g%+.9gi", x.real(), x.imag()));
  }
  return wrong == 0 ? "" : Str(wrong, " of ", count, " differ: ", first);
}

// In NAME.hlo#2, the number counts pieces of the file that are not blank. The driver does not count pieces that have
// only comments.
Result<std::unique_ptr<Module>> Load(const std::string& path, const LoadOptions& options) {
  const size_t hash = path.find('#');
  if (hash == std::string::npos) return LoadModule(path, options);
  const auto source = TRY(ReadSource(path.substr(0, hash)));
  int64_t wanted = 0;
  ParseInt(std::string_view(path).substr(hash + 1), &wanted);
  const std::string text(source->text());
  for (size_t begin = 0; begin < text.size();) {
    size_t end = text.find("\n// -----", begin);
    if (end == std::string::npos) end = text.size();
    const std::string piece = text.substr(begin, end - begin);
    begin = std::min(text.find('\n', end + 1), text.size());
    if (piece.find_first_not_of(" \n") != std::string::npos && --wanted == 0)
      return Parse(std::make_shared<SourceText>(path, piece), ParseOptionsOf(options));
  }
  FAIL(Rejected("F006", Str("'", path, "' does not exist")));
}

using Runs = Result<Literal> (*)(const Module& module, std::span<const Literal> arguments);

Result<Literal> InInterpreter(const Module& module, std::span<const Literal> arguments) {
  return Interpret(module, arguments);
}

// Runs passes, kernels and libraries. The interpreter runs instructions without kernels. HLO_PLATFORM=cuda selects a
// GPU.
Result<Literal> OnDevice(const Module& module, std::span<const Literal> arguments) {
  static const char* const platform = std::getenv("HLO_PLATFORM");
  static const Result<std::unique_ptr<gpu::Device>> opened = gpu::OpenDevice(platform != nullptr ? platform : "cpu");
  if (!opened) FAIL(opened.error());
  gpu::Device* const device = opened->get();
  const std::unique_ptr<Module> optimized = module.Clone(true);
  TRY(Optimize(*optimized, {}, nullptr));
  const auto executable = TRY(gpu::Compile(*optimized, *device, {.host = InterpreterCalls({})}));
  return executable->Run(arguments);
}

std::string Check(const Case& test, Runs run) {
  LoadOptions options;
  // XLA's reader fills them with subnormal floats, which XLA:CPU treats as zero.
  options.fill_elided_constants = ElidedValues::kZeros;
  auto module = Load(test.module, options);
  if (!module) return Render(module.error(), "test");
  if (const auto filled = FillElided(**module, options, 0); !filled) return Render(filled.error(), "test");
  auto args = ReadArguments(test.npz, **module);
  if (!args) return Render(args.error(), "test");
  auto result = run(**module, *args);
  if (!result) return Render(result.error(), "test");
  auto arrays = ReadNpz(test.npz);
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
    const Rule& rule = test.rules[std::min<size_t>(index[0], test.rules.size() - 1)];
    const std::string difference = Difference(rule, index[0], actual, *expected, skip);
    if (!difference.empty()) return difference;
  }
  return "";
}

// Modules whose file contradicts docs/ops.md, or requires more accuracy than the definition gives, with the reason.
const std::map<std::string, std::string> kNotTheDefinition = {
    {"ops/reduce_all.hlo", "2145 elements sum to 8.2745 and the initial value is -0.9939: 7.2805, not 1.3169"},
    {"ops/reduce_no_dims.hlo", "XLA:CPU drops the initial value when nothing is reduced"},
    {"xla-hlo/xla/backends/cpu/codegen/tiled/tests/elementwise/complex_multiply.hlo",
     "compared by bits, but XLA:CPU computes the real part with a fused multiply-add"},
    {"xla-hlo/xla/backends/gpu/codegen/emitters/tests/reduce_multirow/f16_v4.hlo",
     "64 terms added in f16: in order they are up to 0.031 off the exact sum, XLA:CPU's order up to 0.020"},
    {"xla-hlo/xla/hlo/tools/tests/hlo_opt_dump.hlo", "its results are those of elided constants, 12 to 23 for c2"},
    {"xla-hlo/xla/tools/tests/hlo_extractor_test.hlo", "random bits from a state of floats, which mean nothing"},
};

// Modules for which kernels may differ from the interpreter by more than the file's rule permits, with the reason.
const std::map<std::string, std::string> kOtherRounding = {};

class InterpGolden : public testing::TestWithParam<std::string> {};

TEST_P(InterpGolden, AgreesWithXlaCpu) {
  if (const auto it = kNotTheDefinition.find(GetParam()); it != kNotTheDefinition.end()) GTEST_SKIP() << it->second;
  EXPECT_EQ(Check(Cases().at(GetParam()), InInterpreter), "");
}

TEST_P(InterpGolden, AgreesWithXlaCpuOnTheDevice) {
  for (const auto* reasons : {&kNotTheDefinition, &kOtherRounding}) {
    if (const auto it = reasons->find(GetParam()); it != reasons->end()) GTEST_SKIP() << it->second;
  }
  EXPECT_EQ(Check(Cases().at(GetParam()), OnDevice), "");
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& [name, test] : Cases()) names.push_back(name);
  return names;
}

std::string TestName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(XlaCpu, InterpGolden, testing::ValuesIn(Names()), TestName);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(InterpGolden);

}  // namespace
}  // namespace hlo
