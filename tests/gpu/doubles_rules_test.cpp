// Tests of the misuses that the doubles of CUDA's libraries detect. Each runs in its own process, which ends with exit
// code 99 and a message. Constants and structs are compared with the libraries' own headers.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/device/cuda_driver.h"
#include "gpu/device/cupti.h"
#include "gpu/device/emulated.h"
#include "tests/doubles/double.h"
#if __has_include(<cuda.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda.h>
#define ERROR(library, name, number, lost, words) CHECK_##library(name, number)
#define CHECK_kCuda(name, number) static_assert(static_cast<int>(::name) == (number));
#define CHECK_kCublas(name, number) CHECK_kCuda(name, number)
#define CHECK_kCudnn(name, number)  // The headers of cuDNN are in another package.
#if __has_include(<cupti.h>)
#include <cupti.h>
#define CHECK_kCupti(name, number) CHECK_kCuda(name, number)
static_assert(CUPTI_ACTIVITY_KIND_MEMCPY == 1 && CUPTI_ACTIVITY_KIND_MEMSET == 2);
static_assert(CUPTI_ACTIVITY_KIND_DRIVER == 4 && CUPTI_ACTIVITY_KIND_RUNTIME == 5);
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == 10 && CUPTI_ACTIVITY_KIND_ENVIRONMENT == 20);
static_assert(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION == 39 && CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 == 3);
static_assert(CUPTI_ACTIVITY_ENVIRONMENT_SPEED == 1 && CUPTI_ACTIVITY_FLAG_FLUSH_FORCED == 1);
static_assert(CUPTI_CB_DOMAIN_RESOURCE == 3 && CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == 20);
#define SAME_PLACE(Theirs, theirs, Ours, ours) \
  static_assert(offsetof(Theirs, theirs) == offsetof(hlo::gpu::cupti::Ours, ours));
SAME_PLACE(CUpti_GraphData, node, GraphData, node)
SAME_PLACE(CUpti_GraphData, originalNode, GraphData, original_node)
SAME_PLACE(CUpti_ResourceData, resourceDescriptor, ResourceData, descriptor)
SAME_PLACE(CUpti_ActivityExternalCorrelation, externalKind, CorrelationRecord, external_kind)
SAME_PLACE(CUpti_ActivityExternalCorrelation, externalId, CorrelationRecord, external)
SAME_PLACE(CUpti_ActivityExternalCorrelation, correlationId, CorrelationRecord, correlation)
SAME_PLACE(CUpti_ActivityEnvironment, environmentKind, ClockRecord, what)
SAME_PLACE(CUpti_ActivityEnvironment, data.speed.smClock, ClockRecord, multiprocessors_mhz)
SAME_PLACE(CUpti_ActivityEnvironment, data.speed.memoryClock, ClockRecord, memory_mhz)
// The newest version of each record. The names of the records change from version to version.
#if CUPTI_API_VERSION >= 130000
SAME_PLACE(CUpti_ActivityKernel10, start, KernelRecord, start)
SAME_PLACE(CUpti_ActivityKernel10, end, KernelRecord, end)
SAME_PLACE(CUpti_ActivityKernel10, correlationId, KernelRecord, correlation)
SAME_PLACE(CUpti_ActivityKernel10, graphNodeId, KernelRecord, graph_node)
SAME_PLACE(CUpti_ActivityMemcpy6, start, MemcpyRecord, start)
SAME_PLACE(CUpti_ActivityMemcpy6, end, MemcpyRecord, end)
SAME_PLACE(CUpti_ActivityMemcpy6, correlationId, MemcpyRecord, correlation)
SAME_PLACE(CUpti_ActivityMemcpy6, graphNodeId, MemcpyRecord, graph_node)
SAME_PLACE(CUpti_ActivityMemset4, start, MemsetRecord, start)
SAME_PLACE(CUpti_ActivityMemset4, end, MemsetRecord, end)
SAME_PLACE(CUpti_ActivityMemset4, correlationId, MemsetRecord, correlation)
SAME_PLACE(CUpti_ActivityMemset4, graphNodeId, MemsetRecord, graph_node)
#endif
#undef SAME_PLACE
#else
#define CHECK_kCupti(name, number)
#endif
#include "tests/doubles/errors.def"
static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_STREAM_CAPTURE_MODE_RELAXED == 2);
static_assert(CU_JIT_ERROR_LOG_BUFFER == 5 && CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES == 6);
static_assert(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8);
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16 && CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE == 38);
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75 && CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76);
static_assert(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN == 97);
static_assert(CU_GRAPH_NODE_TYPE_CONDITIONAL == 13 && CU_GRAPH_COND_ASSIGN_DEFAULT == 1);
static_assert(CU_GRAPH_COND_TYPE_IF == 0 && CU_GRAPH_COND_TYPE_WHILE == 1 && CU_GRAPH_COND_TYPE_SWITCH == 2);
static_assert(CU_STREAM_CAPTURE_STATUS_ACTIVE == 1 && CU_STREAM_CAPTURE_STATUS_INVALIDATED == 2);
static_assert(sizeof(CUgraphEdgeData) == sizeof(hlo::gpu::CudaGraphEdge));
static_assert(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC == hlo::gpu::kProgrammaticPort);
static_assert(int{CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC} == int{hlo::gpu::kProgrammaticEdge});
static_assert(int{CU_STREAM_SET_CAPTURE_DEPENDENCIES} == int{hlo::gpu::kReplaceDependencies});
#define SAME_PLACE(theirs, ours) \
  static_assert(offsetof(CUgraphNodeParams, theirs) == offsetof(hlo::gpu::CudaNodeParams, ours));
static_assert(sizeof(CUgraphNodeParams) == sizeof(hlo::gpu::CudaNodeParams));
SAME_PLACE(type, type)
SAME_PLACE(conditional.handle, condition)
SAME_PLACE(conditional.type, form)
SAME_PLACE(conditional.size, size)
SAME_PLACE(conditional.phGraph_out, bodies)
SAME_PLACE(conditional.ctx, context)
SAME_PLACE(reserved2, reserved2)
#undef SAME_PLACE
static_assert(CUBLASLT_MATMUL_DESC_TRANSA == 3 && CUBLASLT_MATMUL_DESC_TRANSB == 4);
static_assert(CUBLASLT_MATMUL_DESC_EPILOGUE == 7 && CUBLASLT_MATMUL_DESC_BIAS_POINTER == 8);
static_assert(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT == 5 && CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET == 6);
static_assert(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES == 1);
static_assert(CUBLASLT_EPILOGUE_DEFAULT == 1 && CUBLASLT_EPILOGUE_RELU == 2 && CUBLASLT_EPILOGUE_BIAS == 4);
static_assert(CUDA_R_32F == 0 && CUDA_R_64F == 1 && CUDA_R_16F == 2 && CUDA_R_16BF == 14);
static_assert(CUBLAS_COMPUTE_32F == 68 && CUBLAS_COMPUTE_64F == 70 && CUBLAS_COMPUTE_32F_FAST_TF32 == 77);
static_assert(sizeof(cublasLtMatmulAlgo_t) == 64 && sizeof(cublasLtMatmulHeuristicResult_t) == 96);
#endif

namespace hlo::doubles {
namespace {

std::string Folder() {
  const char* const bin = std::getenv("HLO");
  return std::filesystem::absolute(std::string(bin != nullptr ? bin : "build/bin") + "/../doubles").string();
}

// A double that is loaded with dlopen.
class Opened {
 public:
  explicit Opened(const char* name) : library_(dlopen((Folder() + "/" + name).c_str(), RTLD_NOW)) {
    if (library_ == nullptr) std::fprintf(stderr, "%s\n", dlerror());
  }
  template <class... Args>
  int operator()(const char* function, Args... args) const {
    return reinterpret_cast<int (*)(Args...)>(dlsym(library_, function))(args...);
  }

 private:
  void* library_;
};

// The driver's double with a context and a stream.
struct Driver : Opened {
  Driver() : Opened("libcuda.so.1") {
    const Driver& cuda = *this;
    cuda("cuInit", 0u);
    cuda("cuDevicePrimaryCtxRetain", &context, 0);
    cuda("cuCtxSetCurrent", context);
    cuda("cuStreamCreate", &stream, 1u);
  }
  DevicePointer Allocate(size_t bytes) const {
    DevicePointer memory = 0;
    (*this)("cuMemAlloc_v2", &memory, bytes);
    return memory;
  }
  void End() const { (*this)("cuStreamDestroy_v2", stream); }

  void *context = nullptr, *stream = nullptr;
};

// Expects that `misuse` ends the process as a violation does. A misuse must release everything else that it creates.
#define EXPECT_VIOLATION(misuse, words) \
  EXPECT_EXIT(                          \
      {                                 \
        misuse;                         \
        std::exit(0);                   \
      },                                \
      ::testing::ExitedWithCode(kExitViolation), words)

class DoublesRules : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};
using DoublesRulesDeathTest = DoublesRules;

TEST_F(DoublesRulesDeathTest, ACorrectRunSucceeds) {
  const auto use = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(64);
    int in = 7, out = 0;
    cuda("cuMemcpyHtoDAsync_v2", memory, static_cast<const void*>(&in), sizeof in, cuda.stream);
    cuda("cuMemcpyDtoHAsync_v2", static_cast<void*>(&out), memory, sizeof out, cuda.stream);
    cuda("cuStreamSynchronize", cuda.stream);
    cuda("cuMemFree_v2", memory);
    cuda.End();
    std::exit(out);
  };
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(7), "");
}

TEST_F(DoublesRulesDeathTest, ContextsAreRequired) {
  const auto without = [] {
    const Driver cuda;
    cuda("cuCtxSetCurrent", static_cast<void*>(nullptr));
    cuda.Allocate(8);
  };
  EXPECT_VIOLATION(without(), "cuMemAlloc_v2: no context is current on this thread");
  const auto early = [] {
    const Opened cuda("libcuda.so.1");
    int count = 0;
    cuda("cuDeviceGetCount", &count);
  };
  EXPECT_VIOLATION(early(), "cuDeviceGetCount: cuInit was not called");
}

TEST_F(DoublesRulesDeathTest, MisusesOfMemoryAreDetected) {
  const auto leak = [] {
    const Driver cuda;
    cuda.Allocate(8), cuda.Allocate(8);
    cuda.End();
  };
  EXPECT_VIOLATION(leak(), "2 allocations were never given back");
  const auto twice = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    cuda("cuMemFree_v2", memory);
    cuda("cuMemFree_v2", memory);
    cuda.End();
  };
  EXPECT_VIOLATION(twice(), "cuMemFree_v2: 0x[0-9a-f]+ was freed already");
  const auto beyond = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    cuda("cuMemsetD8Async", memory + 4, static_cast<unsigned char>(1), size_t{5}, cuda.stream);
    cuda("cuMemFree_v2", memory);
    cuda.End();
  };
  EXPECT_VIOLATION(beyond(), "fill: 5 bytes at 4 of an allocation of 8");
  const auto after = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    cuda("cuMemFree_v2", memory);
    cuda("cuMemsetD8Async", memory, static_cast<unsigned char>(1), size_t{5}, cuda.stream);
    cuda.End();
  };
  EXPECT_VIOLATION(after(), "is not in the device's memory");
  const auto askew = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    cuda("cuMemsetD32Async", memory + 2, 1u, size_t{1}, cuda.stream);
    cuda("cuMemFree_v2", memory);
    cuda.End();
  };
  EXPECT_VIOLATION(askew(), "cuMemsetD32Async: 0x[0-9a-f]+ is not a multiple of 4");
  const auto overlap = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    cuda("cuMemcpyDtoDAsync_v2", memory, memory + 2, size_t{4}, cuda.stream);
    cuda("cuMemFree_v2", memory);
    cuda.End();
  };
  EXPECT_VIOLATION(overlap(), "the two ranges of 4 bytes overlap");
}

TEST_F(DoublesRulesDeathTest, MisusesOfStreamsAreDetected) {
  const auto leak = [] { const Driver cuda; };
  EXPECT_VIOLATION(leak(), "1 stream was never given back");
  const auto null = [] {
    const Driver cuda;
    cuda("cuStreamSynchronize", static_cast<void*>(nullptr));
    cuda.End();
  };
  EXPECT_VIOLATION(null(), "cuStreamSynchronize: on the null stream");
  const auto dead = [] {
    const Driver cuda;
    cuda.End();
    cuda("cuStreamSynchronize", cuda.stream);
  };
  EXPECT_VIOLATION(dead(), "stream 0x[0-9a-f]+ was destroyed already");
  const auto unready = [] {
    const Driver cuda;
    void *begin = nullptr, *end = nullptr;
    cuda("cuEventCreate", &begin, 0u), cuda("cuEventCreate", &end, 0u);
    cuda("cuEventRecord", begin, cuda.stream), cuda("cuEventRecord", end, cuda.stream);
    float ms = 0;
    cuda("cuEventElapsedTime", &ms, begin, end);
    cuda("cuEventDestroy_v2", begin), cuda("cuEventDestroy_v2", end);
    cuda.End();
  };
  EXPECT_VIOLATION(unready(), "cuEventElapsedTime: of an event that nobody waited for");
}

TEST_F(DoublesRulesDeathTest, MisusesOfGraphsAreDetected) {
  const auto waits = [] {
    const Driver cuda;
    void* graph = nullptr;
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    cuda("cuStreamSynchronize", cuda.stream);
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    cuda.End();
  };
  EXPECT_VIOLATION(waits(), "cuStreamSynchronize: of a stream that is captured");
  const auto empty = [] {
    const Driver cuda;
    void *graph = nullptr, *executable = nullptr;
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    cuda("cuGraphDestroy", graph), cuda("cuGraphExecDestroy", executable);
    cuda.End();
  };
  EXPECT_VIOLATION(empty(), "of a graph without nodes");
  const auto leak = [] {
    const Driver cuda;
    void* graph = nullptr;
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    cuda.End();
  };
  EXPECT_VIOLATION(leak(), "1 graph was never given back");
  const auto from_here = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    int in = 7;
    void *graph = nullptr, *executable = nullptr;
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    cuda("cuMemcpyHtoDAsync_v2", memory, static_cast<const void*>(&in), sizeof in, cuda.stream);
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    cuda("cuGraphDestroy", graph), cuda("cuGraphExecDestroy", executable), cuda("cuMemFree_v2", memory);
    cuda.End();
  };
  EXPECT_VIOLATION(from_here(), "a copy from the process's memory is in the graph");
}

TEST_F(DoublesRulesDeathTest, GraphsAreExecutedByTheirLaunches) {
  const auto use = [] {
    const Driver cuda;
    const DevicePointer memory = cuda.Allocate(8);
    void *graph = nullptr, *executable = nullptr;
    const auto read = [&] {
      unsigned char byte = 0;
      cuda("cuMemcpyDtoHAsync_v2", static_cast<void*>(&byte), memory, size_t{1}, cuda.stream);
      cuda("cuStreamSynchronize", cuda.stream);
      return byte;
    };
    const auto set = [&](int value) {
      cuda("cuMemsetD8Async", memory, static_cast<unsigned char>(value), size_t{1}, cuda.stream);
    };
    set(1);
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    set(5);
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    bool good = read() == 1;
    cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    cuda("cuGraphDestroy", graph);
    good = good && read() == 1;
    for (int launch = 0; launch < 2; ++launch) {
      set(2);
      cuda("cuGraphLaunch", executable, cuda.stream);
      good = good && read() == 5;
    }
    cuda("cuGraphExecDestroy", executable), cuda("cuMemFree_v2", memory);
    cuda.End();
    std::exit(good ? 7 : 1);
  };
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(7), "");
}

// Replaces the predecessors of the next captured operation by `nodes`, by default none.
void Fork(const Driver& cuda, const gpu::CudaGraphEdge* edges = nullptr, void** nodes = nullptr, size_t count = 0) {
  cuda("cuStreamUpdateCaptureDependencies_v2", cuda.stream, nodes, edges, count, 1u);
}

// Captures `first` and `second` as two branches of a graph without an edge between them, and launches the graph.
int RunSides(const std::function<void(const Driver&, DevicePointer)>& first,
             const std::function<void(const Driver&, DevicePointer)>& second) {
  const Driver cuda;
  const DevicePointer memory = cuda.Allocate(64);
  void *graph = nullptr, *executable = nullptr;
  cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
  first(cuda, memory);
  Fork(cuda);
  second(cuda, memory);
  cuda("cuStreamEndCapture", cuda.stream, &graph);
  cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  cuda("cuGraphLaunch", executable, cuda.stream);
  cuda("cuStreamSynchronize", cuda.stream);
  cuda("cuGraphExecDestroy", executable), cuda("cuGraphDestroy", graph), cuda("cuMemFree_v2", memory);
  cuda.End();
  return 7;
}

TEST_F(DoublesRulesDeathTest, NodesThatAccessTheSameMemoryAreOrdered) {
  const auto fill = [](size_t at, size_t bytes) {
    return [=](const Driver& cuda, DevicePointer memory) {
      cuda("cuMemsetD8Async", memory + at, static_cast<unsigned char>(1), bytes, cuda.stream);
    };
  };
  const auto copy = [](size_t from, size_t to) {
    return [=](const Driver& cuda, DevicePointer memory) {
      cuda("cuMemcpyDtoDAsync_v2", memory + to, memory + from, size_t{8}, cuda.stream);
    };
  };
  const auto both = [](const auto& one, const auto& other) {
    return [=](const Driver& cuda, DevicePointer memory) { one(cuda, memory), other(cuda, memory); };
  };
  EXPECT_VIOLATION(RunSides(fill(0, 9), fill(8, 8)), "nodes 0 and 1, touch the same memory, and no path leads");
  EXPECT_VIOLATION(RunSides(copy(0, 16), fill(0, 8)), "'copy 8 bytes' and 'fill 8 bytes', nodes 0 and 1");
  EXPECT_VIOLATION(RunSides(both(fill(0, 8), fill(32, 8)), fill(39, 1)), "nodes 1 and 2, touch the same memory");
  EXPECT_EXIT(std::exit(RunSides(fill(0, 8), fill(8, 8))), ::testing::ExitedWithCode(7), "");
  // Two nodes may read the same memory. Nodes with a path between them may write to it.
  EXPECT_EXIT(std::exit(RunSides(copy(0, 16), copy(0, 32))), ::testing::ExitedWithCode(7), "");
  EXPECT_EXIT(std::exit(RunSides(both(fill(0, 8), fill(0, 8)), fill(32, 8))), ::testing::ExitedWithCode(7), "");
}

// Kernels without effect. The doubles check only the text of their code.
struct IdleKernels {
  static constexpr const char* kWaits = ".entry idle(\n)\n{\n\tgriddepcontrol.wait;\n\tld.global.u32 %r1, [%rd1];\n}";
  static constexpr const char* kWaitsLate =
      ".entry idle(\n)\n{\n\tld.global.u32 %r1, [%rd1];\n\tgriddepcontrol.wait;\n}";

  static const gpu::EmulatedKernel* Find(const char*) {
    static constexpr gpu::EmulatedKernel kIdle = {.name = "idle", .blocks = 1, .threads = 32, .cluster = 1};
    return &kIdle;
  }
  static const char* Run(const gpu::EmulatedKernel*, void* const*, bool, void (*)(uint64_t, uint32_t)) {
    return nullptr;
  }
};

// Captures a kernel with the code `text` after a kernel that waits, or after a fill. Its edge permits an early begin.
int RunEarly(const char* text, bool behind_a_fill, gpu::CudaGraphEdge edge = {1, 0, 1, {}}) {
  const Driver cuda;
  static constexpr gpu::EmulatorTable kTable = {.find = IdleKernels::Find, .run = IdleKernels::Run};
  cuda(gpu::kAttachSymbol, &kTable);
  const DevicePointer memory = cuda.Allocate(8);
  void *modules[2] = {}, *functions[2] = {}, *graph = nullptr, *executable = nullptr;
  for (int i = 0; i < 2; ++i) {
    cuda("cuModuleLoadDataEx", &modules[i], static_cast<const void*>(i == 0 ? IdleKernels::kWaits : text), 0u,
         static_cast<int*>(nullptr), static_cast<void**>(nullptr));
    cuda("cuModuleGetFunction", &functions[i], modules[i], "idle");
  }
  const auto launch = [&](int i) {
    cuda("cuLaunchKernel", functions[i], 1u, 1u, 1u, 32u, 1u, 1u, 0u, cuda.stream, static_cast<void**>(nullptr),
         static_cast<void**>(nullptr));
  };
  cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
  if (behind_a_fill) cuda("cuMemsetD8Async", memory, static_cast<unsigned char>(1), size_t{8}, cuda.stream);
  else launch(0);
  int status = 0;
  void** after = nullptr;
  const void* edges = nullptr;
  size_t count = 0;
  cuda("cuStreamGetCaptureInfo_v3", cuda.stream, &status, static_cast<unsigned long long*>(nullptr), &graph, &after,
       &edges, &count);
  void* const last = after[0];
  Fork(cuda, &edge, const_cast<void**>(&last), 1);
  launch(1);
  cuda("cuStreamEndCapture", cuda.stream, &graph);
  cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
  cuda("cuGraphExecDestroy", executable), cuda("cuGraphDestroy", graph), cuda("cuMemFree_v2", memory);
  for (void* const module : modules) cuda("cuModuleUnload", module);
  cuda.End();
  return 7;
}

TEST_F(DoublesRulesDeathTest, KernelsThatBeginEarlyWait) {
  EXPECT_EXIT(std::exit(RunEarly(IdleKernels::kWaits, false)), ::testing::ExitedWithCode(7), "");
  EXPECT_VIOLATION(RunEarly(IdleKernels::kWaitsLate, false), "'kernel idle' may begin before 'kernel idle' has ended");
  EXPECT_VIOLATION(RunEarly(IdleKernels::kWaits, true), "'fill 8 bytes' is no kernel, and lets nothing go early");
  EXPECT_VIOLATION(RunEarly(IdleKernels::kWaits, false, {1, 0, 0, {}}), "an edge of type 0 from port 1 to port 0");
  const auto outside = [] {
    const Driver cuda;
    Fork(cuda);
    cuda.End();
  };
  EXPECT_VIOLATION(outside(), "cuStreamUpdateCaptureDependencies_v2: of a stream that is not captured");
}

// A graph with a fill with 1 and then a conditional node of `form`, whose body fills with 5. If `is_reset`, each launch
// sets the condition to `initially`. Otherwise nothing sets it.
struct Deciding {
  explicit Deciding(const Driver& cuda, int form, unsigned initially = 1, bool is_reset = true, bool has_edge = true)
      : cuda(cuda), memory(cuda.Allocate(8)) {
    cuda("cuStreamBeginCapture_v2", cuda.stream, 2);
    Fill(1);
    int status = 0;
    const void* edges = nullptr;
    cuda("cuStreamGetCaptureInfo_v3", cuda.stream, &status, static_cast<unsigned long long*>(nullptr), &graph, &after,
         &edges, &count);
    params.form = form;
    params.size = 1;
    params.context = cuda.context;
    cuda("cuGraphConditionalHandleCreate", &params.condition, graph, cuda.context, initially, is_reset ? 1u : 0u);
    void* const last = count > 0 ? after[0] : nullptr;
    cuda("cuStreamEndCapture", cuda.stream, &graph);
    cuda("cuGraphAddNode_v2", &node, graph, static_cast<const void*>(&last), static_cast<const void*>(nullptr),
         size_t{has_edge}, &params);
  }
  void Fill(int value) const {
    cuda("cuMemsetD8Async", memory, static_cast<unsigned char>(value), size_t{1}, cuda.stream);
  }
  void Body(const std::function<void()>& queue) const {
    if (params.bodies == nullptr) return;
    cuda("cuStreamBeginCaptureToGraph", cuda.stream, params.bodies[0], static_cast<const void*>(nullptr),
         static_cast<const void*>(nullptr), size_t{0}, 2);
    queue();
    void* ended = nullptr;
    cuda("cuStreamEndCapture", cuda.stream, &ended);
  }
  // The byte in memory after the graph ran.
  int Run() {
    cuda("cuGraphInstantiateWithFlags", &executable, graph, 0ull);
    cuda("cuGraphLaunch", executable, cuda.stream);
    unsigned char byte = 0;
    cuda("cuMemcpyDtoHAsync_v2", static_cast<void*>(&byte), memory, size_t{1}, cuda.stream);
    cuda("cuGraphExecDestroy", executable), cuda("cuGraphDestroy", graph), cuda("cuMemFree_v2", memory);
    cuda.End();
    return byte;
  }

  const Driver& cuda;
  DevicePointer memory;
  gpu::CudaNodeParams params;
  void *graph = nullptr, *node = nullptr, *executable = nullptr;
  void** after = nullptr;
  size_t count = 0;
};

int RunDeciding(int form, unsigned initially, bool is_reset = true, bool has_edge = true) {
  const Driver cuda;
  Deciding deciding(cuda, form, initially, is_reset, has_edge);
  deciding.Body([&] { deciding.Fill(5); });
  return deciding.Run();
}

TEST_F(DoublesRulesDeathTest, MisusesOfConditionalNodesAreDetected) {
  constexpr int kIf = 0, kWhile = 1, kSwitch = 2;
  EXPECT_EXIT(std::exit(RunDeciding(kIf, 3)), ::testing::ExitedWithCode(5), "");
  EXPECT_EXIT(std::exit(RunDeciding(kIf, 0)), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(std::exit(RunDeciding(kWhile, 0)), ::testing::ExitedWithCode(1), "");
  EXPECT_EXIT(std::exit(RunDeciding(kSwitch, 0)), ::testing::ExitedWithCode(5), "");
  EXPECT_EXIT(std::exit(RunDeciding(kSwitch, 1)), ::testing::ExitedWithCode(1), "");
  // The memory that a body accesses counts as accessed by the node.
  EXPECT_VIOLATION(RunDeciding(kIf, 1, true, false), "'fill 1 bytes' and 'if', nodes 0 and 1, touch the same memory");
  EXPECT_VIOLATION(RunDeciding(kIf, 1, false), "a node 'if' decides by a condition that nothing has set");
  EXPECT_VIOLATION(RunDeciding(3, 1), "cuGraphAddNode_v2: form 3 of 1 bodies");
}

TEST_F(DoublesRulesDeathTest, MisusesOfBodiesAreDetected) {
  const auto empty = [] {
    const Driver cuda;
    Deciding(cuda, 1, 0).Run();
  };
  EXPECT_VIOLATION(empty(), "the body of a node 'while' is empty");
  const auto event = [] {
    const Driver cuda;
    void* event = nullptr;
    cuda("cuEventCreate", &event, 0u);
    Deciding deciding(cuda, 0);
    deciding.Body([&] { cuda("cuEventRecord", event, cuda.stream); });
    deciding.Run();
    cuda("cuEventDestroy_v2", event);
  };
  EXPECT_VIOLATION(event(), "'event' is in a body");
  const auto destroyed = [] {
    const Driver cuda;
    Deciding deciding(cuda, 0);
    deciding.Body([&] { deciding.Fill(5); });
    cuda("cuGraphDestroy", deciding.params.bodies[0]);
    deciding.Run();
  };
  EXPECT_VIOLATION(destroyed(), "cuGraphDestroy: of a body");
  const auto twice = [] {
    const Driver cuda;
    Deciding deciding(cuda, 0);
    deciding.Body([&] { deciding.Fill(5); });
    void *first = nullptr, *second = nullptr;
    cuda("cuGraphInstantiateWithFlags", &first, deciding.graph, 0ull);
    cuda("cuGraphInstantiateWithFlags", &second, deciding.graph, 0ull);
    cuda("cuGraphExecDestroy", first);
    deciding.Run();
  };
  EXPECT_VIOLATION(twice(), "a graph that decides may be there once");
  // A wait in a body invalidates the whole graph, which no longer exists afterwards.
  const auto spoilt = [] {
    const Driver cuda;
    Deciding deciding(cuda, 0);
    deciding.Body([&] { cuda("cuStreamSynchronize", cuda.stream); });
    cuda("cuGraphDestroy", deciding.graph);
    cuda("cuMemFree_v2", deciding.memory);
    cuda.End();
  };
  EXPECT_VIOLATION(spoilt(), "graph 0x[0-9a-f]+ was destroyed already");
  const auto loose = [] {
    const Driver cuda;
    Deciding deciding(cuda, 0);
    deciding.Body([&] { deciding.Fill(5); });
    unsigned long long handle = 0;
    cuda("cuGraphConditionalHandleCreate", &handle, deciding.graph, cuda.context, 0u, 1u);
    deciding.Run();
  };
  EXPECT_VIOLATION(loose(), "a condition has no node");
}

TEST_F(DoublesRulesDeathTest, MisusesOfLaunchesAreDetected) {
  const auto unknown = [] {
    const Driver cuda;
    void* module = nullptr;
    const int status = cuda("cuModuleLoadDataEx", &module, static_cast<const void*>("text"), 0u,
                            static_cast<int*>(nullptr), static_cast<void**>(nullptr));
    cuda.End();
    std::exit(status == CUDA_ERROR_INVALID_PTX ? 7 : 1);
  };
  EXPECT_EXIT(unknown(), ::testing::ExitedWithCode(7), "");
  const auto none = [] {
    const Driver cuda;
    void* nothing = nullptr;
    cuda("cuLaunchKernel", static_cast<void*>(&nothing), 1u, 1u, 1u, 32u, 1u, 1u, 0u, cuda.stream, &nothing,
         static_cast<void**>(nullptr));
    cuda.End();
  };
  EXPECT_VIOLATION(none(), "cuLaunchKernel: function 0x[0-9a-f]+ is none");
}

TEST_F(DoublesRulesDeathTest, RequestedCallsFail) {
  const auto lost = [] {
    setenv("HLO_DOUBLE_FAIL", "cuMemAlloc_v2:2:CUDA_ERROR_LAUNCH_FAILED", 1);
    const Driver cuda;
    DevicePointer first = 0, second = 0;
    const int before = cuda("cuMemAlloc_v2", &first, size_t{8}), at = cuda("cuMemAlloc_v2", &second, size_t{8}),
              after = cuda("cuMemFree_v2", first);  // The memory is freed although the call fails.
    cuda.End();
    std::exit(before == 0 && at == CUDA_ERROR_LAUNCH_FAILED && after == CUDA_ERROR_LAUNCH_FAILED ? 7 : 1);
  };
  EXPECT_EXIT(lost(), ::testing::ExitedWithCode(7), "");
  const auto misspelt = [] {
    setenv("HLO_DOUBLE_FAIL", "cuMemAlloc:1", 1);
    const Driver cuda;
    cuda.End();
  };
  EXPECT_VIOLATION(misspelt(), "HLO_DOUBLE_FAIL: 'cuMemAlloc:1:'");
}

}  // namespace
}  // namespace hlo::doubles
