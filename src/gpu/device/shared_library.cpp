#include "gpu/device/shared_library.h"

#include <dlfcn.h>

#include "base/text.h"

namespace hlo::gpu {

Result<SharedLibrary> SharedLibrary::Open(std::span<const std::string_view> names, std::span<const std::string> search,
                                          std::span<const std::string_view> more) {
  std::vector<std::string> tried;
  std::string words;
  const auto open = [&](std::string path) {
    SharedLibrary library;
    library.handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle_ == nullptr && words.empty()) words = dlerror();
    tried.push_back(path);
    library.path_ = std::move(path);
    return library;
  };
  const auto try_folder = [&](std::string_view folder) {
    for (const std::string_view name : names) {
      SharedLibrary library = open(folder.empty() ? std::string(name) : Str(folder, "/", name));
      if (library.handle_ != nullptr) return library;
    }
    return SharedLibrary();
  };
  for (const std::string& folder : search) {
    if (SharedLibrary library = try_folder(folder); library.handle_ != nullptr) return library;
  }
  if (SharedLibrary library = try_folder(""); library.handle_ != nullptr) return library;
  for (const std::string_view folder : more) {
    if (SharedLibrary library = try_folder(folder); library.handle_ != nullptr) return library;
  }
  FAIL(DeviceError("R013", Str("no ", names.front(), ": tried ", Join(tried, ", "), "; ", words)));
}

void* SharedLibrary::Find(const char* symbol) const { return dlsym(handle_, symbol); }

Status SharedLibrary::Complete() const {
  if (missing_.empty()) return {};
  FAIL(DeviceError("R014", Str(path_, " has no '", missing_, "'")));
}

}  // namespace hlo::gpu
