#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/text.h"

namespace hlo {
namespace {

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

}  // namespace

Status WriteFile(const std::string& path, std::string_view bytes) {
  const auto fail = [&]() -> Error {
    return DeviceError("A011", Str("cannot write '", Escaped(path), "': ", std::strerror(errno)));
  };
  if (path == "-") {
    if (!WriteAll(STDOUT_FILENO, bytes)) FAIL(fail());
    return {};
  }
  // A device or a pipe cannot be renamed onto.
  std::error_code ignored;
  const auto kind = std::filesystem::status(path, ignored).type();
  const bool special = kind == std::filesystem::file_type::character || kind == std::filesystem::file_type::fifo;
  const std::string temporary = special ? path : Str(path, ".tmp", static_cast<int64_t>(getpid()));
  const int file =
      open(temporary.c_str(), special ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) FAIL(fail());
  const bool written = WriteAll(file, bytes);
  const int reason = errno;
  const bool closed = close(file) == 0;
  if (!written) errno = reason;
  if (!written || !closed || (!special && std::rename(temporary.c_str(), path.c_str()) != 0)) {
    const Error error = fail();
    if (!special) unlink(temporary.c_str());
    FAIL(error);
  }
  return {};
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) FAIL(DeviceError("A012", Str("cannot make directory '", Escaped(path), "': ", error.message())));
  return {};
}

}  // namespace hlo
