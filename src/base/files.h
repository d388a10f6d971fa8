// Writes files and folders completely or not at all.
#ifndef HLO_BASE_FILES_H_
#define HLO_BASE_FILES_H_

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace hlo {

// The error of the system call that just failed (errno), with code A011. Its kind is kUsage if the path cannot be
// written to, for example because its folder does not exist, and otherwise kDevice.
Error CannotWrite(const std::string& path);

// Writes a file piece by piece. The bytes go to a temporary file in the same directory, which Commit renames. So a full
// disk or an interruption leaves no partial file under the final name. The path "-" means stdout. Errors: see
// CannotWrite.
class FileWriter {
 public:
  static Result<FileWriter> Open(const std::string& path);
  FileWriter(FileWriter&& other) noexcept { *this = std::move(other); }
  FileWriter& operator=(FileWriter&& other) noexcept {
    std::swap(path_, other.path_);
    std::swap(target_, other.target_);
    std::swap(temporary_, other.temporary_);
    std::swap(mode_, other.mode_);
    std::swap(file_, other.file_);
    return *this;
  }
  ~FileWriter();  // Deletes a file that was not committed.

  Status Write(std::string_view bytes);
  Status Commit();

 private:
  FileWriter() = default;

  std::string path_, target_;   // The path as given, and the path after following links.
  std::string temporary_;       // Empty for stdout and devices, and after Commit.
  std::optional<mode_t> mode_;  // The mode of the file that is replaced.
  int file_ = -1;
};

Status WriteFile(const std::string& path, std::string_view bytes);

// Writes all bytes to an open file. Returns false, with errno set, on failure.
bool WriteAll(int file, std::string_view bytes);

// Also creates missing parents.
Status MakeDirectories(const std::string& path);

// Creates a folder and never replaces one. `fill` fills a hidden folder beside `path`, which is
// then renamed. If `path` exists and is not an empty folder, the name becomes path-2, path-3, ... when `numbered`.
// Returns the final name. Errors: A012, and any error of `fill`.
Result<std::string> MakeFolder(const std::string& path, bool numbered,
                               const std::function<Status(const std::string& folder)>& fill);

// Creates a temporary directory that only its owner can access. Errors: A012 (kDevice).
Result<std::string> MakeTemporaryDirectory(std::string_view prefix);

}  // namespace hlo

#endif  // HLO_BASE_FILES_H_
