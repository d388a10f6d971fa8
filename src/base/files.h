// Writes regular files and folders completely or not at all.
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

// The error A011 for errno: kUsage if the path is the cause, such as a missing folder, otherwise kDevice.
Error CannotWrite(const std::string& path);

// Writes a temporary file beside the target, and Commit renames it. So a full disk or an interruption leaves no partial
// file. Stdout (the path "-"), devices and pipes are written directly. Errors: see CannotWrite.
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
  ~FileWriter();

  Status Write(std::string_view bytes);
  Status Commit();

 private:
  FileWriter() = default;

  std::string path_, target_;  // As given, and after following links.
  std::string temporary_;      // Empty for stdout, devices and pipes, and after Commit.
  std::optional<mode_t> mode_;
  int file_ = -1;
};

Status WriteFile(const std::string& path, std::string_view bytes);

// On failure returns false and sets errno.
bool WriteAll(int file, std::string_view bytes);

Status MakeDirectories(const std::string& path);

// Creates a folder and returns its path. `fill` gets the hidden path that the folder has until then. Never replaces a
// folder with files: if `numbered`, tries path-2, path-3, and so on. Errors: A012, and errors of `fill`.
Result<std::string> MakeFolder(const std::string& path, bool numbered,
                               const std::function<Status(const std::string& folder)>& fill);

// Only the owner can access the directory. Errors: A012.
Result<std::string> MakeTemporaryDirectory(std::string_view prefix);

}  // namespace hlo

#endif  // HLO_BASE_FILES_H_
