// The double of the driver: a device with one context, its memory, modules and launches.
#include "tests/doubles/cuda.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

namespace hlo::doubles {
namespace {

constexpr size_t kTotalMemory = size_t{16} << 30;
constexpr int kSharedBytes = 232448, kSharedWithoutAsking = 48 << 10;
constexpr size_t kAlignment = 256;  // cuMemAlloc promises "suitably aligned for any kind of variable".
constexpr int kMostThreads = 1024;

// ---- The device and its context ----

bool is_ready = false;
int context;  // The handle is the address.
thread_local void* current = nullptr;
const gpu::EmulatorTable* emulator = nullptr;

int CacheBytes() {
  static const char* const asked = std::getenv("HLO_DOUBLE_CACHE");
  static const int bytes = asked != nullptr ? std::atoi(asked) : 50 << 20;
  return bytes;
}

// ---- Memory ----

struct Allocation {
  char* whole;  // The allocation has a red zone before and after its memory.
  size_t bytes;

  char* begin() const { return whole + kAlignment; }
  size_t all_bytes() const { return kAlignment + (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment; }
};
constexpr char kRed = '\x5a', kFresh = '\xcb';  // As f32 these bytes are 1.5e16 and -2.7e7.

class Allocations : public AnyRegistry {
 public:
  using AnyRegistry::AnyRegistry;
  size_t alive() const override { return live_.size(); }

  int Add(size_t bytes, DevicePointer* memory) {
    if (bytes > kTotalMemory - used_) return CUDA_ERROR_OUT_OF_MEMORY;
    Allocation made{nullptr, bytes};
    made.whole = static_cast<char*>(std::aligned_alloc(kAlignment, made.all_bytes()));
    if (made.whole == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(made.whole, kRed, made.all_bytes());
    std::memset(made.begin(), kFresh, bytes);
    used_ += bytes;
    freed_.erase(made.begin());
    live_.emplace(made.begin(), made);
    *memory = reinterpret_cast<DevicePointer>(made.begin());
    return CUDA_SUCCESS;
  }

  int Remove(const Entry& entry, DevicePointer memory) {
    auto* const begin = reinterpret_cast<char*>(memory);
    const auto found = live_.find(begin);
    if (found == live_.end()) {
      return entry.Violates(
          CUDA_ERROR_INVALID_VALUE,
          Words(static_cast<void*>(begin), freed_.contains(begin) ? " was freed already" : " is no allocation"));
    }
    CheckRedZone(found->second);
    used_ -= found->second.bytes;
    std::free(found->second.whole);
    freed_.insert(begin);
    live_.erase(found);
    return entry.status();
  }

  const Allocation* Find(const char* address) const {
    auto after = live_.upper_bound(address);
    if (after == live_.begin()) return nullptr;
    const Allocation& before = std::prev(after)->second;
    return address <= before.begin() + before.bytes ? &before : nullptr;
  }

  size_t used() const { return used_; }
  void CheckRedZones() const {
    for (const auto& [begin, allocation] : live_) CheckRedZone(allocation);
  }

 private:
  static void CheckRedZone(const Allocation& allocation) {
    const char* const end = allocation.whole + allocation.all_bytes();
    const auto is_red = [](char byte) { return byte == kRed; };
    if (std::all_of(static_cast<const char*>(allocation.whole), static_cast<const char*>(allocation.begin()), is_red) &&
        std::all_of(static_cast<const char*>(allocation.begin()) + allocation.bytes, end, is_red))
      return;
    Violation(Words("something was written beside the ", allocation.bytes, " bytes at ",
                    static_cast<void*>(allocation.begin())));
  }

  std::map<const char*, Allocation> live_;
  std::set<const char*> freed_;
  size_t used_ = 0;
};

Allocations& Memory() {
  static auto* const memory = new Allocations("allocation");
  return *memory;
}

const void* At(DevicePointer pointer) { return reinterpret_cast<const void*>(pointer); }
char* Bytes(DevicePointer pointer) { return reinterpret_cast<char*>(pointer); }

// ---- Copies and fills ----

// Queues `act` on `bytes` of device memory, which must exist both now and when the work runs.
template <class Do>
int EnqueueOn(const Entry& entry, void* stream, WorkKind kind, const std::string& what, DevicePointer to, size_t bytes,
              const Do& act, const std::vector<Touch>& touches) {
  if (!IsDeviceMemory(what, At(to), bytes)) return CUDA_ERROR_INVALID_VALUE;
  const auto run = [=] {
    if (!IsDeviceMemory(what, At(to), bytes)) return int{CUDA_ERROR_ILLEGAL_ADDRESS};
    act();
    return int{CUDA_SUCCESS};
  };
  return Enqueue(entry, stream,
                 {.kind = kind, .what = Words(what, " ", bytes, " bytes"), .run = run, .touches = touches});
}

template <class T>
int Fill(const Entry& entry, DevicePointer to, T value, size_t count, void* stream) {
  if (to % sizeof(T) != 0)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words(At(to), " is not a multiple of ", sizeof(T)));
  const auto fill = [=] {
    for (size_t i = 0; i < count; ++i) std::memcpy(Bytes(to) + i * sizeof(T), &value, sizeof(T));
  };
  return EnqueueOn(entry, stream, WorkKind::kFill, "fill", to, count * sizeof(T), fill,
                   {{At(to), count * sizeof(T), true}});
}

// ---- Modules ----

struct Module;
struct CodeFunction {
  Module* module;
  int most_dynamic_shared = kSharedWithoutAsking;
};
struct Module {
  const gpu::EmulatedKernel* kernel;
  std::string text;
  bool waits;
  std::unique_ptr<CodeFunction> function;
};

Registry<Module>& Modules() {
  static auto* const modules = new Registry<Module>("module");
  return *modules;
}

// The module of each function handle. A function lives as long as its module.
std::map<const void*, Module*>& Functions() {
  static auto* const functions = new std::map<const void*, Module*>;
  return *functions;
}

CodeFunction* FindFunction(const Entry& entry, const void* handle) {
  const auto found = Functions().find(handle);
  if (found != Functions().end() && Modules().IsAlive(found->second)) return found->second->function.get();
  entry.Violates(0, Words("function ", handle, found != Functions().end() ? " is of an unloaded module" : " is none"));
  return nullptr;
}

// True if the code waits for preceding kernels before it accesses memory or branches.
bool WaitsFirst(const std::string& text) {
  const size_t begin = text.find('{', text.find(".entry ")), wait = text.find("griddepcontrol.wait;");
  if (begin == std::string::npos || wait == std::string::npos) return false;
  constexpr const char* kOther[] = {"ld.global", "st.global", "atom.", "red.",
                                    "cp.async",  "bra",       "$L_",   "cudaGraphSetConditional"};
  const std::string before = text.substr(begin, wait - begin);
  return std::ranges::none_of(kOther, [&](const char* word) { return before.find(word) != std::string::npos; });
}

// ---- Launches ----

struct Launch {
  Module* module;
  std::vector<void*> arguments;

  std::string what() const { return Words("kernel ", module->kernel->name); }

  // Checks that all memory of the arguments exists and has the alignment that the code assumes.
  int Check() const {
    const gpu::EmulatedKernel& kernel = *module->kernel;
    for (int64_t i = 0; i < kernel.argument_count; ++i) {
      const gpu::EmulatedKernel::Argument& argument = kernel.arguments[i];
      if (argument.bytes == 0) continue;
      const std::string who = Words(what(), ", argument ", i);
      if (!IsDeviceMemory(who, arguments[i], argument.bytes)) return CUDA_ERROR_ILLEGAL_ADDRESS;
      if (reinterpret_cast<uintptr_t>(arguments[i]) % argument.alignment != 0) {
        Violation(Words(who, ": ", arguments[i], " is not a multiple of ", argument.alignment));
        return CUDA_ERROR_MISALIGNED_ADDRESS;
      }
    }
    return CUDA_SUCCESS;
  }

  std::vector<Touch> Touches() const {
    std::vector<Touch> touches;
    const gpu::EmulatedKernel& kernel = *module->kernel;
    for (int64_t i = 0; i < kernel.argument_count; ++i) {
      const gpu::EmulatedKernel::Argument& argument = kernel.arguments[i];
      touches.push_back({arguments[i], static_cast<size_t>(argument.bytes), argument.written});
    }
    return touches;
  }

  int Run() const {
    static const bool sanitize = std::getenv("HLO_DOUBLE_SANITIZE") != nullptr;
    if (!Modules().IsAlive(module)) {
      Violation(Words(what(), " is launched, and its module was unloaded"));
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    if (const int status = Check()) return status;
    if (const int status = FailsAsAsked("kernel", false, Library::kCuda)) return status;
    const char* const wrong = emulator->run(module->kernel, arguments.data(), sanitize, SetCondition);
    if (wrong == nullptr) return CUDA_SUCCESS;
    Violation(wrong);
    return CUDA_ERROR_LAUNCH_FAILED;
  }
};

std::string WhyNotLaunched(const CodeFunction& function, unsigned blocks, unsigned threads, unsigned shared) {
  const gpu::EmulatedKernel& kernel = *function.module->kernel;
  const std::string what = Words("kernel ", kernel.name, " of ", kernel.blocks, " blocks of ", kernel.threads);
  if (blocks != kernel.blocks || static_cast<int>(threads) != kernel.threads || threads > kMostThreads)
    return Words(what, " is launched with ", blocks, " of ", threads);
  if (blocks % kernel.cluster != 0) return Words(what, " has clusters of ", kernel.cluster);
  if (shared != kernel.dynamic_shared_bytes)
    return Words(what, " takes ", kernel.dynamic_shared_bytes, " bytes of shared memory and is given ", shared);
  if (static_cast<int>(shared) > function.most_dynamic_shared)
    return Words(what, " is given ", shared, " bytes of shared memory, and no more than ", function.most_dynamic_shared,
                 " were allowed for it");
  return "";
}

}  // namespace

bool IsReady() { return is_ready; }
bool HasContext() { return current != nullptr; }
bool IsContext(const void* handle) { return handle == &context; }

int DriverVersion() {
  static const char* const asked = std::getenv("HLO_DOUBLE_DRIVER");
  static const int version = asked != nullptr ? std::atoi(asked) : 13000;
  return version;
}

void CheckRedZones() { Memory().CheckRedZones(); }

bool IsDeviceMemory(const std::string& who, const void* begin, size_t bytes) {
  const auto* const first = static_cast<const char*>(begin);
  const Allocation* const allocation = Memory().Find(first);
  if (allocation != nullptr && first + bytes <= allocation->begin() + allocation->bytes) return true;
  Violation(allocation == nullptr ? Words(who, ": ", begin, " is not in the device's memory")
                                  : Words(who, ": ", bytes, " bytes at ", first - allocation->begin(),
                                          " of an allocation of ", allocation->bytes));
  return false;
}

}  // namespace hlo::doubles

using namespace hlo::doubles;  // NOLINT: the functions of the interface follow.

extern "C" {

void hlo_double_attach(const hlo::gpu::EmulatorTable* table) { emulator = table; }

int cuGetErrorName(int error, const char** name) {
  *name = ErrorName(Library::kCuda, error);
  return *name != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
int cuGetErrorString(int error, const char** words) {
  *words = ErrorWords(Library::kCuda, error);
  return *words != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- The device and its context ------------------------------------------------------------------------------------

int cuInit(unsigned flags) {
  ENTER(cuInit);
  if (flags != 0) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "flags must be 0");
  is_ready = true;
  return CUDA_SUCCESS;
}

int cuDriverGetVersion(int* version) {
  ENTER(cuDriverGetVersion);
  *version = DriverVersion();
  return CUDA_SUCCESS;
}

int cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = 1;
  return CUDA_SUCCESS;
}

int cuDeviceGet(int* device, int ordinal) {
  ENTER(cuDeviceGet);
  if (ordinal != 0) return entry.Violates(CUDA_ERROR_INVALID_DEVICE, Words("there is no device ", ordinal));
  *device = 0;
  return CUDA_SUCCESS;
}

int cuDeviceGetName(char* name, int bytes, int /*device*/) {
  ENTER(cuDeviceGetName);
  std::snprintf(name, bytes, "emulated device");
  return CUDA_SUCCESS;
}

int cuDeviceGetAttribute(int* value, int attribute, int /*device*/) {
  ENTER(cuDeviceGetAttribute);
  switch (attribute) {
    case 16: *value = 132; break;  // The number of multiprocessors.
    case 38: *value = CacheBytes(); break;
    case 75: *value = 9; break;  // The compute capability: the major version, and below the minor version.
    case 76: *value = 0; break;
    case 97: *value = kSharedBytes; break;  // The shared memory of a block that opts in.
    default: return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("attribute ", attribute, " is not known"));
  }
  return CUDA_SUCCESS;
}

int cuDeviceTotalMem_v2(size_t* bytes, int /*device*/) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = kTotalMemory;
  return CUDA_SUCCESS;
}

int cuDevicePrimaryCtxRetain(void** made, int /*device*/) {
  ENTER(cuDevicePrimaryCtxRetain);
  *made = &context;
  return CUDA_SUCCESS;
}

int cuCtxSetCurrent(void* wanted) {
  ENTER(cuCtxSetCurrent);
  if (wanted != nullptr && wanted != &context)
    return entry.Violates(CUDA_ERROR_INVALID_CONTEXT, Words(wanted, " is no context"));
  current = wanted;
  return CUDA_SUCCESS;
}

// ---- Memory --------------------------------------------------------------------------------------------------------

int cuMemAlloc_v2(DevicePointer* memory, size_t bytes) {
  ENTER(cuMemAlloc_v2);
  if (bytes == 0) return entry.Violates(CUDA_ERROR_INVALID_VALUE, "of 0 bytes");
  return Memory().Add(bytes, memory);
}

// The call waits for the device, as the driver may.
int cuMemFree_v2(DevicePointer memory) {
  ENTER(cuMemFree_v2);
  const int drained = DrainAll();
  const int status = Memory().Remove(entry, memory);
  return status != CUDA_SUCCESS ? status : drained;
}

int cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  ENTER(cuMemGetInfo_v2);
  *free_bytes = kTotalMemory - Memory().used();
  *total = kTotalMemory;
  return CUDA_SUCCESS;
}

// The memory is pageable, so it is read before the call returns.
int cuMemcpyHtoDAsync_v2(DevicePointer to, const void* from, size_t bytes, void* stream) {
  ENTER(cuMemcpyHtoDAsync_v2);
  const auto* const first = static_cast<const char*>(from);
  const auto staged = std::make_shared<std::vector<char>>(first, first + bytes);
  const auto copy = [=] { std::memcpy(Bytes(to), staged->data(), bytes); };
  return EnqueueOn(entry, stream, WorkKind::kCopy, "copy in", to, bytes, copy, {{At(to), bytes, true}});
}

// The memory is pageable, so it is written before the call returns.
int cuMemcpyDtoHAsync_v2(void* to, DevicePointer from, size_t bytes, void* stream) {
  ENTER(cuMemcpyDtoHAsync_v2);
  const auto copy = [=] { std::memcpy(to, At(from), bytes); };
  const int status =
      EnqueueOn(entry, stream, WorkKind::kCopy, "copy out", from, bytes, copy, {{At(from), bytes, false}});
  return status == CUDA_SUCCESS ? Drain(stream) : status;
}

int cuMemcpyDtoDAsync_v2(DevicePointer to, DevicePointer from, size_t bytes, void* stream) {
  ENTER(cuMemcpyDtoDAsync_v2);
  if (to < from + bytes && from < to + bytes)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("the two ranges of ", bytes, " bytes overlap"));
  if (!IsDeviceMemory("copy", At(from), bytes)) return CUDA_ERROR_INVALID_VALUE;
  const auto copy = [=] {
    if (IsDeviceMemory("copy", At(from), bytes)) std::memcpy(Bytes(to), At(from), bytes);
  };
  return EnqueueOn(entry, stream, WorkKind::kCopy, "copy", to, bytes, copy,
                   {{At(from), bytes, false}, {At(to), bytes, true}});
}

int cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, void* stream) {
  ENTER(cuMemsetD8Async);
  return Fill(entry, to, value, count, stream);
}
int cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, void* stream) {
  ENTER(cuMemsetD16Async);
  return Fill(entry, to, value, count, stream);
}
int cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, void* stream) {
  ENTER(cuMemsetD32Async);
  return Fill(entry, to, value, count, stream);
}

int cuMemsetD2D32Async(DevicePointer to, size_t pitch, unsigned value, size_t width, size_t height, void* stream) {
  ENTER(cuMemsetD2D32Async);
  const size_t row = width * sizeof value;
  if (to % sizeof value != 0 || pitch % sizeof value != 0 || (height > 1 && pitch < row))
    return entry.Violates(CUDA_ERROR_INVALID_VALUE,
                          Words("rows of ", row, " bytes at ", At(to), ", ", pitch, " apart"));
  const size_t bytes = height == 0 ? 0 : (height - 1) * pitch + row;
  const auto fill = [=] {
    for (size_t y = 0; y < height; ++y) {
      for (size_t x = 0; x < width; ++x) std::memcpy(Bytes(to) + y * pitch + x * sizeof value, &value, sizeof value);
    }
  };
  return EnqueueOn(entry, stream, WorkKind::kFill, "fill", to, bytes, fill, {{At(to), bytes, true}});
}

// ---- Modules and launches ------------------------------------------------------------------------------------------

int cuModuleLoadDataEx(void** module, const void* image, unsigned options, int* names, void** values) {
  ENTER(cuModuleLoadDataEx);
  constexpr int kErrorLog = 5, kErrorLogBytes = 6;
  const auto* const text = static_cast<const char*>(image);
  const hlo::gpu::EmulatedKernel* const kernel = emulator != nullptr ? emulator->find(text) : nullptr;
  if (kernel == nullptr) {
    char* log = nullptr;
    size_t bytes = 0;
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == kErrorLog) log = static_cast<char*>(values[i]);
      if (names[i] == kErrorLogBytes) bytes = reinterpret_cast<size_t>(values[i]);
    }
    if (log != nullptr && bytes > 0) std::snprintf(log, bytes, "no kernel of this process has this text");
    return CUDA_ERROR_INVALID_PTX;
  }
  *module = Modules().Add({.kernel = kernel, .text = text, .waits = WaitsFirst(text), .function = nullptr});
  return CUDA_SUCCESS;
}

int cuModuleUnload(void* module) {
  ENTER(cuModuleUnload);
  const int drained = DrainAll();
  return Modules().Remove(entry, module) ? (entry.status() != 0 ? entry.status() : drained) : CUDA_ERROR_INVALID_HANDLE;
}

int cuModuleGetFunction(void** function, void* module, const char* name) {
  ENTER(cuModuleGetFunction);
  Module* const loaded = Modules().Find(entry, module);
  if (loaded == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (loaded->text.find(Words(".entry ", name, "(")) == std::string::npos) return CUDA_ERROR_NOT_FOUND;
  if (loaded->function == nullptr) loaded->function = std::make_unique<CodeFunction>(CodeFunction{.module = loaded});
  Functions()[loaded->function.get()] = loaded;
  *function = loaded->function.get();
  return CUDA_SUCCESS;
}

int cuFuncSetAttribute(void* function, int attribute, int value) {
  ENTER(cuFuncSetAttribute);
  constexpr int kMostDynamicShared = 8;
  CodeFunction* const code = FindFunction(entry, function);
  if (code == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != kMostDynamicShared || value < 0 || value > kSharedBytes)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("attribute ", attribute, " = ", value));
  code->most_dynamic_shared = value;
  return CUDA_SUCCESS;
}

int cuFuncGetAttribute(int* value, int attribute, void* function) {
  ENTER(cuFuncGetAttribute);
  constexpr int kLocalBytes = 3, kSpilledBytes = 48;
  static const char* const asked = std::getenv("HLO_DOUBLE_SPILLS");
  const CodeFunction* const code = FindFunction(entry, function);
  if (code == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (attribute != kLocalBytes) return entry.Violates(CUDA_ERROR_INVALID_VALUE, Words("attribute ", attribute));
  const bool spills = asked != nullptr && code->module->kernel->threads > std::atoi(asked);
  *value = spills ? kSpilledBytes : 0;
  return CUDA_SUCCESS;
}

int cuLaunchKernel(void* function, unsigned blocks_x, unsigned blocks_y, unsigned blocks_z, unsigned threads_x,
                   unsigned threads_y, unsigned threads_z, unsigned shared, void* stream, void** parameters,
                   void** extra) {
  ENTER(cuLaunchKernel);
  const CodeFunction* const code = FindFunction(entry, function);
  if (code == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (blocks_y != 1 || blocks_z != 1 || threads_y != 1 || threads_z != 1 || extra != nullptr)
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, "kernels have one dimension, and parameters by address");
  if (const std::string why = WhyNotLaunched(*code, blocks_x, threads_x, shared); !why.empty())
    return entry.Violates(CUDA_ERROR_INVALID_VALUE, why);
  Launch launch{.module = code->module, .arguments = {}};
  const hlo::gpu::EmulatedKernel& kernel = *code->module->kernel;
  for (int64_t i = 0; i < kernel.parameter_count; ++i) {  // The parameters are read before the call returns.
    auto* const pointers = static_cast<void**>(parameters[i]);
    launch.arguments.insert(launch.arguments.end(), pointers, pointers + kernel.pointers[i]);
  }
  if (launch.Check() != CUDA_SUCCESS) return CUDA_ERROR_INVALID_VALUE;
  return Enqueue(entry, stream,
                 {.kind = WorkKind::kKernel,
                  .what = launch.what(),
                  .run = [launch] { return launch.Run(); },
                  .touches = launch.Touches(),
                  .waits = code->module->waits});
}

}  // extern "C"
