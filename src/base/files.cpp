#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <tuple>

#include "base/text.h"

namespace hlo {

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  const auto fail = [&]() -> Error {
    return DeviceError("A011", Str("cannot write '", Escaped(path), "': ", std::strerror(errno)));
  };
  // Also /dev/stdout: a file that stdout goes to would be replaced, or the link itself by whoever may write to /dev.
  if (path == "-" || path == "/dev/stdout") {
    // A reader that has seen enough, as `head` has, is no error.
    if (!WriteAll(STDOUT_FILENO, bytes) && errno != EPIPE) FAIL(fail());
    return {};
  }
  // What a link leads to is replaced, not the link.
  std::error_code ignored;
  const bool is_link = std::filesystem::is_symlink(path, ignored);
  const std::filesystem::path led_to = is_link ? std::filesystem::canonical(path, ignored) : std::filesystem::path();
  const std::string target = led_to.empty() ? path : led_to.string();
  // A device or a pipe cannot be renamed onto.
  struct stat before = {};
  const bool exists = stat(target.c_str(), &before) == 0;
  const bool special = exists && (S_ISCHR(before.st_mode) || S_ISFIFO(before.st_mode));
  // Hidden, so that whoever lists the directory meanwhile does not take it for a file of it.
  const size_t name = target.rfind('/') + 1;  // 0 where there is no slash.
  const std::string temporary =
      special ? path : Str(target.substr(0, name), ".", target.substr(name), ".tmp", static_cast<int64_t>(getpid()));
  const int file =
      open(temporary.c_str(), special ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (file < 0) FAIL(fail());
  const bool written = WriteAll(file, bytes);
  const int reason = errno;
  // Who may read it stays as it was. Where that cannot be kept, as on some network drives, the bytes still count.
  if (exists && !special) std::ignore = fchmod(file, before.st_mode & 07777);
  const bool closed = close(file) == 0;
  if (!written) errno = reason;
  if (!written || !closed || (!special && std::rename(temporary.c_str(), target.c_str()) != 0)) {
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

Result<std::string> MakeFolder(const std::string& path, bool numbered,
                               const std::function<Status(const std::string& folder)>& fill) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) TRY(MakeDirectories(parent.string()));
  std::string hidden = (parent / ".unfinished-XXXXXX").string();
  const auto fail = [&](int reason) {
    return DeviceError("A012", Str("cannot make directory '", Escaped(path), "': ", std::strerror(reason)));
  };
  if (mkdtemp(hidden.data()) == nullptr) FAIL(fail(errno));
  std::error_code error;
  if (Status filled = fill(hidden); !filled) {
    fs::remove_all(hidden, error);
    return std::unexpected(std::move(filled).error());
  }
  fs::permissions(hidden, fs::perms(0755), error);
  const int most = numbered ? 10'000 : 1;
  int reason = 0;
  for (int number = 1; number <= most; ++number) {
    std::string name = number == 1 ? path : Str(path, "-", number);
    // A folder that is there and not empty is never replaced by that.
    if (std::rename(hidden.c_str(), name.c_str()) == 0) return name;
    reason = errno;
    if (reason != ENOTEMPTY && reason != EEXIST && reason != ENOTDIR) break;
  }
  fs::remove_all(hidden, error);
  FAIL(fail(reason));
}

Result<std::string> MakeTemporaryDirectory(std::string_view prefix) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) FAIL(DeviceError("A012", Str("there is no directory for temporary files: ", error.message())));
  std::string path = (parent / Str(prefix, "-XXXXXX")).string();
  if (mkdtemp(path.data()) != nullptr) return path;
  FAIL(DeviceError("A012", Str("cannot make a directory in '", Escaped(parent.string()), "': ", std::strerror(errno))));
}

}  // namespace hlo
