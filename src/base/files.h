// Writing files whole or not at all.
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

// Of the call that just failed, in the system's words: [A011], kUsage where it is the name that cannot be written to
// (no such folder), else kDevice: the world failed, not the input.
Error CannotWrite(const std::string& path);

// A file that is written piece by piece: to a temporary one in the same directory, which Commit renames, so that a full
// disk or an interruption leaves no part under the final name. "-" is stdout. Errors: those of
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
  ~FileWriter();  // What was not committed is gone.

  Status Write(std::string_view bytes);
  Status Commit();

 private:
  FileWriter() = default;

  std::string path_, target_;   // As it was named, and where that leads.
  std::string temporary_;       // Empty: it is none, or has its name now.
  std::optional<mode_t> mode_;  // Of the file that it replaces.
  int file_ = -1;
};

// The whole of a file at once.
Status WriteFile(const std::string& path, std::string_view bytes);

// All of it to an open file; false, and errno, where that fails.
bool WriteAll(int file, std::string_view bytes);

// The directory and its parents exist afterwards.
Status MakeDirectories(const std::string& path);

// A folder that appears whole or not at all, and replaces none: `fill` gets a hidden one beside it, which is renamed
// when it is full. Where `path` is taken, by anything but an empty folder, it becomes path-2, path-3, ... if
// `numbered`. What it became. Errors: those of `fill`; [A012], kDevice.
Result<std::string> MakeFolder(const std::string& path, bool numbered,
                               const std::function<Status(const std::string& folder)>& fill);

// A new one, for its owner alone, where the system has temporary files. Errors: [A012], kDevice.
Result<std::string> MakeTemporaryDirectory(std::string_view prefix);

}  // namespace hlo

#endif  // HLO_BASE_FILES_H_
