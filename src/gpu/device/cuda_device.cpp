// A CUDA device through the driver's API, which is opened when it is first asked for and declared here, so that the
// build needs no toolkit. Kernels are loaded as PTX; the driver makes the machine code.
//
// One stream. The primary context is used, as libraries do. An error of queued work can come out of any later call;
// every message has the name of the call that reported it and the driver's words.
#include <algorithm>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/log.h"
#include "base/parallel.h"
#include "base/text.h"
#include "gpu/device/device.h"
#include "gpu/device/emulated.h"
#include "gpu/device/shared_library.h"
#include "gpu/kernel/nvptx.h"

namespace hlo::gpu {
namespace {

using Status32 = int;  // CUresult.
using DevicePointer = unsigned long long;
using CudaHandle = void*;

enum { kCudaOutOfMemory = 2, kCudaNoDevice = 100 };
enum {
  kMultiprocessors = 16,
  kCacheBytes = 38,
  kComputeMajor = 75,
  kComputeMinor = 76,
  kSharedBytes = 97
};  // CUdevice_attribute.
enum { kJitErrorLog = 5, kJitErrorLogBytes = 6 };  // CUjit_option.
enum { kMaxDynamicShared = 8 };                    // CUfunction_attribute.
enum { kStreamNonBlocking = 1 };
enum { kCaptureRelaxed = 2 };  // CUstreamCaptureMode: libraries may do what they like meanwhile.

constexpr int kOldestDriver = 12030;  // The first that reads PTX 8.3.
constexpr int64_t kSharedWithoutAsking = 48 << 10;

struct Driver {
  SharedLibrary library;
  bool is_double = false;  // emulated.h
  Status32 (*init)(unsigned);
  Status32 (*driver_version)(int*);
  Status32 (*error_name)(Status32, const char**);
  Status32 (*error_string)(Status32, const char**);
  Status32 (*device_count)(int*);
  Status32 (*device_get)(int*, int);
  Status32 (*device_name)(char*, int, int);
  Status32 (*device_attribute)(int*, int, int);
  Status32 (*device_total_memory)(size_t*, int);
  Status32 (*primary_context)(CudaHandle*, int);
  Status32 (*set_context)(CudaHandle);
  Status32 (*stream_create)(CudaHandle*, unsigned);
  Status32 (*stream_destroy)(CudaHandle);
  Status32 (*stream_synchronize)(CudaHandle);
  Status32 (*allocate)(DevicePointer*, size_t);
  Status32 (*free)(DevicePointer);
  Status32 (*memory_info)(size_t*, size_t*);
  Status32 (*copy_in)(DevicePointer, const void*, size_t, CudaHandle);
  Status32 (*copy_out)(void*, DevicePointer, size_t, CudaHandle);
  Status32 (*copy)(DevicePointer, DevicePointer, size_t, CudaHandle);
  Status32 (*fill8)(DevicePointer, unsigned char, size_t, CudaHandle);
  Status32 (*fill16)(DevicePointer, unsigned short, size_t, CudaHandle);
  Status32 (*fill32)(DevicePointer, unsigned, size_t, CudaHandle);
  Status32 (*fill32_rows)(DevicePointer, size_t pitch, unsigned, size_t width, size_t height, CudaHandle);
  Status32 (*load_module)(CudaHandle*, const void*, unsigned, int*, void**);
  Status32 (*unload_module)(CudaHandle);
  Status32 (*get_function)(CudaHandle*, CudaHandle, const char*);
  Status32 (*function_attribute)(CudaHandle, int, int);
  Status32 (*launch)(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle,
                     void**, void**);
  Status32 (*begin_capture)(CudaHandle, int);
  Status32 (*end_capture)(CudaHandle, CudaHandle*);
  Status32 (*instantiate_graph)(CudaHandle*, CudaHandle, unsigned long long);
  Status32 (*upload_graph)(CudaHandle, CudaHandle);
  Status32 (*launch_graph)(CudaHandle, CudaHandle);
  Status32 (*destroy_graph)(CudaHandle);
  Status32 (*destroy_graph_exec)(CudaHandle);
  Status32 (*create_event)(CudaHandle*, unsigned);
  Status32 (*destroy_event)(CudaHandle);
  Status32 (*record_event)(CudaHandle, CudaHandle);
  Status32 (*synchronize_event)(CudaHandle);
  Status32 (*elapsed_ms)(float*, CudaHandle, CudaHandle);

  std::shared_ptr<std::atomic<bool>> told = std::make_shared<std::atomic<bool>>(false);  // Of an error.

  Error Failed(std::string_view call, Status32 status, std::string_view while_doing = "") const {
    *told = true;
    const char *name = nullptr, *words = nullptr;
    error_name(status, &name);
    error_string(status, &words);
    std::string message = Str(call, ": ", name ? name : "unknown error", " (", status, ")");
    if (words != nullptr) message += Str(", ", words);
    if (!while_doing.empty()) message += Str(" while ", while_doing);
    return DeviceError("R014", std::move(message));
  }

  // Of what gives something back, where nobody waits for an answer. What comes after an error comes of it.
  void Ended(std::string_view call, Status32 status) const {
    if (status != 0 && !*told) VLOG(0, Failed(call, status).message());
  }
};

// TRY for calls of the driver: the name of the call stays in the message.
#define CUDA_TRY(name, ...)                                                                  \
  do {                                                                                       \
    if (const Status32 cuda_status = (__VA_ARGS__)) FAIL(driver_.Failed(name, cuda_status)); \
  } while (false)

Result<Driver> LoadDriver(const std::vector<std::string>& search) {
  Driver driver;
  constexpr std::string_view kNames[] = {"libcuda.so.1"};
  constexpr std::string_view kMore[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/wsl/lib",
                                        "/usr/local/nvidia/lib64"};
  auto library = SharedLibrary::Open(kNames, search, kMore);
  if (!library) {
    FAIL(DeviceError("R010", Str("no CUDA driver here: ", library.error().message()))
             .Hint("--platform=cpu runs the same kernels without a GPU"));
  }
  driver.library = *library;
  SharedLibrary& l = driver.library;
  l.Load("cuInit", &driver.init);
  l.Load("cuDriverGetVersion", &driver.driver_version);
  l.Load("cuGetErrorName", &driver.error_name);
  l.Load("cuGetErrorString", &driver.error_string);
  l.Load("cuDeviceGetCount", &driver.device_count);
  l.Load("cuDeviceGet", &driver.device_get);
  l.Load("cuDeviceGetName", &driver.device_name);
  l.Load("cuDeviceGetAttribute", &driver.device_attribute);
  l.Load("cuDeviceTotalMem_v2", &driver.device_total_memory);
  l.Load("cuDevicePrimaryCtxRetain", &driver.primary_context);
  l.Load("cuCtxSetCurrent", &driver.set_context);
  l.Load("cuStreamCreate", &driver.stream_create);
  l.Load("cuStreamDestroy_v2", &driver.stream_destroy);
  l.Load("cuStreamSynchronize", &driver.stream_synchronize);
  l.Load("cuMemAlloc_v2", &driver.allocate);
  l.Load("cuMemFree_v2", &driver.free);
  l.Load("cuMemGetInfo_v2", &driver.memory_info);
  l.Load("cuMemcpyHtoDAsync_v2", &driver.copy_in);
  l.Load("cuMemcpyDtoHAsync_v2", &driver.copy_out);
  l.Load("cuMemcpyDtoDAsync_v2", &driver.copy);
  l.Load("cuMemsetD8Async", &driver.fill8);
  l.Load("cuMemsetD16Async", &driver.fill16);
  l.Load("cuMemsetD32Async", &driver.fill32);
  l.Load("cuMemsetD2D32Async", &driver.fill32_rows);
  l.Load("cuModuleLoadDataEx", &driver.load_module);
  l.Load("cuModuleUnload", &driver.unload_module);
  l.Load("cuModuleGetFunction", &driver.get_function);
  l.Load("cuFuncSetAttribute", &driver.function_attribute);
  l.Load("cuLaunchKernel", &driver.launch);
  l.Load("cuStreamBeginCapture_v2", &driver.begin_capture);
  l.Load("cuStreamEndCapture", &driver.end_capture);
  l.Load("cuGraphInstantiateWithFlags", &driver.instantiate_graph);
  l.Load("cuGraphUpload", &driver.upload_graph);
  l.Load("cuGraphLaunch", &driver.launch_graph);
  l.Load("cuGraphDestroy", &driver.destroy_graph);
  l.Load("cuGraphExecDestroy", &driver.destroy_graph_exec);
  l.Load("cuEventCreate", &driver.create_event);
  l.Load("cuEventDestroy_v2", &driver.destroy_event);
  l.Load("cuEventRecord", &driver.record_event);
  l.Load("cuEventSynchronize", &driver.synchronize_event);
  l.Load("cuEventElapsedTime", &driver.elapsed_ms);
  TRY(l.Complete());
  driver.is_double = AttachEmulator(l);
  return driver;
}

struct CudaCode : KernelCode {
  kernel::Ptx ptx;
  std::string name;
  int64_t blocks = 1, threads = 32;
  std::vector<size_t> first_arguments;  // Of each parameter: where its pointers begin among those of a launch.
};

struct CudaKernel : LoadedKernel {
  CudaKernel(const Driver& driver, CudaHandle context) : driver(driver), context(context) {}
  ~CudaKernel() override {
    if (module == nullptr) return;
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    driver.Ended("cuModuleUnload", driver.unload_module(module));
  }

  const Driver& driver;
  CudaHandle context;
  CudaHandle module = nullptr, function = nullptr;
  unsigned blocks = 1, threads = 32, dynamic_shared = 0;
  std::vector<size_t> first_arguments;
  std::string name;
};

// An instantiated graph.
struct CudaRecording : Recording {
  CudaRecording(const Driver& driver, CudaHandle context) : driver(driver), context(context) {}
  ~CudaRecording() override {
    driver.Ended("cuCtxSetCurrent", driver.set_context(context));
    if (executable != nullptr) driver.Ended("cuGraphExecDestroy", driver.destroy_graph_exec(executable));
  }

  const Driver& driver;
  CudaHandle context;
  CudaHandle executable = nullptr;
};

DevicePointer Address(const void* pointer) { return reinterpret_cast<DevicePointer>(pointer); }

class CudaDevice : public Device {
 public:
  CudaDevice(const Driver& driver, int ordinal) : driver_(driver), ordinal_(ordinal) {}

  // The context stays for the process: the next to open this device would wait a quarter of a second for a new one.
  ~CudaDevice() override {
    if (context_ != nullptr) driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    EndLibraryStates();
    for (const CudaHandle event : {started_, stopped_}) {
      if (event != nullptr) driver_.Ended("cuEventDestroy", driver_.destroy_event(event));
    }
    if (stream_ != nullptr) driver_.Ended("cuStreamDestroy", driver_.stream_destroy(stream_));
  }

  Status Open() {
    CUDA_TRY("cuDriverGetVersion", driver_.driver_version(&version_));
    if (version_ < kOldestDriver) {
      FAIL(DeviceError("R012", Str("the CUDA driver is too old: it is for CUDA ", VersionText(), ", kernels need ",
                                   kOldestDriver / 1000, ".3")));
    }
    const Status32 status = driver_.init(0);
    if (status == kCudaNoDevice) FAIL(NoDevice(0));
    if (status != 0) FAIL(driver_.Failed("cuInit", status));
    int count = 0;
    CUDA_TRY("cuDeviceGetCount", driver_.device_count(&count));
    if (ordinal_ >= count) FAIL(NoDevice(count));
    CUDA_TRY("cuDeviceGet", driver_.device_get(&device_, ordinal_));
    char name[256] = {};
    CUDA_TRY("cuDeviceGetName", driver_.device_name(name, sizeof name, device_));
    device_name_ = name;
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&multiprocessors_, kMultiprocessors, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&cache_, kCacheBytes, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&shared_memory_, kSharedBytes, device_));
    int major = 0, minor = 0;
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&major, kComputeMajor, device_));
    CUDA_TRY("cuDeviceGetAttribute", driver_.device_attribute(&minor, kComputeMinor, device_));
    compute_ = 10 * major + minor;
    if (compute_ < 80)
      FAIL(DeviceError("R012", Str(name_text(), " '", device_name_, "' is sm_", compute_, "; kernels need sm_80")));
    CUDA_TRY("cuDeviceTotalMem", driver_.device_total_memory(&total_memory_, device_));
    CUDA_TRY("cuDevicePrimaryCtxRetain", driver_.primary_context(&context_, device_));
    CUDA_TRY("cuCtxSetCurrent", driver_.set_context(context_));
    CUDA_TRY("cuStreamCreate", driver_.stream_create(&stream_, kStreamNonBlocking));
    return {};
  }

  std::string name() const override { return name_text(); }

  std::string description() const override {
    return Str(device_name_, ", sm_", compute_, ", ", multiprocessors_, " SMs, ",
               HumanBytes(static_cast<double>(total_memory_)), ", driver for CUDA ", VersionText());
  }

  std::string target() const override { return Arch(); }

  DeviceDescription Describe() const override {
    DeviceDescription device = NearestDevice(device_name_, compute_);
    device.compute_capability = compute_;
    device.multiprocessors = multiprocessors_;
    device.shared_memory_bytes = shared_memory_;
    device.memory_bytes = static_cast<int64_t>(total_memory_);
    device.cache_bytes = cache_;
    return device;
  }

  bool IsHost() const override { return false; }
  void* stream() const override { return stream_; }

  Status MakeCurrent() override {
    CUDA_TRY("cuCtxSetCurrent", driver_.set_context(context_));
    return {};
  }

  Result<void*> Allocate(int64_t bytes) override {
    TRY(MakeCurrent());
    DevicePointer memory = 0;
    const Status32 status = driver_.allocate(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1)));
    if (status == kCudaOutOfMemory) {
      size_t free = 0, total = 0;
      driver_.memory_info(&free, &total);
      FAIL(LimitError("R020", Str("no memory for ", HumanBytes(static_cast<double>(bytes)), " on ", name_text(), ": ",
                                  HumanBytes(static_cast<double>(free)), " of ", HumanBytes(static_cast<double>(total)),
                                  " are free")));
    }
    if (status != 0)
      FAIL(driver_.Failed("cuMemAlloc", status, Str("allocating ", HumanBytes(static_cast<double>(bytes)))));
    return reinterpret_cast<void*>(memory);
  }

  void Free(void* memory) override {
    driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    driver_.Ended("cuMemFree", driver_.free(Address(memory)));
  }

  Status CopyIn(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyHtoDAsync", driver_.copy_in(Address(to), from, bytes, stream_));
    return Synchronize();
  }

  Status CopyOut(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyDtoHAsync", driver_.copy_out(to, Address(from), bytes, stream_));
    return Synchronize();
  }

  Status Copy(void* to, const void* from, int64_t bytes) override {
    if (bytes == 0) return {};
    TRY(MakeCurrent());
    CUDA_TRY("cuMemcpyDtoDAsync", driver_.copy(Address(to), Address(from), bytes, stream_));
    return {};
  }

  Status Fill(void* to, uint64_t pattern, int width, int64_t count) override {
    if (count == 0) return {};
    TRY(MakeCurrent());
    const auto low = static_cast<uint32_t>(pattern), high = static_cast<uint32_t>(pattern >> 32);
    if (width == 1) CUDA_TRY("cuMemsetD8Async", driver_.fill8(Address(to), low, count, stream_));
    if (width == 2) CUDA_TRY("cuMemsetD16Async", driver_.fill16(Address(to), low, count, stream_));
    if (width == 4) CUDA_TRY("cuMemsetD32Async", driver_.fill32(Address(to), low, count, stream_));
    if (width != 8) return {};
    if (low == high) {
      CUDA_TRY("cuMemsetD32Async", driver_.fill32(Address(to), low, 2 * count, stream_));
      return {};
    }
    // Every other word, then the others.
    CUDA_TRY("cuMemsetD2D32Async", driver_.fill32_rows(Address(to), 8, low, 1, count, stream_));
    CUDA_TRY("cuMemsetD2D32Async", driver_.fill32_rows(Address(to) + 4, 8, high, 1, count, stream_));
    return {};
  }

  Result<std::vector<std::shared_ptr<const KernelCode>>> Compile(std::span<const kernel::Kernel* const> kernels,
                                                                 std::span<const double>, kernel::CodeCache*) override {
    std::map<kernel::KernelHash, std::shared_ptr<const KernelCode>> code_of;  // One is loaded for all that are equal.
    std::vector<std::shared_ptr<const KernelCode>> code;
    std::vector<kernel::Ptx> ptx = TRY(kernel::EmitPtx(kernels, {.arch = Arch()}));
    for (size_t i = 0; i < kernels.size(); ++i) {
      auto& one = code_of[kernel::Hash(*kernels[i])];
      if (one == nullptr) {
        if (driver_.is_double) KeepForEmulator(ptx[i], *kernels[i]);
        one = CodeOf(*kernels[i], std::move(ptx[i]));
      }
      code.push_back(one);
    }
    return code;
  }

  Result<std::vector<std::shared_ptr<const LoadedKernel>>> Load(
      std::span<const std::shared_ptr<const KernelCode>> code) override {
    std::map<const KernelCode*, size_t> first;
    std::vector<size_t> same_as(code.size()), todo;
    for (size_t i = 0; i < code.size(); ++i) {
      const auto [at, is_new] = first.emplace(code[i].get(), i);
      same_as[i] = at->second;
      if (is_new) todo.push_back(i);
    }
    std::vector<std::shared_ptr<const LoadedKernel>> loaded(code.size());
    TRY(OnAllThreads(todo, [&](size_t i) -> Status {
      loaded[i] = TRY(LoadOne(static_cast<const CudaCode&>(*code[i])));
      return {};
    }));
    for (size_t i = 0; i < code.size(); ++i) loaded[i] = loaded[same_as[i]];
    return loaded;
  }

  Status Launch(const LoadedKernel& loaded, std::span<void* const> arguments) override {
    const auto& kernel = static_cast<const CudaKernel&>(loaded);
    TRY(MakeCurrent());
    // The driver wants the address of each parameter; that of a group of arrays is all their pointers in a row.
    parameters_.clear();
    for (const size_t first : kernel.first_arguments) parameters_.push_back(const_cast<void**>(&arguments[first]));
    const Status32 status = driver_.launch(kernel.function, kernel.blocks, 1, 1, kernel.threads, 1, 1,
                                           kernel.dynamic_shared, stream_, parameters_.data(), nullptr);
    if (status != 0) {
      FAIL(driver_.Failed("cuLaunchKernel", status,
                          Str("launching '", kernel.name, "' with ", kernel.blocks, " blocks of ", kernel.threads)));
    }
    return {};
  }

  bool Records() const override { return true; }

  Status BeginRecording() override {
    TRY(MakeCurrent());
    CUDA_TRY("cuStreamBeginCapture", driver_.begin_capture(stream_, kCaptureRelaxed));
    return {};
  }

  void DropRecording() override {
    driver_.Ended("cuCtxSetCurrent", driver_.set_context(context_));
    CudaHandle graph = nullptr;
    driver_.Ended("cuStreamEndCapture", driver_.end_capture(stream_, &graph));
    if (graph != nullptr) driver_.Ended("cuGraphDestroy", driver_.destroy_graph(graph));
  }

  // A stream that stays captured takes nothing else: the capture ends in any case.
  Result<std::shared_ptr<const Recording>> EndRecording() override {
    if (Status current = MakeCurrent(); !current) {
      DropRecording();
      return std::unexpected(std::move(current).error());
    }
    CudaHandle graph = nullptr;
    CUDA_TRY("cuStreamEndCapture", driver_.end_capture(stream_, &graph));
    auto recording = std::make_shared<CudaRecording>(driver_, context_);
    const Status32 status = driver_.instantiate_graph(&recording->executable, graph, 0);
    driver_.Ended("cuGraphDestroy", driver_.destroy_graph(graph));
    CUDA_TRY("cuGraphInstantiateWithFlags", status);
    CUDA_TRY("cuGraphUpload", driver_.upload_graph(recording->executable, stream_));
    return recording;
  }

  Status Replay(const Recording& recording) override {
    TRY(MakeCurrent());
    CUDA_TRY("cuGraphLaunch", driver_.launch_graph(static_cast<const CudaRecording&>(recording).executable, stream_));
    return {};
  }

  Status StartClock() override {
    TRY(MakeCurrent());
    for (CudaHandle* event : {&started_, &stopped_}) {
      if (*event == nullptr) CUDA_TRY("cuEventCreate", driver_.create_event(event, 0));
    }
    CUDA_TRY("cuEventRecord", driver_.record_event(started_, stream_));
    return {};
  }

  Result<std::optional<double>> StopClock() override {
    TRY(MakeCurrent());
    CUDA_TRY("cuEventRecord", driver_.record_event(stopped_, stream_));
    CUDA_TRY("cuEventSynchronize", driver_.synchronize_event(stopped_));
    float ms = 0;
    CUDA_TRY("cuEventElapsedTime", driver_.elapsed_ms(&ms, started_, stopped_));
    return ms;
  }

  Status Synchronize() override {
    TRY(MakeCurrent());
    CUDA_TRY("cuStreamSynchronize", driver_.stream_synchronize(stream_));
    return {};
  }

 private:
  std::string name_text() const { return Str("cuda:", ordinal_); }
  std::string VersionText() const { return Str(version_ / 1000, ".", version_ % 1000 / 10); }

  Error NoDevice(int count) const {
    return DeviceError("R011",
                       Str("no ", name_text(), ": the CUDA driver finds ", count, count == 1 ? " device" : " devices"))
        .Hint("--platform=cpu runs the same kernels without a GPU");
  }

  // Newer devices run sm_90 code; of older ones each runs that of its own kind.
  std::string Arch() const { return Str("sm_", std::min(compute_, 90)); }

  // The error of the first of `items` that has one.
  static Status OnAllThreads(const std::vector<size_t>& items, const std::function<Status(size_t)>& work) {
    std::vector<Status> done(items.size());
    ParallelFor(std::ssize(items), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) done[i] = work(items[i]);
    });
    for (Status& one : done) TRY(std::move(one));
    return {};
  }

  static std::shared_ptr<const KernelCode> CodeOf(const kernel::Kernel& kernel, kernel::Ptx ptx) {
    auto code = std::make_shared<CudaCode>();
    code->ptx = std::move(ptx);
    code->name = kernel.name;
    code->blocks = kernel.blocks;
    code->threads = kernel.threads;
    const std::vector<kernel::KernelArgument> arguments = kernel.Arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (arguments[i].member == 0) code->first_arguments.push_back(i);
    }
    return code;
  }

  Result<std::shared_ptr<const LoadedKernel>> LoadOne(const CudaCode& code) {
    auto loaded = std::make_shared<CudaKernel>(driver_, context_);
    loaded->name = code.name;
    loaded->blocks = static_cast<unsigned>(code.blocks);
    loaded->threads = static_cast<unsigned>(code.threads);
    loaded->first_arguments = code.first_arguments;
    loaded->dynamic_shared = static_cast<unsigned>(code.ptx.dynamic_shared_bytes);
    TRY(MakeCurrent());  // This may be any thread.
    char log[4096] = {};
    int options[] = {kJitErrorLog, kJitErrorLogBytes};
    void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
    if (const Status32 status = driver_.load_module(&loaded->module, code.ptx.text.c_str(), 2, options, values)) {
      loaded->module = nullptr;
      Error error = driver_.Failed("cuModuleLoadDataEx", status, Str("loading '", code.name, "'"));
      if (log[0] != 0) error.diagnostics.back().notes.push_back({Str("the driver says: ", Trim(log)), {}});
      FAIL(std::move(error));
    }
    if (const Status32 status = driver_.get_function(&loaded->function, loaded->module, code.ptx.entry.c_str()))
      FAIL(driver_.Failed("cuModuleGetFunction", status, Str("loading '", code.name, "'")));
    if (code.ptx.dynamic_shared_bytes <= kSharedWithoutAsking) return loaded;
    if (const Status32 status = driver_.function_attribute(loaded->function, kMaxDynamicShared,
                                                           static_cast<int>(code.ptx.dynamic_shared_bytes)))
      FAIL(driver_.Failed("cuFuncSetAttribute", status, Str("loading '", code.name, "'")));
    return loaded;
  }

  const Driver& driver_;
  int ordinal_;
  int device_ = 0;
  int version_ = 0;
  int compute_ = 0;
  int multiprocessors_ = 0, cache_ = 0, shared_memory_ = 0;
  size_t total_memory_ = 0;
  std::string device_name_;
  CudaHandle context_ = nullptr, stream_ = nullptr;
  CudaHandle started_ = nullptr, stopped_ = nullptr;  // Events: StartClock, StopClock.
  std::vector<void*> parameters_;                     // Of the launch being made.
};

}  // namespace

Result<std::unique_ptr<Device>> OpenCudaDevice(int ordinal, const std::vector<std::string>& search) {
  auto device = std::make_unique<CudaDevice>(*TRY(OpenOnce<LoadDriver>(search)), ordinal);
  TRY(device->Open());
  return device;
}

}  // namespace hlo::gpu
