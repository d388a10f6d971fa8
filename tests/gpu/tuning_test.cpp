// Tests of autotuning: the lock file, keys, choices as text, red zones, races with wrong candidates, and replay.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <unordered_set>

#include "base/source_text.h"
#include "base/text.h"
#include "gpu/runtime/prepare.h"
#include "gpu/runtime/tuning/choice.h"
#include "gpu/runtime/tuning/denylist.h"
#include "gpu/runtime/tuning/guarded_device.h"
#include "gpu/runtime/tuning/lock.h"
#include "gpu/runtime/tuning/race.h"
#include "gpu/runtime/tuning/reuse.h"
#include "gpu/runtime/tuning/step.h"
#include "gpu/runtime/tuning/tuner.h"
#include "gpu/runtime/tuning/turns.h"
#include "interp/arguments/arguments.h"
#include "ir/fusion_plan.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "parser/parser.h"

namespace hlo::gpu {
namespace {

std::unique_ptr<Module> ParseText(const std::string& text) {
  auto module = Parse(std::make_shared<SourceText>("test", text));
  EXPECT_TRUE(module) << (module ? "" : Render(module.error(), "test"));
  return std::move(*module);
}

Result<Lock> ParseLock(const std::string& text) { return Lock::Parse(std::make_shared<SourceText>("a.lock", text)); }

constexpr char kHeader[] = "# autotune.lock v1   tool 0.3.0   device \"cpu x, 2 threads\"   oneDNN 2.6.3\n";
constexpr char kLine[] =
    "fusion  f32[4]->f32[4]  loop tile=256 threads=64 vector=4  9.8us \u00b10.1 n=10 check=ok key=00000000000000aa\n";

// ---- The lock ----------------------------------------------------------------------------------------------------

TEST(Lock, IsReadAndWrittenUnchanged) {
  const std::string text =
      Str(kHeader,
          "convolution  f32[1,8,8,4],f32[3,3,4,8]->f32[1,8,8,8]  convolution library=\"oneDNN matmul\" "
          "algorithm=brg:avx2  1.5us \u00b10.0 n=3 check=rough key=00000000000000ff\n",
          kLine);
  const auto lock = ParseLock(text);
  ASSERT_TRUE(lock) << Render(lock.error(), "test");
  EXPECT_EQ(lock->ToString(), text);
  EXPECT_EQ(lock->size(), 2);
  const Decision* const decision =
      lock->Find({.tool = "0.3.0", .device = "cpu x, 2 threads", .libraries = {}}, "00000000000000ff");
  ASSERT_NE(decision, nullptr);
  EXPECT_EQ(decision->choice, "convolution library=\"oneDNN matmul\" algorithm=brg:avx2");
  EXPECT_EQ(decision->microseconds, 1.5);
  EXPECT_EQ(decision->check, "rough");
}

TEST(Lock, SortsItsLinesAndKeepsOtherDevices) {
  const std::string other = "# autotune.lock v1   tool 0.3.0   device \"a gpu\"\n";
  std::string second = kLine;
  second.replace(second.find("00aa"), 4, "00bb").replace(second.find("f32[4]"), 6, "f32[3]");
  const auto lock = ParseLock(Str(kHeader, kLine, second, other, kLine));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->ToString(), Str(other, kLine, kHeader, second, kLine));
  const LockContext here{.tool = "0.3.0", .device = "cpu x, 2 threads", .libraries = {}};
  EXPECT_EQ(lock->OthersText(here), "1 for 'a gpu' by 0.3.0");
  EXPECT_EQ(lock->Find({.tool = "0.3.0", .device = "another", .libraries = {}}, "00000000000000aa"), nullptr);
}

TEST(Lock, UsesTheFirstOfTwoLinesWithOneKey) {
  std::string other = kLine;
  other.replace(other.find("vector=4"), 8, "vector=8");
  const auto lock = ParseLock(Str(kHeader, kLine, other));
  ASSERT_TRUE(lock);
  EXPECT_EQ(lock->conflicts(), 1);
  EXPECT_EQ(lock->ToString(), Str(kHeader, kLine));
}

TEST(Lock, MergesMissingLines) {
  auto lock = ParseLock(Str(kHeader, kLine));
  std::string second = kLine;
  second.replace(second.find("00aa"), 4, "00bb");
  std::string changed = kLine;
  changed.replace(changed.find("vector=4"), 8, "vector=8");
  const auto other = ParseLock(Str(kHeader, changed, second));
  ASSERT_TRUE(lock && other);
  lock->Merge(*other);
  EXPECT_EQ(lock->ToString(), Str(kHeader, kLine, second));
}

TEST(Lock, NamesDamagedLines) {
  const std::string good = Str(kHeader, kLine);
  const struct {
    std::string text, line, says;
  } kCases[] = {
      {kLine, "a.lock:1:", "must begin with"},
      {"# autotune.lock v9   tool 1   device \"x\"\n", "a.lock:1:", "version v1"},
      {"# autotune.lock v1   tool 1\n", "a.lock:1:", "no tool or no device"},
      {Str(good, "<<<<<<< ours\n"), "a.lock:3:", "expected CATEGORY"},
      {Str(good, std::string(kLine).replace(std::string(kLine).find("key="), 8, "key=zzzz")),
       "a.lock:3:", "hexadecimal"},
      {Str(good, std::string(kLine).replace(std::string(kLine).find("9.8us"), 5, "9.8ms")),
       "a.lock:3:", "a time in us"},
      {Str(good, std::string(kLine).replace(std::string(kLine).find("n=10"), 4, "n=ab")), "a.lock:3:", "a number"},
  };
  for (const auto& one : kCases) {
    const auto lock = ParseLock(one.text);
    ASSERT_FALSE(lock) << one.text;
    const std::string error = Render(lock.error(), "test");
    EXPECT_NE(error.find(one.line), std::string::npos) << error;
    EXPECT_NE(error.find(one.says), std::string::npos) << error;
    EXPECT_EQ(lock.error().code(), "A026");
  }
}

TEST(Lock, SelectsLinesByKey) {
  std::string second = kLine;
  second.replace(second.find("00aa"), 4, "00bb");
  const std::string other = "# autotune.lock v1   tool 0.3.0   device \"a gpu\"\n";
  const auto lock = ParseLock(Str(other, kLine, kHeader, kLine, second));
  ASSERT_TRUE(lock);
  const auto with = [&](std::string_view key) {
    return lock->Only([&](const Decision& decision) { return decision.key == key; }).ToString();
  };
  EXPECT_EQ(with("00000000000000bb"),
            Str("# autotune.lock v1   tool 0.3.0   device \"cpu x, 2 threads\"   oneDNN 2.6.3\n", second));
  EXPECT_EQ(with("00000000000000aa"), Str(other, kLine, kHeader, kLine));
  EXPECT_EQ(with("00000000000000cc"), "");
}

// ---- Keys and choices --------------------------------------------------------------------------------------------

std::string SumsText(const std::string& x, const std::string& sum, const std::string& layout = "{1,0}") {
  return Str(
      "HloModule m, is_scheduled=true\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = "
      "f32[] add(a, b)\n}\nfused {\n  ",
      x, " = f32[64,1024]", layout, " parameter(0)\n  zero = f32[] constant(0)\n  ROOT ", sum, " = f32[64] reduce(", x,
      ", zero), dimensions={1}, to_apply=add\n}\nENTRY main {\n  p = f32[64,1024]", layout,
      " parameter(0)\n  ROOT f = f32[64] fusion(p), kind=kInput, calls=fused\n}\n");
}

std::string KeyOfText(const std::string& text, const LockContext& context) {
  const auto module = ParseText(text);
  CompileOptions options;
  return KeyOf(module->entry().root(), /*is_cold=*/false, context, options);
}

TEST(TuningKey, DependsOnTheComputationAndTheDeviceButNotOnNames) {
  const LockContext here{.tool = "1", .device = "cpu", .libraries = {}};
  const std::string key = KeyOfText(SumsText("x", "s"), here);
  EXPECT_EQ(key.size(), 16u);
  EXPECT_EQ(KeyOfText(SumsText("other", "name"), here), key);
  EXPECT_NE(KeyOfText(SumsText("x", "s", "{0,1}"), here), key);
  EXPECT_NE(KeyOfText(SumsText("x", "s"), {.tool = "2", .device = "cpu", .libraries = {}}), key);
  EXPECT_NE(KeyOfText(SumsText("x", "s"), {.tool = "1", .device = "gpu", .libraries = {}}), key);
  // A kernel of ours does not depend on a library.
  EXPECT_EQ(KeyOfText(SumsText("x", "s"), {.tool = "1", .device = "cpu", .libraries = {{"oneDNN", "3"}}}), key);
}

TEST(TuningKey, OfALibraryCallDependsOnItsVersions) {
  const std::string text = R"(HloModule m
fused {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  ROOT d = f32[64,64] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
ENTRY main {
  a = f32[64,64] parameter(0)
  b = f32[64,64] parameter(1)
  ROOT f = f32[64,64] fusion(a, b), kind=kCustom, calls=fused, backend_config={"library":"gemm"}
})";
  const LockContext two{.tool = "1", .device = "cpu", .libraries = {{"oneDNN", "2"}}};
  const LockContext three{.tool = "1", .device = "cpu", .libraries = {{"oneDNN", "3"}}};
  EXPECT_NE(KeyOfText(text, two), KeyOfText(text, three));
  // A step with the same operand twice differs from a step with two operands.
  std::string twice = text;
  twice.replace(twice.find("fusion(a, b)"), 12, "fusion(a, a)");
  EXPECT_NE(KeyOfText(twice, two), KeyOfText(text, two));
}

TEST(TuningChoice, ReadsBackWithTheNamesOfAnotherFusion) {
  const auto module = ParseText(SumsText("x", "s")), other = ParseText(SumsText("y", "total"));
  FusionPlan plan{.target = "host", .kernels = {{.kind = KernelKind::kRowReduction}}, .slow = "", .refused = {}};
  plan.kernels[0].heroes = {"s"};
  plan.kernels[0].tile = {1, 256};
  plan.kernels[0].vector = 4;
  plan.kernels[0].threads = 64;
  const std::string words = ChoiceText(plan, module->entry().root());
  EXPECT_EQ(words, "row_reduction heroes=2 tile=1x256 vector=4 threads=64");
  const auto same = ReadChoice(words, module->entry().root(), "host");
  ASSERT_TRUE(same);
  EXPECT_EQ(*same, plan);
  const auto renamed = ReadChoice(words, other->entry().root(), "host");
  ASSERT_TRUE(renamed);
  EXPECT_EQ(renamed->kernels[0].heroes, std::vector<std::string>{"total"});
}

TEST(TuningChoice, KeepsEveryField) {
  const auto module = ParseText(SumsText("x", "s"));
  KernelPlan one{.kind = KernelKind::kScan};
  one.roots = {0, 2};
  one.totals = one.operand = one.in_place = true;
  one.kept = {"zero"};
  one.tile = {1, 2, 3};
  one.vector = 2, one.threads = 96, one.splits = 5, one.unroll = 6, one.stages = 7, one.workspace = 8;
  one.library = "a b", one.algorithm = "c:d";
  const FusionPlan plan{.target = "host", .kernels = {one, {.kind = KernelKind::kLoop}}, .slow = "", .refused = {}};
  const std::string words = ChoiceText(plan, module->entry().root());
  const auto read = ReadChoice(words, module->entry().root(), "host");
  ASSERT_TRUE(read) << words;
  EXPECT_EQ(*read, plan) << words;
}

TEST(TuningChoice, RejectsUnknownFields) {
  const auto module = ParseText(SumsText("x", "s"));
  for (const char* words :
       {"", "lop", "loop vector=many", "loop tile=1x", "loop colour=red", "loop heroes=99", "loop +"})
    EXPECT_FALSE(ReadChoice(words, module->entry().root(), "host")) << words;
}

// ---- Ties --------------------------------------------------------------------------------------------------------

TEST(TuningWinner, IsTheFirstOfTies) {
  const auto winner = [](std::vector<double> times) { return WinnerOf(times); };
  EXPECT_EQ(winner({100, 99, 98.5}), 0);  // All three are within 2 % of the best.
  EXPECT_EQ(winner({100, 97, 96.5}), 1);
  EXPECT_EQ(winner({100, 97, 90}), 2);
  EXPECT_EQ(winner({0, 50, 49.9}), 1);  // The first candidate is out of the race.
  EXPECT_EQ(winner({0, 0}), -1);
  EXPECT_EQ(winner({}), -1);
}

TEST(TuningWinner, IsTheOneThatIsFasterInMostTurns) {
  const std::vector<double> first = {100, 110, 90, 300, 100, 100};
  // The second is faster in each turn, whatever else the machine does.
  EXPECT_TRUE(IsFaster(first, std::vector<double>{90, 100, 80, 270, 90, 90}));
  // The difference is too small for a decision.
  EXPECT_FALSE(IsFaster(first, std::vector<double>{99, 109, 89, 297, 99, 99}));
  EXPECT_FALSE(IsFaster(first, std::vector<double>{50, 50, 50, 310, 101, 101}));
  EXPECT_FALSE(IsFaster({}, {}));
}

// ---- Red zones ---------------------------------------------------------------------------------------------------

TEST(GuardedDevice, DetectsWritesOutside) {
  const auto host = OpenHostDevice();
  GuardedDevice guarded(*host, /*zones=*/true);
  constexpr int64_t kBytes = 1000;
  auto* const memory = static_cast<std::byte*>(guarded.Allocate(kBytes).value());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory) % kBufferAlignment, 0u);
  ASSERT_TRUE(guarded.Fill(memory, 0, 1, kBytes));
  EXPECT_EQ(guarded.Violation().value(), "");
  for (const int64_t outside : {int64_t{-1}, kBytes, kBytes + GuardedDevice::ZoneBytes(kBytes) - 1}) {
    const std::byte before = memory[outside];
    memory[outside] = std::byte{1};
    EXPECT_EQ(guarded.Violation().value(),
              Str("1 bytes ", outside < 0 ? "before" : "behind", " an allocation of ", HumanBytes(kBytes)));
    memory[outside] = before;
  }
  EXPECT_EQ(guarded.Violation().value(), "");
  guarded.Free(memory);
  EXPECT_EQ(guarded.Violation().value(), "");
}

TEST(GuardedDevice, EmptiesCachesAndKeepsTheirContent) {
  const auto host = OpenHostDevice();
  for (const bool zones : {false, true}) {
    GuardedDevice guarded(*host, zones);
    constexpr int64_t kBytes = 3 << 20;
    auto* const memory = static_cast<std::byte*>(guarded.Allocate(kBytes).value());
    ASSERT_TRUE(guarded.Fill(memory, 0x17, 1, kBytes));
    ASSERT_TRUE(guarded.EmptyCaches());
    EXPECT_EQ(std::count(memory, memory + kBytes, std::byte{0x17}), kBytes);
    guarded.Free(memory);
  }
}

// ---- What is in the cache ------------------------------------------------------------------------------------------

std::set<std::string> NamesOfColdSteps(const std::string& text, int64_t cache_bytes) {
  const auto module = ParseText(text);
  const auto prepared = Prepare(*module, *FindDevice("host"));
  const std::unordered_set<int> cold = ColdSteps(*prepared, cache_bytes);
  std::set<std::string> names;
  for (const Computation* computation : prepared->Computations()) {
    for (const Instruction* inst : computation->Instructions()) {
      if (cold.contains(inst->id())) names.emplace(inst->name());
    }
  }
  return names;
}

using Names = std::set<std::string>;

// The arrays have 4 KiB each.
TEST(ColdSteps, HaveOperandsThatWereUsedLongAgo) {
  const std::string chain = R"(HloModule m
ENTRY main {
  p = f32[1024] parameter(0)
  a = f32[1024] negate(p)
  b = f32[1024] exponential(a)
  ROOT c = f32[1024] subtract(b, a)
})";
  EXPECT_EQ(NamesOfColdSteps(chain, 16 << 10), Names());
  // The last run read the parameter, and three arrays have been written since.
  EXPECT_EQ(NamesOfColdSteps(chain, 12 << 10), Names{"a"});
  EXPECT_EQ(NamesOfColdSteps(chain, 8 << 10), Names{"a"});
  // Only half of the bytes that `c` reads have left the cache. A step is cold if more than half have.
  EXPECT_EQ(NamesOfColdSteps(chain, 4 << 10), Names{"a"});
  EXPECT_EQ(NamesOfColdSteps(chain, 0), (Names{"a", "b", "c"}));
}

TEST(ColdSteps, CountBytesOnce) {
  std::string text = "HloModule m\nENTRY main {\n  p = f32[1024] parameter(0)\n  first = f32[1024] negate(p)\n";
  std::string last = "first";
  for (int i = 0; i < 20; ++i) {
    text += Str("  again.", i, " = f32[8] slice(first), slice={[", i, ":", i + 8, "]}\n");
    last += Str(", again.", i);
  }
  text += Str("  late = f32[1024] exponential(p)\n  ROOT all = (f32[1024], f32[1024]) tuple(first, late)\n}");
  EXPECT_FALSE(NamesOfColdSteps(text, 8 << 10).contains("late"));
  EXPECT_TRUE(NamesOfColdSteps(text, 4 << 10).contains("late"));
}

// Each trip reads other weights: 4 KiB of a stack of 256 KiB.
TEST(ColdSteps, TreatAPartOfAnArrayAsTheOldestPart) {
  const std::string loop = R"(HloModule m
body {
  s = (s32[], f32[1024], f32[64,1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1024] get-tuple-element(s), index=1
  stack = f32[64,1024] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  one = s32[] constant(1)
  next = s32[] add(i, one)
  slice = f32[1,1024] dynamic-slice(stack, i, zero), dynamic_slice_sizes={1,1024}
  weights = f32[1024] reshape(slice)
  y = f32[1024] multiply(x, weights)
  ROOT r = (s32[], f32[1024], f32[64,1024]) tuple(next, y, stack)
}
condition {
  s = (s32[], f32[1024], f32[64,1024]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  most = s32[] constant(64)
  ROOT less = pred[] compare(i, most), direction=LT
}
ENTRY main {
  zero = s32[] constant(0)
  x = f32[1024] parameter(0)
  stack = f32[64,1024] parameter(1)
  start = (s32[], f32[1024], f32[64,1024]) tuple(zero, x, stack)
  ROOT end = (s32[], f32[1024], f32[64,1024]) while(start), condition=condition, body=body
})";
  EXPECT_TRUE(NamesOfColdSteps(loop, 64 << 10).contains("slice"));
  EXPECT_FALSE(NamesOfColdSteps(loop, 64 << 10).contains("y"));
  EXPECT_EQ(NamesOfColdSteps(loop, 1 << 20), Names());
}

// ---- Races -------------------------------------------------------------------------------------------------------

TuningHooks Hooks() {
  return {.arguments = [](const Module& alone, uint64_t seed) { return MakeArguments(alone, {.seed = seed}); },
          // The limit permits another order of additions. A wrong bit planted in a result exceeds it by far.
          .judge = [](const StepInfo&, std::span<const Literal>, const Literal& actual,
                      const Literal* first) -> Result<TuningHooks::Answer> {
            TuningHooks::Answer answer{.check = "ok", .wrong = ""};
            for (int64_t i = 0; first != nullptr && i < actual.shape().NumElements(); ++i) {
              const double gap = std::abs(actual.GetDouble(i) - first->GetDouble(i));
              if (!(gap <= 1e-3 * (1 + std::abs(first->GetDouble(i))))) answer.wrong = Str("element ", i);
            }
            return answer;
          }};
}

RaceOptions OptionsAt(int level) {
  return {.level = level,
          .is_cold = false,
          .plant_wrong = false,
          .deadline = std::chrono::steady_clock::now() + std::chrono::minutes(10),
          .is_denied = {}};
}

CompileOptions ForHost() {
  CompileOptions options;
  options.target = FindDevice("host");
  return options;
}

TEST(TuningRace, MeasuresSeveralCandidatesAndChecksAll) {
  const auto module = ParseText(SumsText("x", "s"));
  const auto device = OpenHostDevice();
  const auto alone = StepAlone(module->entry().root());
  const auto result = RunRace(*alone, *device, ForHost(), OptionsAt(4), Hooks());
  ASSERT_TRUE(result) << Render(result.error(), "test");
  ASSERT_GE(result->candidates.size(), 3u);
  ASSERT_GE(result->winner, 0);
  for (const Candidate& candidate : result->candidates) {
    EXPECT_EQ(candidate.failure, "") << candidate.words;
    EXPECT_GE(candidate.samples, 3) << candidate.words;
    EXPECT_EQ(candidate.check, "ok") << candidate.words;
  }
}

TEST(TuningRace, DropsAWrongCandidateIfItChecks) {
  const auto module = ParseText(SumsText("x", "s"));
  const auto device = OpenHostDevice();
  const auto alone = StepAlone(module->entry().root());
  for (const int level : {2, 4}) {
    RaceOptions options = OptionsAt(level);
    options.plant_wrong = true;
    const auto result = RunRace(*alone, *device, ForHost(), options, Hooks());
    ASSERT_TRUE(result);
    const int last = static_cast<int>(result->candidates.size()) - 1;
    EXPECT_EQ(result->candidates.back().is_wrong, level == 4);
    // The wrong candidate would be the fastest.
    EXPECT_EQ(result->winner == last, level < 4);
  }
}

TEST(TuningRace, OmitsDeniedCandidates) {
  const auto module = ParseText(SumsText("x", "s"));
  const auto device = OpenHostDevice();
  const auto alone = StepAlone(module->entry().root());
  RaceOptions options = OptionsAt(4);
  options.is_denied = [](const Candidate& candidate) { return candidate.words.find("vector") != std::string::npos; };
  const auto result = RunRace(*alone, *device, ForHost(), options, Hooks());
  ASSERT_TRUE(result);
  EXPECT_TRUE(std::ranges::any_of(result->candidates, options.is_denied));
  for (const Candidate& candidate : result->candidates)
    EXPECT_EQ(candidate.samples == 0, options.is_denied(candidate)) << candidate.words;
}

TEST(TuningRace, MayRunOnOperandsThatAreNotInTheCache) {
  const auto module = ParseText(SumsText("x", "s"));
  const auto device = OpenHostDevice();
  RaceOptions options = OptionsAt(4);
  options.is_cold = true;
  const auto result = RunRace(*StepAlone(module->entry().root()), *device, ForHost(), options, Hooks());
  ASSERT_TRUE(result);
  ASSERT_GE(result->winner, 0);
  EXPECT_EQ(result->why_warm, "");
  for (const Candidate& candidate : result->candidates) EXPECT_EQ(candidate.failure, "") << candidate.words;
}

TEST(TuningRace, EndsAtTheDeadline) {
  const auto module = ParseText(SumsText("x", "s"));
  const auto device = OpenHostDevice();
  RaceOptions options = OptionsAt(4);
  options.deadline = std::chrono::steady_clock::now();
  const auto result = RunRace(*StepAlone(module->entry().root()), *device, ForHost(), options, Hooks());
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->out_of_time);
  EXPECT_EQ(result->winner, -1);
}

TEST(TuningDenylist, AcceptsKeysAndWords) {
  const std::string path = testing::TempDir() + "/denylist.txt";
  std::ofstream(path) << "# why\nkey=00000000000000aa algorithm=gemm:jit\n*  library=\"oneDNN matmul\"\n";
  const auto list = Denylist::Read(path);
  ASSERT_TRUE(list);
  EXPECT_TRUE(list->Denies("00000000000000aa", "convolution library=oneDNN algorithm=gemm:jit"));
  EXPECT_FALSE(list->Denies("00000000000000bb", "convolution library=oneDNN algorithm=gemm:jit"));
  EXPECT_FALSE(list->Denies("00000000000000aa", "convolution library=oneDNN algorithm=gemm:jit2"));
  EXPECT_TRUE(list->Denies("00000000000000bb", "convolution library=\"oneDNN matmul\""));
  std::ofstream(path) << "gemm:jit\n";
  const auto bad = Denylist::Read(path);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code(), "A027");
}

// ---- All of it ---------------------------------------------------------------------------------------------------

TEST(Tuner, ReusesItsMeasurementsFromTheLock) {
  const std::string path = testing::TempDir() + "/tuner_test.lock";
  std::remove(path.c_str());
  const auto device = OpenHostDevice();
  TuningOptions options;
  options.level = 4;
  options.read_from = options.write_to = path;
  options.budget_seconds = 600;
  const auto first = ParseText(SumsText("x", "s")), second = ParseText(SumsText("other", "name"));
  const auto measured = Tune(*first, *device, ForHost(), options, Hooks());
  ASSERT_TRUE(measured) << Render(measured.error(), "test");
  EXPECT_EQ(measured->wanted, 1);
  EXPECT_EQ(measured->cached, 0);
  EXPECT_TRUE(measured->wrote);
  ASSERT_TRUE(HasPlan(first->entry().root()));
  options.level = 0;
  options.require_cached = true;
  const auto taken = Tune(*second, *device, ForHost(), options, Hooks());
  ASSERT_TRUE(taken) << Render(taken.error(), "test");
  EXPECT_EQ(taken->cached, 1);
  ASSERT_TRUE(HasPlan(second->entry().root()));
  FusionPlan own = **ReadPlan(first->entry().root()), other = **ReadPlan(second->entry().root());
  EXPECT_EQ(own.kernels[0].heroes, std::vector<std::string>{"s"});
  EXPECT_EQ(other.kernels[0].heroes, std::vector<std::string>{"name"});
  own.kernels[0].heroes = other.kernels[0].heroes;
  EXPECT_EQ(own, other);
  // Denied choices of the lock are not used, and neither are steps that a search excludes.
  for (const bool denied : {false, true}) {
    TuningOptions some = options;
    some.require_cached = false;
    some.denylist = testing::TempDir() + "/denied.txt";
    std::ofstream(some.denylist) << (denied ? "* row_reduction\n" : "* column_reduction\n");
    if (!denied) some.keys.emplace();
    const auto without = ParseText(SumsText("x", "s"));
    const auto left = Tune(*without, *device, ForHost(), some, Hooks());
    ASSERT_TRUE(left) << Render(left.error(), "test");
    EXPECT_EQ(left->cached, 0);
    EXPECT_FALSE(HasPlan(without->entry().root()));
    EXPECT_EQ(left->notes.size(), denied ? 1u : 0u);
  }
  const auto missing = ParseText(SumsText("x", "s", "{0,1}"));
  const auto error = Tune(*missing, *device, ForHost(), options, Hooks());
  ASSERT_FALSE(error);
  EXPECT_EQ(error.error().code(), "C030");
}

// A library's scratch memory depends on the number of threads at the time of the call, so a plan must not fix it.
TEST(Tuner, MeasuredLibraryCallsCompileElsewhere) {
  const auto module = ParseText(R"(HloModule m, is_scheduled=true
fused {
  x = f32[1,12,12,8] parameter(0)
  w = f32[3,3,8,16] parameter(1)
  ROOT c = f32[1,12,12,16] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
}
ENTRY main {
  x = f32[1,12,12,8] parameter(0)
  w = f32[3,3,8,16] parameter(1)
  ROOT f = f32[1,12,12,16] fusion(x, w), kind=kCustom, calls=fused, backend_config={"library":"convolution"}
})");
  const auto device = OpenHostDevice();
  TuningOptions options;
  options.level = 4;
  options.budget_seconds = 600;
  const auto report = Tune(*module, *device, ForHost(), options, Hooks());
  ASSERT_TRUE(report) << Render(report.error(), "test");
  ASSERT_EQ(report->steps.size(), 1u);
  for (const Candidate& candidate : report->steps[0].race.candidates)
    EXPECT_EQ(candidate.plan.kernels[0].workspace, 0) << candidate.words;
  ASSERT_TRUE(HasPlan(module->entry().root()));
  EXPECT_TRUE(Compile(*module, *device, ForHost()));
}

TEST(Tuner, DoesNotChangeExistingPlans) {
  const auto module = ParseText(SumsText("x", "s"));
  FusionPlan plan{.target = "host", .kernels = {{.kind = KernelKind::kLoop}}, .slow = "", .refused = {}};
  plan.kernels[0].tile = {32};
  plan.kernels[0].threads = 32;
  SetPlan(module->entry().root(), plan);
  const std::string before = Print(*module);
  TuningOptions options;
  options.level = 4;
  const auto device = OpenHostDevice();
  const auto report = Tune(*module, *device, ForHost(), options, Hooks());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->wanted, 0);
  EXPECT_EQ(Print(*module), before);
}

}  // namespace
}  // namespace hlo::gpu
