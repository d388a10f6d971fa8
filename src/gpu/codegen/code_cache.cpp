#include "gpu/codegen/code_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <span>
#include <tuple>
#include <utility>

#include <llvm/Support/BLAKE3.h>

#include "base/files.h"
#include "base/text.h"

namespace hlo::kernel {
namespace {

using Digest = std::array<uint8_t, 32>;

struct Header {
  char magic[8];
  CodeKey key;
  uint64_t bytes;
  Digest digest;
};
static_assert(sizeof(Header) == 80);
constexpr char kMagic[8] = {'h', 'l', 'o', 'c', 'o', 'd', 'e', '1'};

constexpr std::string_view kTemporary = ".hlo-";
constexpr time_t kAbandonedSeconds = 3600;
constexpr int64_t kBlock = 4096;
constexpr uint64_t kMostCode = 64 << 20;

Digest DigestOf(std::string_view bytes) {
  return llvm::BLAKE3::hash<32>(llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()));
}

std::string Hex(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) text += Format("%02x", byte);
  return text;
}

bool IsEntry(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  return name.size() == 2 * sizeof(CodeKey) && name.find_first_not_of(kDigits) == std::string_view::npos;
}

// The build id, which the linker wrote, of the object that contains the address `inside`.
struct BuildId {
  uintptr_t inside;
  std::string id;
};
int FindBuildId(dl_phdr_info* object, size_t, void* data) {
  auto& wanted = *static_cast<BuildId*>(data);
  const std::span<const ElfW(Phdr)> parts(object->dlpi_phdr, object->dlpi_phnum);
  const bool has_address = std::ranges::any_of(parts, [&](const ElfW(Phdr) & part) {
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    return part.p_type == PT_LOAD && wanted.inside >= begin && wanted.inside - begin < part.p_memsz;
  });
  if (!has_address) return 0;
  const auto whole_words = [](size_t bytes) { return (bytes + 3) / 4 * 4; };
  for (const ElfW(Phdr) & part : parts) {
    if (part.p_type != PT_NOTE) continue;
    const char* at = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr);
    for (const char* const end = at + part.p_memsz; at + sizeof(ElfW(Nhdr)) <= end;) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const text = name + whole_words(note.n_namesz);
      if (note.n_type == NT_GNU_BUILD_ID && std::string_view(name, note.n_namesz) == std::string_view("GNU\0", 4))
        wanted.id.assign(text, note.n_descsz);
      at = text + whole_words(note.n_descsz);
    }
  }
  return 1;
}

// "" if the linker wrote no build id.
const std::string& Build() {
  static const std::string build = [] {
    BuildId own{.inside = reinterpret_cast<uintptr_t>(&kMagic), .id = {}};
    dl_iterate_phdr(FindBuildId, &own);
    return own.id;
  }();
  return build;
}

bool ReadAll(int file, void* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t count = read(file, static_cast<char*>(to) + done, bytes - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += count;
  }
  return true;
}

std::optional<std::string> ReadEntry(int file, const CodeKey& key) {
  struct stat info = {};
  Header header;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || !ReadAll(file, &header, sizeof header)) return std::nullopt;
  const bool fits = std::memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.key == key &&
                    header.bytes <= kMostCode && header.bytes + sizeof header == static_cast<uint64_t>(info.st_size);
  if (!fits) return std::nullopt;
  std::string code(header.bytes, '\0');
  if (!ReadAll(file, code.data(), code.size()) || header.digest != DigestOf(code)) return std::nullopt;
  return code;
}

}  // namespace

CodeKey KeyOf(std::initializer_list<std::string_view> parts) {
  std::string all;
  const auto add = [&](std::string_view part) {
    const uint64_t bytes = part.size();
    all.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
    all += part;
  };
  add(Build());
  for (const std::string_view part : parts) add(part);
  return DigestOf(all);
}

struct CodeCache::Entry {
  std::string name;
  timespec used;
  int64_t bytes;  // On disk.
};

CodeCache::CodeCache(std::string directory, int64_t most_bytes)
    : directory_(std::move(directory)), most_bytes_(most_bytes) {}

CodeCache::~CodeCache() {
  if (file_.value_or(-1) >= 0) close(*file_);
}

void CodeCache::Note(std::string note) {
  if (noted_.insert(note).second) notes_.push_back(Str("--cache_dir: '", Escaped(directory_), "' ", note));
}

std::vector<std::string> CodeCache::TakeNotes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

// The directory's code is run, so other users must not be able to write there.
std::string CodeCache::WhyNotUsed(int file) const {
  struct stat info = {};
  if (fstat(file, &info) != 0) return Str("cannot be examined: ", std::strerror(errno));
  if (info.st_uid != geteuid()) return "belongs to another user, so it is not used";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Str("can be written by other users (mode ", Format("%o", info.st_mode & 07777), "), so it is not used");
  return "";
}

// The caller holds mutex_.
bool CodeCache::Open() {
  if (file_) return *file_ >= 0;
  file_ = -1;
  if (Build().empty()) {
    Note("is not used, because this program was linked without a build id, which identifies its code");
    return false;
  }
  int file = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) {
    std::error_code ignored;
    const auto parent = std::filesystem::absolute(directory_, ignored).parent_path();
    std::filesystem::create_directories(parent, ignored);
    if (mkdir(directory_.c_str(), 0700) == 0 || errno == EEXIST)
      file = open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (file < 0) {
    Note(Str("cannot be opened: ", std::strerror(errno)));
    return false;
  }
  if (std::string why = WhyNotUsed(file); !why.empty()) {
    close(file);
    Note(std::move(why));
    return false;
  }
  file_ = file;
  return true;
}

void CodeCache::Damaged(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const bool removed = unlinkat(*file_, name.c_str(), 0) == 0 || errno == ENOENT;
  Note(removed ? "had damaged entries, which were removed and are compiled again"
               : Str("has damaged entries, which cannot be removed: ", std::strerror(errno)));
}

std::optional<std::string> CodeCache::Find(const CodeKey& key) {
  int directory;
  {
    const std::lock_guard lock(mutex_);
    if (!Open()) return std::nullopt;
    directory = *file_;
  }
  const std::string name = Hex(key);
  const int file = openat(directory, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) {
    if (errno == ELOOP) {
      Damaged(name);
    } else if (errno != ENOENT) {
      const std::lock_guard lock(mutex_);
      Note(Str("has entries that cannot be read: ", std::strerror(errno)));
    }
    return std::nullopt;
  }
  std::optional<std::string> code = ReadEntry(file, key);
  // Marks the entry as used. If this fails, the entry is only removed sooner.
  if (code) futimens(file, nullptr);
  close(file);
  if (!code) Damaged(name);
  return code;
}

bool CodeCache::Write(const std::string& name, const CodeKey& key, std::string_view code) {
  uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) return false;
  const std::string temporary = Str(kTemporary, Format("%016lx", number));
  const int file = openat(*file_, temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return false;
  Header header;
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.key = key;
  header.bytes = code.size();
  header.digest = DigestOf(code);
  // The entry is not forced to the disk, because reading detects damage.
  bool whole = WriteAll(file, {reinterpret_cast<const char*>(&header), sizeof header}) && WriteAll(file, code);
  const int reason = errno;
  whole = close(file) == 0 && whole;
  if (!whole) errno = reason;
  if (whole && renameat(*file_, temporary.c_str(), *file_, name.c_str()) == 0) return true;
  const int failed = errno;
  unlinkat(*file_, temporary.c_str(), 0);
  errno = failed;
  return false;
}

void CodeCache::Keep(const CodeKey& key, std::string_view code) {
  {
    const std::lock_guard lock(mutex_);
    if (!Open() || !writes_) return;
    wrote_ = true;
  }
  if (code.size() > kMostCode) return;
  if (Write(Hex(key), key, code)) return;
  const int reason = errno;
  const std::lock_guard lock(mutex_);
  writes_ = false;
  Note(Str("cannot be written any more: ", std::strerror(reason)));
}

// Also removes old temporary files. The caller holds mutex_.
std::vector<CodeCache::Entry> CodeCache::List() {
  std::vector<Entry> entries;
  const int again = openat(*file_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const directory = again < 0 ? nullptr : fdopendir(again);
  if (directory == nullptr) {
    if (again >= 0) close(again);
    return entries;
  }
  while (const dirent* const found = readdir(directory)) {
    const std::string name = found->d_name;
    const bool temporary = name.starts_with(kTemporary);
    struct stat info = {};
    if ((!temporary && !IsEntry(name)) || fstatat(*file_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (temporary && std::time(nullptr) - info.st_mtim.tv_sec > kAbandonedSeconds) unlinkat(*file_, name.c_str(), 0);
    else entries.push_back({name, info.st_mtim, (info.st_size + kBlock - 1) / kBlock * kBlock});
  }
  closedir(directory);
  return entries;
}

void CodeCache::MakeRoom() {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(wrote_, false)) return;
  std::vector<Entry> entries = List();
  int64_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.bytes;
  if (bytes <= most_bytes_) return;
  std::ranges::sort(entries, [](const Entry& a, const Entry& b) {
    return std::tie(a.used.tv_sec, a.used.tv_nsec, a.name) < std::tie(b.used.tv_sec, b.used.tv_nsec, b.name);
  });
  for (const Entry& entry : entries) {
    if (bytes <= most_bytes_) break;
    if (!entry.name.starts_with(kTemporary) && (unlinkat(*file_, entry.name.c_str(), 0) == 0 || errno == ENOENT))
      bytes -= entry.bytes;
  }
}

CodeCache::Contents CodeCache::Count() {
  const std::lock_guard lock(mutex_);
  Contents contents;
  if (!Open()) return contents;
  for (const Entry& entry : List()) {
    contents.entries += IsEntry(entry.name);
    contents.bytes += entry.bytes;
  }
  return contents;
}

}  // namespace hlo::kernel
