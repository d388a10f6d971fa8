// Tests that a pass with kExact keeps every bit except the payload of a NaN. Each such pass runs on its modules of
// testdata/passes, and on the same modules in every other valid element type. The arguments are full of NaN,
// infinities, zeros of either sign, subnormals and the largest numbers.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <limits>
#include <map>

#include "base/text.h"
#include "interp/arguments/arguments.h"
#include "interp/interpreter.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "passes/pipeline.h"
#include "tests/passes/pass_options.h"
#include "tests/retyped_module.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> TextsOf(std::string pass) {
  std::vector<fs::path> paths;
  pass = pass.substr(0, pass.find('{'));
  std::ranges::replace(pass, ' ', '-');
  const fs::path folder = fs::path("testdata/passes") / pass;
  if (!fs::exists(folder)) return {};
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    const auto source = ReadSource(path.string());
    if (source) texts.emplace_back((*source)->text());
  }
  return texts;
}

// The module as written and in other element types, if valid.
std::vector<std::unique_ptr<Module>> Variants(const std::string& text, bool other_types) {
  std::vector<std::unique_ptr<Module>> variants;
  if (auto module = ValidOrNull(text)) variants.push_back(std::move(module));
  if (!other_types) return variants;
  for (const std::string_view from : {"f32", "s32", "bf16", "u32", "c64"}) {
    if (text.find(Str(from, "[")) == std::string::npos) continue;
    for (int type = 0; IsArrayType(static_cast<PrimitiveType>(type)); ++type) {
      const std::string_view to = ToString(static_cast<PrimitiveType>(type));
      if (to == from) continue;
      if (auto module = ValidOrNull(Retyped(text, from, to))) variants.push_back(std::move(module));
    }
  }
  return variants;
}

// The number of elements that differ in bits. NaNs count as equal.
int64_t Differences(const Literal& a, const Literal& b) {
  int64_t count = 0;
  for (size_t i = 0; i < a.elements().size(); ++i) count += Differences(a.elements()[i], b.elements()[i]);
  if (!a.shape().IsArray()) return count;
  const int64_t width = ByteWidth(a.shape().type());
  for (int64_t i = 0; i < a.shape().NumElements(); ++i) {
    if (std::memcmp(a.raw() + i * width, b.raw() + i * width, width) == 0) continue;
    const auto x = a.GetComplex(i), y = b.GetComplex(i);
    const auto same = [](double p, double q) {
      return (p != p && q != q) || std::bit_cast<uint64_t>(p) == std::bit_cast<uint64_t>(q);
    };
    // Bytes decide unless the type is a float, because doubles cannot distinguish all 64-bit integers.
    const bool is_float = IsFloat(a.shape().type()) || IsComplex(a.shape().type());
    count += is_float && same(x.real(), y.real()) && same(x.imag(), y.imag()) ? 0 : 1;
  }
  return count;
}

// Some KiB are enough to show a difference.
bool IsSmall(const Module& module) {
  for (const Computation* computation : module.Computations()) {
    for (const Instruction* inst : computation->instructions()) {
      if (inst->shape().ByteSize() > 1 << 16) return false;
    }
  }
  return true;
}

// Sets every other element of a float array to a special value, beginning with special value number `first`.
void Sprinkle(size_t first, Literal* x) {
  if (!x->shape().IsArray() || !IsFloat(x->shape().type())) return;
  const double infinity = std::numeric_limits<double>::infinity();
  const double values[] = {-0.0, std::numeric_limits<double>::quiet_NaN(), infinity, -infinity, 0.0, 0x1p-149, 0x1p127};
  for (int64_t i = first % 2; i < x->shape().NumElements(); i += 2)
    x->SetDouble(i, values[(first + i / 2) % std::size(values)]);
}

constexpr size_t kArguments = 4;

// The arguments of each device. Set number 0 has those that a run would generate.
Result<std::vector<std::vector<Literal>>> ArgumentsOf(const Module& module, size_t number) {
  std::vector<std::vector<Literal>> all(module.header.replica_count * module.header.num_partitions);
  for (size_t device = 0; device < all.size(); ++device) {
    all[device] = TRY(MakeArguments(module, {.seed = 3 + number + kArguments * device}));
    for (Literal& argument : all[device]) {
      if (number > 0) Sprinkle(number - 1, &argument);
    }
  }
  return all;
}

// A counter of two bits may never reach its bound.
const InterpretOptions kLimits = {.max_loop_iterations = 1000};

Result<Literal> RunAll(const Module& module, std::span<const std::vector<Literal>> arguments) {
  return Literal::Tuple(TRY(InterpretDevices(module, arguments, kLimits)));
}

enum class Outcome { kNotTried, kKept, kBroken };

// Runs `pass` on `module` and compares the values. `how` receives the kind of failure.
Outcome Try(const Module& module, const std::string& pass, const std::string& inject, std::string* how) {
  const auto after = module.Clone();
  const PipelineOptions options{
      .passes = pass, .inject = inject, .verify = [](const Module& made) { return Verify(made); }};
  const auto report = RunPipeline(*after, options);
  if (!report) {
    *how = report.error().message();
    return Outcome::kBroken;
  }
  if (!report->changed) return Outcome::kNotTried;
  for (size_t number = 0; number < kArguments; ++number) {
    const auto arguments = ArgumentsOf(module, number);
    if (!arguments) return Outcome::kNotTried;
    const auto expected = RunAll(module, *arguments);
    if (!expected) return Outcome::kNotTried;
    const auto actual = RunAll(*after, *arguments);
    if (!actual) {
      *how = actual.error().message();
      return Outcome::kBroken;
    }
    const int64_t differences = Differences(*expected, *actual);
    if (differences == 0) continue;
    *how = Str(differences, " elements differ with arguments number ", number);
    return Outcome::kBroken;
  }
  return Outcome::kKept;
}

// Counts the outcomes over all modules of the pass. Without a planted fault, modules take all types, and failures are
// reported. With a fault, they are tested as written.
std::map<Outcome, int> TryAll(const std::string& pass, const std::string& inject = "") {
  std::map<Outcome, int> outcomes;
  for (const std::string& text : TextsOf(pass)) {
    for (const auto& module : Variants(text, inject.empty())) {
      if (!IsSmall(*module)) continue;
      std::string how;
      const Outcome outcome = Try(*module, pass, inject, &how);
      ++outcomes[outcome];
      if (outcome == Outcome::kBroken && inject.empty())
        ADD_FAILURE() << pass << ": " << how << "\n" << Print(*module, ShortForm());
    }
  }
  return outcomes;
}

// Modules of sharding-remover have annotations for several partitions, and a single partition is not interpreted.
// Modules of scan_expander have a scan that is not associative, which is not strictly valid (V296).
constexpr std::string_view kNoModules[] = {"sharding-remover", "scan_expander"};

TEST(PassLaws, HoldForEveryElementType) {
  int tried = 0;
  std::vector<std::string> passes = {WithSwitches("algsimp"), WithSwitches("algsimp", {"is_layout_sensitive=true"})};
  for (const PassRow& pass : AllPasses()) {
    if (pass.preserves != Preserves::kExact || TextsOf(std::string(pass.name)).empty() ||
        std::ranges::find(kNoModules, pass.name) != std::end(kNoModules))
      continue;
    passes.emplace_back(pass.name);
  }
  for (const std::string& pass : passes) {
    std::map<Outcome, int> outcomes = TryAll(pass);
    tried += outcomes[Outcome::kKept];
    EXPECT_GT(outcomes[Outcome::kKept], 0) << pass << " has been tried on nothing";
  }
  std::printf("%d modules were changed, and kept their values\n", tried);
}

TEST(PassLaws, DetectPlantedFaults) {
  for (const std::string_view fault : FaultsOf("algsimp")) {
    EXPECT_GT(TryAll("algsimp", Str("algsimp:", fault))[Outcome::kBroken], 0) << fault;
  }
}

}  // namespace
}  // namespace hlo
