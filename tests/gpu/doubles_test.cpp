// Tests of the program on doubles of CUDA's libraries (docs/architecture.md#doubles): models, each call failing once,
// and the calls of a run. Each run is a process, and a violation of the libraries' rules ends it with exit code 99.
// `make cuda-doubles` (HLO_DOUBLES=all) tests everything. Otherwise a sample is tested.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "driver/load.h"
#include "driver/profile/summary.h"
#include "ir/text/printer.h"
#include "tests/driver/reduced_module.h"
#include "tests/gpu/doubles_run.h"
#include "tests/module_files.h"
#include "tests/read_file.h"

namespace hlo {
namespace {

// ---- What there is -------------------------------------------------------------------------------------------------

TEST(Doubles, NameThemselvesAnEmulatedDevice) {
  const Outcome doctor = RunHlo(Str("hlo doctor --library_path=", Bin(), "/../doubles"));
  EXPECT_TRUE(doctor.Says("cuda:0 emulated device, sm_90")) << doctor.out << doctor.err;
  const Outcome json = RunHlo(OnDoubles("--json testdata/doubles/graph.hlo"));
  EXPECT_EQ(json.exit, 0) << json.out << json.err;
  EXPECT_TRUE(json.Says("emulated device, sm_90")) << json.out;
  const Outcome profile = RunHlo(OnDoubles("--profile testdata/doubles/graph.hlo"));
  EXPECT_EQ(profile.exit, 0) << profile.out << profile.err;
  EXPECT_TRUE(profile.Says("emulated device, sm_90")) << profile.out;
}

// ---- Models --------------------------------------------------------------------------------------------------------

// All small models, or a sample.
std::vector<std::string> Models() {
  std::vector<std::string> models = ModuleFilesBelow("testdata/models/small");
  if (All()) return models;
  const std::set<std::string> kSome = {"gpt2_infer", "lstm_infer", "mlp_train_bf16", "poisson_jacobi"};
  std::erase_if(models, [&](const std::string& path) { return !kSome.contains(fs::path(path).stem()); });
  return models;
}

// Compares the results of a run with kernels queued one by one and of a run as a graph.
TEST(Doubles, ModelsMatch) {
  const std::vector<std::string> models = Models();
  ASSERT_GE(models.size(), All() ? 13u : 4u);
  std::vector<Outcome> outcomes(models.size());
  ParallelFor(std::ssize(models), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) outcomes[i] = RunHlo(OnDoubles("--num_repeats=3 " + models[i]));
  });
  int64_t kernels = 0, products = 0, graphs = 0;
  for (size_t i = 0; i < models.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    EXPECT_EQ(outcome.exit, 0) << models[i] << "\n" << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.Says("MATCH")) << models[i] << "\n" << outcome.out;
    kernels += outcome.Count("cuLaunchKernel");
    products += outcome.Count("cublasLtMatmul");
    graphs += outcome.Count("cuGraphLaunch");
  }
  EXPECT_GT(graphs, 0);
  EXPECT_GT(products, 0);
  std::printf("%zu models, %ld launches, %ld products of a library, %ld launches of graphs\n", models.size(), kernels,
              products, graphs);
}

std::vector<std::string> Workloads() {
  const char* const corpus = std::getenv("CORPUS");
  return corpus != nullptr ? ModuleFilesBelow(Str(corpus, "/bench/cpu")) : std::vector<std::string>();
}

class ReducedWorkloads {
 public:
  // With at most this many elements, a run takes a second or two.
  static constexpr int64_t kMostElements = 1 << 16;

  explicit ReducedWorkloads(const std::vector<std::string>& workloads)
      : folder_(fs::temp_directory_path() / Str("hlo-doubles-reduced-", getpid())) {
    fs::create_directories(folder_);
    for (const std::string& workload : workloads) {
      const auto whole = LoadModule(workload);
      EXPECT_TRUE(whole) << workload;
      if (!whole) continue;
      const std::unique_ptr<Module> reduced = Reduced(**whole, kMostElements);
      EXPECT_LE(MostElements(*reduced), kMostElements) << workload;
      EXPECT_EQ(reduced->InstructionCount(), (*whole)->InstructionCount()) << workload;
      files_.push_back((folder_ / fs::path(workload).filename()).string());
      EXPECT_TRUE(WriteFile(files_.back(), Print(*reduced)));
    }
  }
  ~ReducedWorkloads() { fs::remove_all(folder_); }
  ReducedWorkloads(const ReducedWorkloads&) = delete;

  const std::vector<std::string>& files() const { return files_; }

 private:
  fs::path folder_;
  std::vector<std::string> files_;
};

// Runs all workloads of $CORPUS/bench/cpu with small arrays: kernels queued one by one, recorded, and as a graph.
TEST(Doubles, ReducedWorkloadsMatch) {
  if (!All()) GTEST_SKIP() << "make cuda-doubles";
  const ReducedWorkloads workloads(Workloads());
  if (workloads.files().empty()) GTEST_SKIP() << "no workloads below CORPUS=DIR";
  std::vector<Outcome> outcomes(workloads.files().size());
  ParallelFor(std::ssize(outcomes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) outcomes[i] = RunHlo(OnDoubles("--num_repeats=3 " + workloads.files()[i]));
  });
  int64_t match = 0, graphs = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    EXPECT_EQ(outcomes[i].exit, 0) << workloads.files()[i] << "\n" << outcomes[i].out << outcomes[i].err;
    match += outcomes[i].exit == 0 && outcomes[i].Says("\nMATCH");
    graphs += outcomes[i].Count("cuGraphLaunch") > 0;
  }
  std::printf("%zu reduced workloads: %ld match, %ld of them as graphs\n", outcomes.size(), match, graphs);
  EXPECT_EQ(match, std::ssize(outcomes));
  EXPECT_GE(match, 53);
}

// Compares the workloads in full size, kernel by kernel. The time limit is for two cores. Workloads that exceed it are
// printed.
TEST(Doubles, WorkloadsMatch) {
  constexpr int kTimedOut = 124, kSeconds = 12;
  if (!All()) GTEST_SKIP() << "make cuda-doubles";
  const std::vector<std::string> workloads = Workloads();
  if (workloads.empty()) GTEST_SKIP() << "no workloads below CORPUS=DIR";
  std::vector<Outcome> outcomes(workloads.size());
  ParallelFor(std::ssize(workloads), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      outcomes[i] = RunHlo(OnDoubles("--compare_mode=local " + workloads[i]), "", kSeconds);
  });
  std::string late;
  int64_t match = 0;
  for (size_t i = 0; i < workloads.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    if (outcome.exit == kTimedOut) {
      late += " " + fs::path(workloads[i]).stem().string();
      continue;
    }
    EXPECT_EQ(outcome.exit, 0) << workloads[i] << "\n" << outcome.out << outcome.err;
    match += outcome.Says("\nMATCH");
  }
  std::printf("%zu workloads: %ld match; no end after %d s:%s\n", workloads.size(), match, kSeconds, late.c_str());
  EXPECT_GT(match, 0);
}

// ---- What is queued ------------------------------------------------------------------------------------------------

// A profile by CUPTI measures the graph without waiting for steps, and each node's time belongs to its step. A profile
// that waits for each step has the same counts, except for conditions that the device computes within a step.
TEST(Doubles, AProfileMeasuresTheGraph) {
  const std::string json = (fs::temp_directory_path() / Str("hlo-doubles-profile-", getpid(), ".json")).string();
  const auto profile = [&](const std::string& module, const std::string& fail, Outcome* outcome) {
    *outcome = RunHlo(OnDoubles(Str("--reference_platform=none --profile --profile_json=", json, " --num_repeats=3 ",
                                    "testdata/doubles/", module, ".hlo")),
                      fail);
    EXPECT_EQ(outcome->exit, 0) << outcome->out << outcome->err;
    auto summary = ReadProfileSummary(json);
    fs::remove(json);
    EXPECT_TRUE(summary) << module;
    return summary ? *summary : ProfileSummary();
  };
  for (const char* const module : {"graph", "library", "convolution", "statistics", "loop", "control"}) {
    Outcome by_log, by_events;
    const ProfileSummary log = profile(module, "", &by_log), events = profile(module, "cuptiSubscribe:1", &by_events);
    EXPECT_TRUE(by_log.Says("times of CUPTI 13.0.1, multiprocessors at 1500 MHz, memory at 2000 MHz")) << by_log.out;
    EXPECT_TRUE(by_events.Says("timed it by events (coarse): cuptiSubscribe: CUPTI_ERROR_UNKNOWN")) << by_events.out;
    EXPECT_FALSE(log.waits_for_each);
    EXPECT_TRUE(events.waits_for_each);
    EXPECT_EQ(log.dropped, 0) << module;
    // Runs that are not profiled launch the graph too.
    EXPECT_GE(by_log.Count("cuGraphLaunch"), 2 * log.runs) << module;
    std::map<std::string, double> executions;
    for (const StepRow& row : events.steps) executions[row.step.name] = row.figures.executions;
    double conditions = 0;
    for (const StepRow& row : log.steps) {
      conditions += executions[row.step.name] - row.figures.executions;
      EXPECT_LE(row.figures.executions, executions[row.step.name]) << module << ": " << row.step.name;
      EXPECT_GE(row.figures.least_us, 0) << module << ": " << row.step.name;
    }
    double asked = 0;  // A loop evaluates its condition once more than it has trips.
    for (const LoopRow& row : events.loops) asked += row.figures.trips + 1;
    EXPECT_LE(conditions, asked) << module;
    ASSERT_EQ(log.loops.size(), events.loops.size()) << module;
    std::map<std::string, double> trips;
    for (const LoopRow& row : events.loops) trips[row.loop.name] = row.figures.trips;
    for (const LoopRow& row : log.loops) {
      EXPECT_EQ(row.figures.trips, trips[row.loop.name]) << module << ": " << row.loop.name;
      EXPECT_GT(row.figures.ms, 0) << module << ": " << row.loop.name;
    }
  }
}

TEST(Doubles, AnUnknownCuptiIsNotUsed) {
  const Outcome outcome = RunHlo(OnDoubles("--reference_platform=none --profile testdata/doubles/graph.hlo"), "", 120,
                                 "HLO_DOUBLE_CUPTI=140000");
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.Says("has version 140000, but hlokit knows only the records of CUDA 12 and 13")) << outcome.out;
  EXPECT_EQ(outcome.Count("cuptiActivityEnable"), 0);
}

// The driver's calls of the last run, between the two events that time it.
std::vector<std::string> CallsOfAStep(const Outcome& outcome) {
  std::vector<std::string> calls;
  int events = 0;
  for (size_t i = outcome.trace.size(); i-- > 0 && events < 2;) {
    const std::string& line = outcome.trace[i];
    if (line == "cuEventRecord") ++events;
    else if (events == 1 && !line.starts_with(">") && line != "cuCtxSetCurrent") calls.insert(calls.begin(), line);
  }
  return calls;
}

TEST(Doubles, AutotuningMeasuresOnTheDevice) {
  const std::string lock = (fs::temp_directory_path() / Str("hlo-doubles-", getpid(), ".lock")).string();
  const std::string module = " --autotune_share=0 testdata/doubles/library.hlo";
  const Outcome measured = RunHlo(OnDoubles(Str("--autotune_report --autotune_cache=", lock, module)));
  EXPECT_EQ(measured.exit, 0) << measured.out << measured.err;
  EXPECT_TRUE(measured.Says("(0/3 cached)") && measured.Says("algorithm=heuristic_1") && measured.Says("contraction "))
      << measured.out;
  EXPECT_FALSE(measured.Says("WRONG")) << measured.out;
  const Outcome taken =
      RunHlo(OnDoubles(Str("--require_cached_autotune --xla_gpu_load_autotune_results_from=", lock, module)));
  EXPECT_EQ(taken.exit, 0) << taken.out << taken.err;
  EXPECT_TRUE(taken.Says("(3/3 cached)")) << taken.out;
  fs::remove(lock);
}

TEST(Doubles, AutotuningMeasuresConvolutions) {
  const Outcome outcome = RunHlo(OnDoubles("--autotune_report --autotune_share=0 testdata/doubles/convolution.hlo"));
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(outcome.Says("algorithm=parts_3") && outcome.Says("algorithm=heuristic_3")) << outcome.out;
  EXPECT_FALSE(outcome.Says("WRONG")) << outcome.out;
}

// Kernels that spill registers take part in a race only if all candidates spill.
TEST(Doubles, AutotuningOmitsKernelsThatSpill) {
  const std::string command = OnDoubles("--autotune_report --autotune_share=0 testdata/doubles/graph.hlo");
  const Outcome none = RunHlo(command), some = RunHlo(command, "", 120, "HLO_DOUBLE_SPILLS=128"),
                all = RunHlo(command, "", 120, "HLO_DOUBLE_SPILLS=0");
  for (const Outcome* outcome : {&none, &some, &all}) EXPECT_EQ(outcome->exit, 0) << outcome->out << outcome->err;
  EXPECT_FALSE(none.Says("spills"));
  EXPECT_TRUE(some.Says("spills: each thread keeps 48 bytes of registers in memory")) << some.out;
  EXPECT_FALSE(all.Says("spills")) << all.out;
  EXPECT_TRUE(all.Says("  * ")) << all.out;
}

// If a step does not find its operands in the cache in the module, it does not find them there in a race either.
TEST(Doubles, AutotuningEmptiesTheCache) {
  const std::string command = OnDoubles("--autotune_report --autotune_share=0 testdata/doubles/library.hlo");
  const Outcome warm = RunHlo(command), cold = RunHlo(command, "", 120, "HLO_DOUBLE_CACHE=64");
  const std::string fill = "> fill 134217728 bytes";
  EXPECT_EQ(warm.Count(fill), 0);
  EXPECT_FALSE(warm.Says("with operands from memory")) << warm.out;
  EXPECT_GT(cold.Count(fill), 0);
  EXPECT_TRUE(cold.Says("with operands from memory")) << cold.out;
}

// The description of the last graph that was made, such as "graph of 7 kernels, ...".
std::string LastGraph(const Outcome& outcome) {
  std::string last;
  for (const std::string& line : outcome.trace) {
    if (line.starts_with("> graph of")) last = line.substr(2);
  }
  return last;
}

// A run is one launch of a graph, and the host neither waits nor queues anything else. The graph contains loops and
// branches, unless a step needs the interpreter.
TEST(Doubles, AStepIsOneLaunch) {
  std::vector<std::string> modules = Models();
  for (const char* const name : {"graph", "library", "convolution", "statistics", "loop", "control"})
    modules.push_back(Str("testdata/doubles/", name, ".hlo"));
  std::vector<Outcome> outcomes(modules.size());
  ParallelFor(std::ssize(modules), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      outcomes[i] = RunHlo(OnDoubles("--reference_platform=none --num_repeats=3 " + modules[i]));
  });
  for (size_t i = 0; i < modules.size(); ++i) {
    ASSERT_EQ(outcomes[i].exit, 0) << modules[i] << "\n" << outcomes[i].out << outcomes[i].err;
    constexpr std::string_view kOfOneKernel[] = {"muladd_reduce.hlo", "lstm_infer.hlo", "poisson_jacobi.hlo"};
    const bool is_one_step =
        std::ranges::any_of(kOfOneKernel, [&](std::string_view name) { return modules[i].ends_with(name); });
    EXPECT_EQ(CallsOfAStep(outcomes[i]), std::vector<std::string>{is_one_step ? "cuLaunchKernel" : "cuGraphLaunch"})
        << modules[i];
    EXPECT_EQ(LastGraph(outcomes[i]).empty(), is_one_step) << modules[i];
    std::printf("%s: a step is %s\n", modules[i].c_str(), is_one_step ? "a kernel" : LastGraph(outcomes[i]).c_str());
  }
}

struct Edges {
  int64_t all = 0, early = 0, begins = 0;
};
Edges EdgesOf(const Outcome& outcome) {
  Edges edges;
  for (const std::string& line : outcome.trace) {
    long all = 0, early = 0, begins = 0;
    if (std::sscanf(line.c_str(), "> by %ld edges, %ld of them early; %ld nodes", &all, &early, &begins) != 3) continue;
    edges.all += all, edges.early += early, edges.begins += begins;
  }
  return edges;
}

// By default, a graph of small steps is a chain. With concurrency, each step follows only the steps that it depends on,
// and has its own memory. The double checks all pairs of steps, and results are the same. Kernels begin early if the
// flag and the driver permit it.
TEST(Doubles, StepsMayRunConcurrentlyAndBeginEarly) {
  std::vector<std::string> modules = Models();
  for (const char* const name : {"graph", "library", "convolution", "statistics", "loop", "control"})
    modules.push_back(Str("testdata/doubles/", name, ".hlo"));
  const std::vector<std::string> flags = {"", "--xla_gpu_graph_enable_concurrent_region=true",
                                          "--xla_gpu_enable_pdl=false"};
  std::vector<Outcome> outcomes(modules.size() * flags.size());
  ParallelFor(std::ssize(outcomes), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      outcomes[i] =
          RunHlo(OnDoubles(Str("--num_repeats=3 ", flags[i % std::ssize(flags)], " ", modules[i / std::ssize(flags)])));
  });
  Edges chained, sided;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const std::string& module = modules[i / flags.size()];
    ASSERT_EQ(outcome.exit, 0) << module << "\n" << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.Says("MATCH")) << module << "\n" << outcome.out;
    EXPECT_FALSE(outcome.Says("is launched after the kernels before it")) << outcome.out;
    const Edges edges = EdgesOf(outcome);
    Edges* const sum = i % flags.size() == 0 ? &chained : i % flags.size() == 1 ? &sided : nullptr;
    if (sum == nullptr) EXPECT_EQ(edges.early, 0) << module;
    else sum->all += edges.all, sum->early += edges.early, sum->begins += edges.begins;
  }
  std::printf("chains: %ld edges, %ld of them early, %ld begins; side by side: %ld, %ld, %ld\n", chained.all,
              chained.early, chained.begins, sided.all, sided.early, sided.begins);
  EXPECT_GT(chained.early, 0);
  EXPECT_GT(sided.begins, chained.begins);
}

// Plain edges replace the early edges, and a note says so.
TEST(Doubles, KernelsWaitIfTheDriverRejectsEarlyEdges) {
  const Outcome outcome = RunHlo(OnDoubles("--num_repeats=3 testdata/doubles/graph.hlo"),
                                 "cuGraphInstantiateWithFlags:1:CUDA_ERROR_NOT_SUPPORTED");
  EXPECT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(
      outcome.Says("each kernel is launched after the kernels before it have ended, in spite of --xla_gpu_enable_pdl"))
      << outcome.out << outcome.err;
  EXPECT_GT(outcome.Count("cuGraphLaunch"), 0);
  const Edges edges = EdgesOf(outcome);
  EXPECT_TRUE(edges.all > 0 && edges.early == 0) << edges.all << " edges, " << edges.early << " early";
}

// A dumped graph has a box for each node that the driver was given.
TEST(Doubles, TheDumpedGraphIsTheRecordedOne) {
  for (const char* const name : {"library", "control"}) {
    const fs::path folder = fs::temp_directory_path() / Str("hlo-doubles-graph-", getpid());
    fs::remove_all(folder);
    const Outcome outcome = RunHlo(OnDoubles(
        Str("--reference_platform=none --xla_dump_to=", folder.string(), " testdata/doubles/", name, ".hlo")));
    ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    int64_t dumped = 0;
    std::string last;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path().filename().string();
      if (file.find("recorded_graph_") == std::string::npos || !file.ends_with(".dot")) continue;
      last = std::max(last, file);
    }
    ASSERT_NE(last, "");
    const std::string dot = ReadFile(folder / last);
    for (size_t at = dot.find(" [label="); at != std::string::npos; at = dot.find(" [label=", at + 1)) ++dumped;
    // The sum of all numbers in a text such as "graph of 1 kernel, 1 while (5 kernels)".
    int64_t recorded = 0;
    const std::string graph = LastGraph(outcome);
    for (const std::string_view word : Split(graph, ' ')) {
      int64_t count = 0;
      const size_t digit = word.find_first_of("0123456789");
      if (digit != std::string_view::npos && ParseInt(word.substr(digit), &count)) recorded += count;
    }
    EXPECT_EQ(dumped, recorded) << graph << "\n" << dot;
    EXPECT_GT(dumped, 2);
    EXPECT_NE(ReadFile(folder / "index.html").find("graph recorded on the device"), std::string::npos);
    fs::remove_all(folder);
  }
}

TEST(Doubles, AFlagTurnsGraphsOff) {
  for (const char* const flag : {"--cuda_graphs=false", "--xla_gpu_enable_command_buffer="}) {
    const Outcome outcome = RunHlo(OnDoubles(Str(flag, " --num_repeats=4 testdata/doubles/control.hlo")));
    ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.Says("MATCH")) << outcome.out;
    EXPECT_EQ(outcome.Count("cuGraphLaunch"), 0) << flag;
  }
}

TEST(Doubles, TheDeviceEvaluatesConditions) {
  struct Case {
    const char *module, *driver;
    std::vector<std::string> nodes;
  };
  const std::vector<Case> cases = {
      {"loop", "13000", {"1 while (3 kernels)"}},  // The kernels of one trip. No kernel exists for the condition alone.
      {"control", "13000", {"while (", "switch ("}},
      {"control", "12040", {"while (", "1 if (1 kernel), 1 if ("}},
  };
  for (const Case& one : cases) {
    const Outcome outcome = RunHlo(OnDoubles(Str("--num_repeats=3 testdata/doubles/", one.module, ".hlo")), "", 120,
                                   Str("HLO_DOUBLE_SANITIZE=1 HLO_DOUBLE_DRIVER=", one.driver));
    ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.Says("MATCH")) << outcome.out;
    for (const std::string& node : one.nodes)
      EXPECT_NE(LastGraph(outcome).find(node), std::string::npos) << one.module << ": " << LastGraph(outcome);
    EXPECT_EQ(CallsOfAStep(outcome), std::vector<std::string>{"cuGraphLaunch"}) << one.module;
  }
}

// The host waits for a condition once a trip and for nothing else, and a note says so.
TEST(Doubles, AnOlderDriverWaitsForALoopOnceATrip) {
  const Outcome outcome = RunHlo(OnDoubles("--reference_platform=none --num_repeats=4 testdata/doubles/loop.hlo"), "",
                                 120, "HLO_DOUBLE_DRIVER=12030");
  ASSERT_EQ(outcome.exit, 0) << outcome.out << outcome.err;
  std::map<std::string, int> calls;
  for (const std::string& call : CallsOfAStep(outcome)) ++calls[call];
  for (const auto& [call, count] : calls) std::printf("%s: %d\n", call.c_str(), count);
  EXPECT_EQ(calls["cuStreamSynchronize"], calls["cuMemcpyDtoHAsync_v2"]);
  EXPECT_GT(calls["cuStreamSynchronize"], 1);
  EXPECT_TRUE(outcome.Says("the host evaluates the condition")) << outcome.out << outcome.err;
}

TEST(Doubles, ARecurrentLoopIsOneLaunch) {
  for (const char* name : {"gru", "lstm", "plain_bf16"}) {
    const std::string module = Str("testdata/run/recurrent_", name, ".hlo");
    const Outcome once = RunHlo(OnDoubles(Str("--reference_platform=none ", module)));
    EXPECT_EQ(once.exit, 0) << once.out << once.err;
    EXPECT_EQ(once.Count("> kernel block_region"), 1) << name;
    EXPECT_EQ(once.Count("cublasLtMatmul"), 0) << name;
    const Outcome compared = RunHlo(OnDoubles(module));
    EXPECT_EQ(compared.exit, 0) << compared.out << compared.err;
    EXPECT_TRUE(compared.Says("local    MATCH")) << compared.out;
  }
}

// ---- Failing calls -------------------------------------------------------------------------------------------------

enum class End : uint8_t { kError, kNoMemory, kGoesOn, kWrong };

// Classifies a run with a failing call. kError: an error of the device in the library's words. kNoMemory: a limit.
// kGoesOn: the run succeeded in another way, or had succeeded before, and says so. Any other end is kWrong, and `why`
// says why.
End EndOf(const Outcome& outcome, std::string* why) {
  const auto failed =
      std::ranges::find_if(outcome.trace, [](const std::string& line) { return line.starts_with("! "); });
  if (failed == outcome.trace.end()) {
    *why = "it did not fail";
    return End::kWrong;
  }
  const std::string error = failed->substr(failed->rfind(' ') + 1);
  if (outcome.exit == 5 && error == "CUDA_ERROR_OUT_OF_MEMORY" && outcome.Says("no memory for")) return End::kNoMemory;
  if (!outcome.Says(error)) {
    *why = Str("nothing says ", error);
    return End::kWrong;
  }
  if (outcome.exit == 6 && outcome.Says(": error: [R01")) return End::kError;
  if (outcome.exit == 0 && outcome.Says("\nMATCH")) return End::kGoesOn;
  *why = Str("exit ", outcome.exit);
  return End::kWrong;
}

// Runs the command once for each value of HLO_DOUBLE_FAIL in `fails`.
std::vector<Outcome> FailWith(const std::string& command, const std::vector<std::string>& fails) {
  std::vector<Outcome> outcomes(fails.size());
  ParallelFor(std::ssize(fails), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) outcomes[i] = RunHlo(command, fails[i]);
  });
  return outcomes;
}

// The last call that fails: call number `times` of the function `last`.
struct Until {
  std::string last;
  int times = 0;
};
// Lets every `step`-th call fail, each in a run of its own. `most_end` is false if most failing calls have an
// alternative.
void FailEach(const std::string& module, const std::string& flags, size_t step, bool most_end = true,
              const Until& until = {}) {
  const std::string command = OnDoubles(Str(flags, " ", module));
  const Outcome fine = RunHlo(command);
  ASSERT_EQ(fine.exit, 0) << fine.out << fine.err;
  std::vector<std::string> calls, fails, names;
  int seen = 0;
  for (const std::string& line : fine.trace) {
    if (!line.starts_with(">")) calls.push_back(line);
    if (line == until.last && ++seen == until.times) break;
  }
  for (size_t i = 0; i < calls.size(); i += step) {
    fails.push_back(Str("*:", i + 1));
    names.push_back(calls[i]);
  }
  const std::vector<Outcome> outcomes = FailWith(command, fails);
  std::map<End, int> ends;
  int64_t located = 0;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    std::string why;
    const End end = EndOf(outcomes[i], &why);
    if (ends[end]++ < 5 && end == End::kWrong)
      ADD_FAILURE() << module << ", " << fails[i] << ", " << names[i] << ": " << why << "\n"
                    << outcomes[i].out << outcomes[i].err;
    located += end == End::kError && outcomes[i].err.starts_with(module + ":");
  }
  std::printf(
      "%s: %zu of %zu calls failed once each: %d runs end with an error of the device, %ld of them at an "
      "instruction; %d go on and say so\n",
      module.c_str(), fails.size(), calls.size(), ends[End::kError], located, ends[End::kGoesOn]);
  EXPECT_GT(ends[End::kError], most_end ? ends[End::kGoesOn] : 0);
  EXPECT_GT(most_end ? located : ends[End::kGoesOn], 0);
}

TEST(Doubles, EveryCallOfAGraphMayFail) { FailEach("testdata/doubles/graph.hlo", "--num_repeats=3", All() ? 1 : 19); }
TEST(Doubles, EveryCallOfALoopMayFail) { FailEach("testdata/doubles/loop.hlo", "--num_repeats=3", All() ? 1 : 97); }
TEST(Doubles, EveryCallOfBranchesMayFail) {
  FailEach("testdata/doubles/control.hlo", "--num_repeats=3", All() ? 1 : 97);
}
TEST(Doubles, EveryCallOfALibraryMayFail) {
  FailEach("testdata/doubles/library.hlo", "--num_repeats=3", All() ? 1 : 23);
}

// An engine whose call fails is skipped, and a note says so.
TEST(Doubles, EveryCallOfAConvolutionMayFail) {
  FailEach("testdata/doubles/convolution.hlo", "--num_repeats=3", All() ? 1 : 23, /*most_end=*/false);
}
TEST(Doubles, EveryCallOfStatisticsMayFail) {
  FailEach("testdata/doubles/statistics.hlo", "--num_repeats=3", All() ? 1 : 23, /*most_end=*/false);
}
TEST(Doubles, EveryCallOfAnAttentionMayFail) {
  FailEach("testdata/doubles/attention.hlo", "--num_repeats=2", All() ? 3 : 41, /*most_end=*/false);
}
// After a failure of CUPTI, each step is timed by itself, and a note says so. The number of profiled runs depends on
// their time, so only calls of the first three runs fail.
TEST(Doubles, EveryCallOfAProfileMayFail) {
  FailEach("testdata/doubles/graph.hlo", "--profile --num_repeats=3", All() ? 1 : 29, /*most_end=*/false,
           {"cuptiActivityFlushAll", 3});
}
TEST(Doubles, EveryCallOfAProfiledLoopMayFail) {
  if (!All()) GTEST_SKIP() << "make cuda-doubles";
  FailEach("testdata/doubles/control.hlo", "--profile --num_repeats=3", 5, /*most_end=*/false,
           {"cuptiActivityFlushAll", 3});
}

// A sample of the calls of each of these workloads, from the first to the last.
TEST(Doubles, CallsOfReducedWorkloadsMayFail) {
  if (!All()) GTEST_SKIP() << "make cuda-doubles";
  std::vector<std::string> chosen = Workloads();
  const std::set<std::string> kChosen = {"attention_causal_bf16", "gemm_bias_gelu_bf16", "rnn_while_gru", "sort_f32_1m",
                                         "while_dynamic_newton"};
  std::erase_if(chosen, [&](const std::string& path) { return !kChosen.contains(fs::path(path).stem()); });
  if (chosen.empty()) GTEST_SKIP() << "no workloads below CORPUS=DIR";
  ASSERT_EQ(chosen.size(), kChosen.size());
  const ReducedWorkloads workloads(chosen);
  for (const std::string& file : workloads.files()) {
    constexpr int64_t kRuns = 24;
    const int64_t calls = std::ranges::count_if(RunHlo(OnDoubles("--num_repeats=3 " + file)).trace,
                                                [](const std::string& line) { return !line.starts_with(">"); });
    // In an attention, most calls make descriptors of cuDNN. If such a call fails, another engine is used, so the run
    // may go on.
    const bool has_other_ways = file.find("attention") != std::string::npos;
    FailEach(file, "--num_repeats=3", static_cast<size_t>(std::max<int64_t>(1, calls / kRuns)), !has_other_ways);
  }
}

// The host checks after the run how a loop in a kernel ended. Its step may be part of a graph.
TEST(Doubles, AnEndlessLoopIsDetected) {
  for (const char* const runs : {"1", "4"}) {
    const Outcome outcome =
        RunHlo(OnDoubles(Str("--reference_platform=none --max_loop_iterations=3 --num_repeats=", runs,
                             " testdata/models/small/poisson_jacobi.hlo")));
    EXPECT_EQ(outcome.exit, 5);
    EXPECT_TRUE(outcome.Says("exceeded 3 iterations (--max_loop_iterations)")) << outcome.out << outcome.err;
  }
}

TEST(Doubles, EveryAllocationMayFail) {
  const std::string command = OnDoubles("testdata/doubles/library.hlo");
  const int64_t allocations = RunHlo(command).Count("cuMemAlloc_v2");
  std::vector<std::string> fails;
  for (int64_t i = 1; i <= allocations; ++i) fails.push_back(Str("cuMemAlloc_v2:", i, ":CUDA_ERROR_OUT_OF_MEMORY"));
  for (const Outcome& outcome : FailWith(command, fails)) {
    std::string why;
    EXPECT_EQ(EndOf(outcome, &why), End::kNoMemory) << why << "\n" << outcome.out << outcome.err;
  }
  EXPECT_GT(allocations, 3);
}

// A later call reports a kernel's error. The message names --sync_check, which gives the error its place in the module.
TEST(Doubles, EveryKernelMayFail) {
  const std::string module = "testdata/doubles/graph.hlo";
  std::vector<std::string> fails;
  for (int i = 1; i <= 9; ++i) fails.push_back(Str("kernel:", i, ":CUDA_ERROR_ILLEGAL_ADDRESS"));
  for (const Outcome& outcome : FailWith(OnDoubles("--num_repeats=3 " + module), fails)) {
    std::string why;
    EXPECT_EQ(EndOf(outcome, &why), End::kError) << why << "\n" << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.Says("hint: --sync_check")) << outcome.err;
  }
  for (const Outcome& outcome : FailWith(OnDoubles("--sync_check --num_repeats=3 " + module), fails)) {
    std::string why;
    EXPECT_EQ(EndOf(outcome, &why), End::kError) << why << "\n" << outcome.out << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with(module + ":")) << outcome.err;
  }
}

TEST(Doubles, TheDeviceMayBeLost) {
  const std::string command = OnDoubles("--num_repeats=3 testdata/doubles/library.hlo");
  for (const Outcome& outcome : FailWith(
           command, {"cuLaunchKernel:2:CUDA_ERROR_DEVICE_UNAVAILABLE", "cuGraphLaunch:1:CUDA_ERROR_LAUNCH_FAILED",
                     "cuMemAlloc_v2:1:CUDA_ERROR_ECC_UNCORRECTABLE", "cuStreamSynchronize:4:CUDA_ERROR_LAUNCH_FAILED",
                     "cublasLtMatmul:2:CUBLAS_STATUS_EXECUTION_FAILED"})) {
    std::string why;
    EXPECT_EQ(EndOf(outcome, &why), End::kError) << why << "\n" << outcome.out << outcome.err;
  }
}

}  // namespace
}  // namespace hlo
