#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <tuple>
#include <utility>

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

namespace {

Error CannotMake(const std::string& code, const std::string& what, int reason) {
  const bool is_name = reason == ENOENT || reason == ENOTDIR || reason == EISDIR || reason == EACCES ||
                       reason == EEXIST || reason == ENAMETOOLONG;
  const std::string why = Str(what, ": ", std::strerror(reason));
  return is_name ? UsageError(code, why) : DeviceError(code, why);
}

Error CannotMakeDirectory(const std::string& path, int reason) {
  return CannotMake("A012", Str("cannot make directory '", Escaped(path), "'"), reason);
}

}  // namespace

Error CannotWrite(const std::string& path) {
  return CannotMake("A011", Str("cannot write '", Escaped(path), "'"), errno);
}

Result<FileWriter> FileWriter::Open(const std::string& path) {
  FileWriter writer;
  writer.path_ = path;
  // A rename to /dev/stdout would replace the redirected file, or the link in /dev.
  if (path == "-" || path == "/dev/stdout") {
    writer.file_ = STDOUT_FILENO;
    return writer;
  }
  std::error_code ignored;
  const bool is_link = std::filesystem::is_symlink(path, ignored);
  const std::filesystem::path led_to = is_link ? std::filesystem::canonical(path, ignored) : std::filesystem::path();
  writer.target_ = led_to.empty() ? path : led_to.string();
  // rename() would replace devices and pipes by a regular file.
  struct stat before = {};
  const bool exists = stat(writer.target_.c_str(), &before) == 0;
  if (exists && S_ISDIR(before.st_mode)) {
    // rename() would report some directories as busy.
    errno = EISDIR;
    FAIL(CannotWrite(path));
  }
  const bool special = exists && (S_ISCHR(before.st_mode) || S_ISFIFO(before.st_mode));
  if (exists && !special) writer.mode_ = before.st_mode & 07777;
  // The dot hides the temporary file from listings.
  const std::string& target = writer.target_;
  const size_t name = target.rfind('/') + 1;
  if (!special)
    writer.temporary_ = Str(target.substr(0, name), ".", target.substr(name), ".tmp", static_cast<int64_t>(getpid()));
  writer.file_ = special ? open(path.c_str(), O_WRONLY)
                         : open(writer.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (writer.file_ < 0) {
    writer.temporary_.clear();  // The file of this name belongs to another process.
    FAIL(CannotWrite(path));
  }
  return writer;
}

FileWriter::~FileWriter() {
  if (file_ >= 0 && file_ != STDOUT_FILENO) close(file_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

Status FileWriter::Write(std::string_view bytes) {
  if (WriteAll(file_, bytes)) return {};
  // The reader of stdout may stop early, as `head` does.
  if (file_ == STDOUT_FILENO && errno == EPIPE) return {};
  FAIL(CannotWrite(path_));
}

Status FileWriter::Commit() {
  if (file_ == STDOUT_FILENO) return {};
  // Some network drives cannot keep permissions.
  if (mode_) std::ignore = fchmod(file_, *mode_);
  if (close(std::exchange(file_, -1)) != 0) FAIL(CannotWrite(path_));
  if (!temporary_.empty() && std::rename(temporary_.c_str(), target_.c_str()) != 0) FAIL(CannotWrite(path_));
  temporary_.clear();
  return {};
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  FileWriter writer = TRY(FileWriter::Open(path));
  TRY(writer.Write(bytes));
  return writer.Commit();
}

Status MakeDirectories(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) FAIL(CannotMakeDirectory(path, error.value()));
  return {};
}

Result<std::string> MakeFolder(const std::string& path, bool numbered,
                               const std::function<Status(const std::string& folder)>& fill) {
  namespace fs = std::filesystem;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) TRY(MakeDirectories(parent.string()));
  std::string hidden = (parent / ".unfinished-XXXXXX").string();
  const auto fail = [&](int reason) { return CannotMakeDirectory(path, reason); };
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
    // rename() does not replace a directory that is not empty.
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
