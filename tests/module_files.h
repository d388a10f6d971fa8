// Finds the modules below a folder.
#ifndef HLO_TESTS_MODULE_FILES_H_
#define HLO_TESTS_MODULE_FILES_H_

#include <filesystem>
#include <string>
#include <vector>

namespace hlo {

// Sorted paths of the .hlo files at any depth below `folder`. The result is empty if the folder does not exist, so
// tests must check the number of files.
std::vector<std::string> ModuleFilesBelow(const std::filesystem::path& folder);

}  // namespace hlo

#endif  // HLO_TESTS_MODULE_FILES_H_
