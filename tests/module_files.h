// The modules that stand below a folder, for tests of what holds of all of them.
#ifndef HLO_TESTS_MODULE_FILES_H_
#define HLO_TESTS_MODULE_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

namespace hlo {

// Paths of the .hlo files below `folder`, at any depth, sorted. None where the folder is not there: tests count what
// they saw.
std::vector<std::string> ModuleFilesBelow(const std::filesystem::path& folder);

}  // namespace hlo

#endif  // HLO_TESTS_MODULE_FILES_H_
