// Tests of library calls on doubles of CUDA's libraries (docs/architecture.md#doubles): attention, its gradients,
// convolutions with sums of their results, and plans.
#include <gtest/gtest.h>

#include <sstream>

#include "base/files.h"
#include "tests/gpu/doubles_run.h"

namespace hlo {
namespace {

// Without measuring, a rule chooses the library call. A measured choice is obeyed.
TEST(Doubles, AnAttentionIsALibraryCall) {
  const std::string module = "testdata/doubles/attention.hlo";
  const Outcome taken = RunHlo(OnDoubles("--num_repeats=2 " + module));
  EXPECT_EQ(taken.exit, 0) << taken.out << taken.err;
  EXPECT_TRUE(taken.Says("MATCH") && taken.Says("1 library call")) << taken.out;
  EXPECT_GT(taken.Count("cudnnBackendExecute"), 0);
  // Our own code needs two library calls and a kernel for these modules. One call of the library is faster.
  for (const char* const name : {"causal_bf16", "grouped_bf16", "bias_of_keys_bf16"}) {
    const Outcome apart = RunHlo(OnDoubles(Str("testdata/attention/", name, ".hlo")));
    EXPECT_EQ(apart.exit, 0) << apart.out << apart.err;
    EXPECT_TRUE(apart.Says("MATCH") && apart.Says("0 kernels (0 different), 1 library call")) << apart.out;
  }
  const Outcome own = RunHlo(OnDoubles("--nolibraries " + module));
  EXPECT_TRUE(own.Says("MATCH")) << own.out << own.err;
  EXPECT_EQ(own.Count("cudnnBackendExecute"), 0);
  const std::string lock = (fs::temp_directory_path() / Str("hlo-doubles-attention-", getpid(), ".lock")).string();
  const Outcome measured =
      RunHlo(OnDoubles(Str("--autotune_report --autotune_share=0 --autotune_cache=", lock, " ", module)));
  EXPECT_EQ(measured.exit, 0) << measured.out << measured.err;
  EXPECT_TRUE(measured.Says("library_attention") && measured.Says("library=hlokit algorithm=mma")) << measured.out;
  EXPECT_FALSE(measured.Says("WRONG")) << measured.out;
  std::string text = ReadFile(lock);
  const size_t choice = text.find("library_attention "), end = text.find("  ", choice);
  if (choice != std::string::npos) {
    text.replace(choice, end - choice,
                 "attention heroes=2,15,20,24 tile=16x128 vector=4 threads=256 library=hlokit algorithm=mma");
    EXPECT_TRUE(WriteFile(lock, text));
  }
  const Outcome decided =
      RunHlo(OnDoubles(Str("--require_cached_autotune --xla_gpu_load_autotune_results_from=", lock, " ", module)));
  EXPECT_EQ(decided.exit, 0) << decided.out << decided.err;
  EXPECT_TRUE(decided.Says("(1/1 cached)") && decided.Says("MATCH")) << decided.out;
  EXPECT_EQ(decided.Count("cudnnBackendExecute"), 0);
  fs::remove(lock);
}

// Without a library the gradients are split into kernels.
TEST(Doubles, GradientsOfAnAttentionAreALibraryCall) {
  const std::string module = "testdata/attention_gradient/causal_f16.hlo";
  const Outcome taken = RunHlo(OnDoubles("--num_repeats=2 " + module));
  EXPECT_EQ(taken.exit, 0) << taken.out << taken.err;
  EXPECT_TRUE(taken.Says("MATCH") && taken.Says("0 kernels (0 different), 1 library call")) << taken.out;
  EXPECT_FALSE(taken.Says("cannot run as one kernel of kind rows")) << taken.out;
  EXPECT_GT(taken.Count("cudnnBackendExecute"), 0);
  const Outcome own = RunHlo(OnDoubles("--nolibraries " + module));
  EXPECT_TRUE(own.Says("MATCH")) << own.out << own.err;
  EXPECT_EQ(own.Count("cudnnBackendExecute"), 0);
}

// The sums are results of the convolution's call. Autotuning also tries a separate kernel after the call.
TEST(Doubles, StatisticsAreALibraryCall) {
  const std::string module = "testdata/doubles/statistics.hlo";
  const Outcome taken = RunHlo(OnDoubles("--num_repeats=3 " + module));
  EXPECT_EQ(taken.exit, 0) << taken.out << taken.err;
  EXPECT_TRUE(taken.Says("MATCH") && taken.Says("1 kernel (1 different), 1 library call")) << taken.out;
  EXPECT_GT(taken.Count("cudnnBackendExecute"), 0);
  const Outcome own = RunHlo(OnDoubles("--nolibraries " + module));
  EXPECT_TRUE(own.Says("MATCH")) << own.out << own.err;
  EXPECT_EQ(own.Count("cudnnBackendExecute"), 0);
  const Outcome measured = RunHlo(OnDoubles("--autotune_report --autotune_share=0 " + module));
  EXPECT_EQ(measured.exit, 0) << measured.out << measured.err;
  EXPECT_TRUE(measured.Says("algorithm=heuristic_1") && measured.Says("algorithm=parts_1")) << measured.out;
  EXPECT_FALSE(measured.Says("WRONG")) << measured.out;
  const Outcome wrong = RunHlo(OnDoubles("--inject=library:statistics_region:zero " + module));
  EXPECT_EQ(wrong.exit, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(wrong.Says("library call 'statistics_region'")) << wrong.out;
}

std::vector<std::string> PlansIn(const std::string& text) {
  std::vector<std::string> plans;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const size_t plan = line.find("\"plan\":");
    if (plan != std::string::npos) plans.push_back(line.substr(plan));
  }
  std::ranges::sort(plans);
  return plans;
}

// `hlo opt` takes the same plans from a lock as a run, and the printed module runs with these plans. One case has sums
// beside a convolution, the other a region of rows.
TEST(Doubles, ALockDeterminesThePlansOfOptAndOfARun) {
  struct Case {
    // The value `instead` replaces the value of `field` in the plan. No rule would choose it.
    std::string_view module, field, instead;
  };
  for (const auto& [name, field, instead] :
       {Case{"statistics", "algorithm=", "algorithm=parts_1"}, Case{"graph", "tile=", "tile=4x32 threads=128"}}) {
    const std::string module = Str("testdata/doubles/", name, ".hlo");
    const fs::path folder = fs::temp_directory_path() / Str("hlo-doubles-lock-", getpid());
    fs::create_directories(folder);
    const std::string lock = (folder / "a.lock").string(), planned = (folder / "planned.hlo").string(),
                      dumps = (folder / "dumps").string();
    const Outcome measured = RunHlo(OnDoubles(Str("--autotune_share=0 --autotune_cache=", lock, " ", module)));
    EXPECT_EQ(measured.exit, 0) << measured.out << measured.err;
    std::string text = ReadFile(lock);
    const size_t choice = text.find(field), end = text.find("  ", choice);
    ASSERT_NE(choice, std::string::npos) << text;
    text.replace(choice, end - choice, instead);
    ASSERT_TRUE(WriteFile(lock, text));
    const Outcome ran = RunHlo(
        OnDoubles(Str("--require_cached_autotune --autotune_cache=", lock, " --xla_dump_to=", dumps, " ", module)));
    EXPECT_EQ(ran.exit, 0) << ran.out << ran.err;
    EXPECT_TRUE(ran.Says("(1/1 cached)") && ran.Says("MATCH")) << ran.out;
    std::vector<std::string> of_run;
    for (const auto& file : fs::directory_iterator(dumps)) {
      const std::string path = file.path().string();
      if (path.ends_with("after_optimizations.txt")) of_run = PlansIn(ReadFile(path));
    }
    const Outcome optimized = RunHlo(Str("hlo-opt --stage=hlo-backend --library_path=", Bin(),
                                         "/../doubles --autotune_cache=", lock, " -o ", planned, " ", module));
    EXPECT_EQ(optimized.exit, 0) << optimized.err;
    EXPECT_TRUE(optimized.Says("1 plan is from")) << optimized.err;
    EXPECT_FALSE(of_run.empty());
    EXPECT_EQ(PlansIn(ReadFile(planned)), of_run);
    const Outcome again = RunHlo(OnDoubles(planned));
    EXPECT_EQ(again.exit, 0) << again.out << again.err;
    EXPECT_TRUE(again.Says("MATCH")) << again.out;
    const auto words = [](const Outcome& outcome) {  // The line such as "1 kernel (1 different), 1 library call".
      const size_t at = outcome.out.find(" different)");
      return outcome.out.substr(outcome.out.rfind('\n', at), outcome.out.find('\n', at) - outcome.out.rfind('\n', at));
    };
    EXPECT_EQ(words(again), words(ran));
    fs::remove_all(folder);
  }
}

// Each of several convolutions occurs twice. Its plan is made once, whichever thread needs it first.
TEST(Doubles, PlansOfConvolutionsAreMadeOnAllThreads) {
  constexpr int kDifferent = 6;
  const fs::path file = fs::temp_directory_path() / Str("hlo-doubles-plans-", getpid(), ".hlo");
  std::string text = "HloModule plans\nENTRY main {\n", results, shapes;
  for (int i = 0; i < 2 * kDifferent; ++i) {
    const int channels = 4 + 4 * (i % kDifferent);
    const std::string shape = Str("f32[2,5,6,", channels, "]");
    text += Str("  x", i, " = f32[2,5,6,8] parameter(", 2 * i, ")\n  w", i, " = f32[3,3,8,", channels, "] parameter(",
                2 * i + 1, ")\n  c", i, " = ", shape, " convolution(x", i, ", w", i,
                "), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f\n");
    results += Str(i > 0 ? ", " : "", "c", i);
    shapes += Str(i > 0 ? ", " : "", shape);
  }
  ASSERT_TRUE(WriteFile(file.string(), Str(text, "  ROOT r = (", shapes, ") tuple(", results, ")\n}\n")));
  std::vector<Outcome> outcomes;
  for (const int threads : {1, 2, 5}) {
    const Outcome& outcome = outcomes.emplace_back(RunHlo(OnDoubles(Str("--threads=", threads, " ", file.string()))));
    EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_EQ(outcome.Count("cudnnBackendFinalize"), outcomes[0].Count("cudnnBackendFinalize"));
    EXPECT_GE(outcome.Count("cudnnCreate"), 1);
    EXPECT_LE(outcome.Count("cudnnCreate"), threads);
    EXPECT_EQ(outcome.Count("cudnnDestroy"), outcome.Count("cudnnCreate"));
    const size_t bits = outcome.out.find("bits"), first = outcomes[0].out.find("bits");
    ASSERT_TRUE(bits != std::string::npos && first != std::string::npos) << outcome.out;
    EXPECT_EQ(outcome.out.substr(bits, 24), outcomes[0].out.substr(first, 24));
  }
  fs::remove(file);
}

}  // namespace
}  // namespace hlo
