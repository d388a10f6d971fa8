// Doubles of CUDA's libraries: the same functions, computed in the process's memory, for runs without a GPU. What is
// queued runs when it is waited for, not before, so that who does not wait sees old values. A double checks how it is
// called: a violation of the interface's rules is printed, and the process ends with kExitViolation; so does what was
// never given back. The driver's double holds what all have in common; the libraries' doubles link with it.
//
//   HLO_DOUBLE_FAIL=NAME:N[:ERROR],...   the N-th call of NAME fails, from 1 on; "*": the N-th of all calls; "kernel":
//                                        the N-th kernel that runs, which is told later. ERROR: errors.def
//   HLO_DOUBLE_TRACE=FILE                calls, and work ("> kernel fusion_3") as it is done, one a line, in order; "!
//                                        NAME ERROR" where one fails as asked
//   HLO_DOUBLE_DRIVER=12040              the version of CUDA that the driver says it is for
//   HLO_DOUBLE_SPILLS=128                kernels of more threads than that say that they keep registers in memory
//   HLO_DOUBLE_CACHE=65536               the bytes of the device's cache
//   HLO_DOUBLE_CUPTI=140000              the version of its interface that CUPTI's double says it has
//   HLO_DOUBLE_SANITIZE=1                kernels are watched as they run (gpu/kernel/emulator.h)
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

// By their own names: CUDA_ERROR_INVALID_VALUE.
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

// The program does what it may not.
void Violation(const std::string& what);
void Trace(const std::string& line);

// What every function begins with: it is noted, fails where that is asked for, and keeps its rules. Holds the lock of
// all doubles.
class Entry {
 public:
  explicit Entry(Function function);
  // Whether that was all. What cleans up does so first, and then returns status().
  bool ends() const { return ends_; }
  int status() const { return status_; }
  // A violation by this call, which returns `status`.
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

// ---- What is alive -------------------------------------------------------------------------------------------------

// Of one kind. What is destroyed stays known, so that using it again is told from using what never was.
class AnyRegistry {
 public:
  explicit AnyRegistry(std::string what);
  virtual ~AnyRegistry() = default;
  virtual size_t alive() const = 0;
  const std::string& what() const { return what_; }

 protected:
  std::string what_;  // "stream".
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
  // Null, after a violation, when `handle` is not alive.
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

// Whether all of it lies in one allocation; if not, after a violation by `who`.
bool IsDeviceMemory(const std::string& who, const void* begin, size_t bytes);

enum class WorkKind : uint8_t { kKernel, kCopy, kFill, kProduct, kConvolution, kEvent, kGraph };
// Memory that work reads, or writes.
struct Touch {
  const void* begin;
  size_t bytes;
  bool writes;
};
struct Work {
  WorkKind kind;
  std::string what;
  std::function<int()> run;  // A CUresult.
  std::vector<Touch> touches = {};
  bool waits = false;        // A kernel's code: for what is before it, before it touches anything.
  uint32_t correlation = 0;  // Of the call that queued it; 0: it is in a graph.
};

// Onto the queue of a stream, or into the graph that it is captured for. INVALID_HANDLE for none.
int Enqueue(const Entry& entry, void* stream, Work work);

}  // namespace hlo::doubles

#endif  // HLO_TESTS_DOUBLES_DOUBLE_H_
