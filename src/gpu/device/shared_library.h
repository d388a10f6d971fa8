// Libraries opened on first use, which may be absent.
#ifndef HLO_GPU_DEVICE_SHARED_LIBRARY_H_
#define HLO_GPU_DEVICE_SHARED_LIBRARY_H_

#include <dlfcn.h>

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo::gpu {

// The address of a function of any type, or null.
struct Symbol {
  void* address = nullptr;
  template <class F>
  operator F*() const {  // NOLINT: initializes a member of any function type.
    return reinterpret_cast<F*>(address);
  }
};

class SharedLibrary {
 public:
  // Opens the first library found. Tries all `names` in each folder of `search` and NVIDIA's wheels in it, the loader's
  // paths, `more`, and NVIDIA's wheels in Python's system folders. The library is never closed, because its threads may
  // still run. Error R013: all paths tried, with the loader's first message.
  static Result<SharedLibrary> Open(std::span<const std::string_view> names, std::span<const std::string> search,
                                    std::span<const std::string_view> more = {});

  Symbol Find(const char* symbol) const { return {dlsym(handle_, symbol)}; }
  // Like Find. If the symbol is missing, Complete() fails (R014).
  Symbol Get(const char* symbol) {
    const Symbol found = Find(symbol);
    if (found.address == nullptr && missing_.empty()) missing_ = symbol;
    return found;
  }
  Status Complete() const;
  const std::string& path() const { return path_; }

 private:
  void* handle_ = nullptr;
  std::string path_;
  std::string missing_;
};

// Calls `kLoad` once, with the first caller's arguments, and keeps the result or error.
template <auto kLoad, class... Args>
auto OpenOnce(const Args&... args) -> Result<const typename decltype(kLoad(args...))::value_type*> {
  static std::mutex mutex;
  static const auto* loaded = static_cast<const decltype(kLoad(args...))*>(nullptr);
  const std::lock_guard lock(mutex);
  if (loaded == nullptr) loaded = new auto(kLoad(args...));
  if (!*loaded) FAIL(loaded->error());
  return &**loaded;
}

// Opens Api::kFiles. The first member of `Api` is the library, which initializes a member for each function.
template <class Api>
Result<Api> LoadApi(const std::vector<std::string>& search) {
  Api api{TRY(SharedLibrary::Open(Api::kFiles, search, Api::kFolders))};
  TRY(api.library.Complete());
  return api;
}

}  // namespace hlo::gpu

#endif  // HLO_GPU_DEVICE_SHARED_LIBRARY_H_
