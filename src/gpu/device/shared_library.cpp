#include "gpu/device/shared_library.h"

#include <dlfcn.h>
#include <glob.h>

#include "base/text.h"

namespace hlo::gpu {
namespace {

// The folders that match a pattern. NVIDIA's wheels have site-packages/nvidia/*/lib.
std::vector<std::string> FoldersLike(const std::string& pattern) {
  glob_t found = {};
  std::vector<std::string> folders;
  if (glob(pattern.c_str(), GLOB_ONLYDIR, nullptr, &found) == 0)
    folders.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return folders;
}

}  // namespace

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
  std::vector<std::string> folders;
  const auto add_wheels = [&](const std::string& packages) {
    const std::vector<std::string> wheels = FoldersLike(packages + "/nvidia/*/lib");
    folders.insert(folders.end(), wheels.begin(), wheels.end());
  };
  for (const std::string& folder : search) {
    folders.push_back(folder);
    add_wheels(folder);
  }
  folders.emplace_back();
  folders.insert(folders.end(), more.begin(), more.end());
  add_wheels("/usr/*/lib/python3*/*-packages");
  for (const std::string& folder : folders) {
    for (const std::string_view name : names) {
      SharedLibrary library = open(folder.empty() ? std::string(name) : Str(folder, "/", name));
      if (library.handle_ != nullptr) return library;
    }
  }
  FAIL(DeviceError("R013", Str("no ", names.front(), ": tried ", Join(tried, ", "), "; ", words)));
}

Status SharedLibrary::Complete() const {
  if (missing_.empty()) return {};
  FAIL(DeviceError("R014", Str(path_, " has no '", missing_, "'")));
}

}  // namespace hlo::gpu
