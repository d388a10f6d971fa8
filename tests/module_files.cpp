#include "tests/module_files.h"

#include <algorithm>

namespace hlo {

namespace fs = std::filesystem;

std::vector<std::string> ModuleFilesBelow(const fs::path& folder) {
  std::vector<std::string> files;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".hlo") files.push_back(entry.path().string());
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace hlo
