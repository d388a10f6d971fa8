// Writing files whole or not at all.
#ifndef HLO_BASE_FILES_H_
#define HLO_BASE_FILES_H_

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

// A new one, for its owner alone, where the system has temporary files. Errors: [A012], kDevice.
Result<std::string> MakeTemporaryDirectory(std::string_view prefix);

}  // namespace hlo

#endif  // HLO_BASE_FILES_H_
