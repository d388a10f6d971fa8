// Libraries that are opened when they are first needed, and whose absence is an answer.
#ifndef HLO_GPU_DEVICE_SHARED_LIBRARY_H_
#define HLO_GPU_DEVICE_SHARED_LIBRARY_H_

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

class SharedLibrary {
 public:
  // The first of `names` found in the folders of `search`, then where the loader looks, then in `more`, then among the
  // wheels of Python's system folders; a folder of `search` may also hold wheels of NVIDIA's (site-packages). Never
  // closed: what it started may still run. Error: all that was tried, with the loader's words.
  static Result<SharedLibrary> Open(std::span<const std::string_view> names, std::span<const std::string> search,
                                    std::span<const std::string_view> more = {});

  // Null when there is none.
  void* Find(const char* symbol) const;
  // Sets `function`, or notes that `symbol` is missing.
  template <class F>
  void Load(const char* symbol, F** function) {
    *function = reinterpret_cast<F*>(Find(symbol));
    if (*function == nullptr) missing_ = symbol;
  }
  // An error if a Load failed.
  Status Complete() const;
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::string missing_;
};

// What `kLoad` gives, the functions of a library: loaded when they are first asked for, and kept, as is the error where
// there are none. What it is loaded with is what the first to ask says.
template <auto kLoad, class... Args>
auto OpenOnce(const Args&... args) -> Result<const typename decltype(kLoad(args...))::value_type*> {
  static std::mutex mutex;
  static const auto* loaded = static_cast<const decltype(kLoad(args...))*>(nullptr);
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) loaded = new auto(kLoad(args...));
  if (!*loaded) FAIL(loaded->error());
  return &**loaded;
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_SHARED_LIBRARY_H_
