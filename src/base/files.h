// Writing files whole or not at all.
#ifndef HLO_BASE_FILES_H_
#define HLO_BASE_FILES_H_

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hlo {

// Writes to a temporary file in the same directory and renames it, so that a full disk or an interruption leaves no
// part under the final name. "-" is stdout. Errors keep the system's words ([A011], kDevice: the world failed, not the
// input).
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
