// Finds the modules below a folder, for tests of properties of all modules.
#ifndef HLO_TESTS_MODULE_FILES_H_
#define HLO_TESTS_MODULE_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

namespace hlo {

// Sorted paths of the .hlo files at any depth below `folder`. If the folder does not exist, the result is empty, so
// tests must count the files.
std::vector<std::string> ModuleFilesBelow(const std::filesystem::path& folder);

}  // namespace hlo

#endif  // HLO_TESTS_MODULE_FILES_H_
