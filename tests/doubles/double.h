// Doubles of CUDA's libraries: the same functions, computed in the memory of the process, for runs without a GPU.
// Queued work runs when the program waits for it and not before, so a missing wait shows as old values. A double checks
// how it is called. Each violation of the interface's rules is printed, and the process ends with kExitViolation. An
// object that is never released is a violation too. The driver's double has the common parts, and the libraries'
// doubles link with it.
//
//   HLO_DOUBLE_FAIL=NAME:N[:ERROR],...   The N-th call of NAME fails, counted from 1. NAME may be "*" for all calls, or
//                                        "kernel" for the N-th kernel that runs, which a later call reports. ERROR is a
//                                        name of errors.def.
//   HLO_DOUBLE_TRACE=FILE                Calls, work as it runs ("> kernel fusion_3"), and requested failures ("! NAME
//                                        ERROR"), one per line and in order.
//   HLO_DOUBLE_DRIVER=12040              The version of CUDA that the driver reports.
//   HLO_DOUBLE_SPILLS=128                Kernels with more threads than this report that they spill registers.
//   HLO_DOUBLE_CACHE=65536               The bytes of the device's cache.
//   HLO_DOUBLE_CUPTI=140000              The version that CUPTI's double reports.
//   HLO_DOUBLE_SANITIZE=1                The sanitizer watches kernels (gpu/codegen/emulator.h).
#ifndef HLO_TESTS_DOUBLES_DOUBLE_H_
#define HLO_TESTS_DOUBLES_DOUBLE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

namespace hlo::doubles {

constexpr int kExitViolation = 99;

enum class Library : uint8_t { kCuda, kCublas, kCudnn, kCupti };
enum Rules : unsigned { kNoRules = 0, kReady = 1, kContext = 2, kCleansUp = 4 };

enum class Function : uint8_t {
#define CALL(library, name, rules) name,
#include "tests/doubles/calls.def"
};

// The statuses have their names in the libraries, such as CUDA_ERROR_INVALID_VALUE.
enum Status : int {
#define ERROR(library, name, number, lost, words) name = number,
#include "tests/doubles/errors.def"
};

template <class... Args>
std::string Words(const Args&... args) {
  std::ostringstream out;
  (out << ... << args);
  return out.str();
}

// Reports that the program breaks a rule.
void Violation(const std::string& what);
void Trace(const std::string& line);

// The beginning of every function: records the call, lets it fail on request, and checks the function's rules. Holds
// the lock of all doubles.
class Entry {
 public:
  explicit Entry(Function function);
  // True if the function must return status() at once. A function that cleans up does so first, and then returns
  // status().
  bool ends() const { return ends_; }
  int status() const { return status_; }
  // Reports a violation by this call. Returns `status`.
  int Violates(int status, const std::string& what) const;

 private:
  std::unique_lock<std::recursive_mutex> lock_;
  Function function_;
  int status_ = 0;
  bool ends_ = false;
};
// Begins a function of a double.
#define ENTER(name)                  \
  const Entry entry(Function::name); \
  if (entry.ends()) return entry.status()

// ---- Objects -------------------------------------------------------------------------------------------------------

// The objects of one kind. Destroyed objects stay known, which distinguishes them from unknown handles.
class AnyRegistry {
 public:
  explicit AnyRegistry(std::string what);
  virtual ~AnyRegistry() = default;
  virtual size_t alive() const = 0;
  const std::string& what() const { return what_; }

 protected:
  std::string what_;  // The kind of the objects, such as "stream".
};

template <class T>
class Registry : public AnyRegistry {
 public:
  using AnyRegistry::AnyRegistry;

  T* Add(T object) {
    auto kept = std::make_unique<T>(std::move(object));
    T* const handle = kept.get();
    all_[handle] = std::move(kept);
    ++alive_;
    return handle;
  }
  // The object with this handle. Null after a violation if it is not alive.
  T* Find(const Entry& entry, const void* handle) {
    const auto found = all_.find(handle);
    if (found != all_.end() && !dead_.contains(handle)) return found->second.get();
    entry.Violates(0, Words(what_, " ", handle, found != all_.end() ? " was destroyed already" : " is none"));
    return nullptr;
  }
  bool IsAlive(const void* handle) const { return all_.contains(handle) && !dead_.contains(handle); }
  bool Remove(const Entry& entry, const void* handle) {
    if (Find(entry, handle) == nullptr) return false;
    dead_.emplace(handle, true);
    --alive_;
    return true;
  }
  size_t alive() const override { return alive_; }

 private:
  std::unordered_map<const void*, std::unique_ptr<T>> all_;
  std::unordered_map<const void*, bool> dead_;
  size_t alive_ = 0;
};

// ---- Memory and work -----------------------------------------------------------------------------------------------

using DevicePointer = unsigned long long;

// True if the bytes are within one allocation. Otherwise this is a violation by `who`.
bool IsDeviceMemory(const std::string& who, const void* begin, size_t bytes);

enum class WorkKind : uint8_t { kKernel, kCopy, kFill, kProduct, kConvolution, kEvent, kGraph };
struct Touch {
  const void* begin;
  size_t bytes;
  bool writes;
};
struct Work {
  WorkKind kind;
  std::string what;
  std::function<int()> run;  // The result is a CUresult.
  std::vector<Touch> touches = {};
  bool waits = false;        // For a kernel: its code waits for preceding work before it accesses memory.
  uint32_t correlation = 0;  // The correlation of the call that queued the work. 0 for work in a graph.
};

// Adds work to the queue of a stream, or to the graph that captures the stream. Returns INVALID_HANDLE for an invalid
// stream.
int Enqueue(const Entry& entry, void* stream, Work work);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_DOUBLE_H_
