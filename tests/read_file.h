#ifndef HLO_TESTS_READ_FILE_H_
#define HLO_TESTS_READ_FILE_H_

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace hlo {

// The content of the file, or "" if it does not exist.
inline std::string ReadFile(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace hlo

#endif  // HLO_TESTS_READ_FILE_H_
