// Tests of the cache directory for compiled code. Find returns only what Keep stored, even if files are damaged, other
// processes write at the same time, or a process is killed.
#include "gpu/codegen/code_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/text.h"

namespace hlo::kernel {
namespace {

namespace fs = std::filesystem;

class CodeCacheTest : public testing::Test {
 protected:
  CodeCacheTest() : folder_(fs::temp_directory_path() / Str("hlo-cache-", static_cast<int64_t>(getpid()))) {
    fs::remove_all(folder_);
  }
  ~CodeCacheTest() override { fs::remove_all(folder_); }

  std::unique_ptr<CodeCache> Open(int64_t most_bytes = CodeCache::kMostBytes) const {
    return std::make_unique<CodeCache>(folder_.string(), most_bytes);
  }
  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
    return names;
  }
  fs::path Entry() const {
    EXPECT_EQ(Names().size(), 1u);
    return folder_ / Names().front();
  }
  static std::string Read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void Write(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  const fs::path folder_;
};

CodeKey Key(int number) { return KeyOf({"test", Str(number)}); }
const std::string kCode = "code of some kernel";

TEST_F(CodeCacheTest, AnotherCacheFindsAKeptEntry) {
  Open()->Keep(Key(1), kCode);
  const auto other = Open();
  EXPECT_EQ(other->Find(Key(1)), kCode);
  EXPECT_EQ(other->Find(Key(2)), std::nullopt);
  EXPECT_EQ(other->Count().entries, 1);
  EXPECT_TRUE(other->TakeNotes().empty());
  struct stat info = {};
  ASSERT_EQ(stat(folder_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u) << "others may look into a directory whose content is run";
}

TEST_F(CodeCacheTest, KeysDependOnWhereAPartEnds) { EXPECT_NE(KeyOf({"ab", "c"}), KeyOf({"a", "bc"})); }

TEST_F(CodeCacheTest, DetectsEveryTruncationAndEveryFlippedByte) {
  Open()->Keep(Key(1), kCode);
  const fs::path path = Entry();
  const std::string whole = Read(path);
  std::vector<std::string> damaged;
  for (size_t bytes = 0; bytes < whole.size(); ++bytes) {
    damaged.push_back(whole.substr(0, bytes));
    damaged.push_back(whole);
    damaged.back()[bytes] ^= 0x10;
  }
  damaged.push_back(whole + '\0');
  for (const std::string& bytes : damaged) {
    Write(path, bytes);
    const auto cache = Open();
    EXPECT_EQ(cache->Find(Key(1)), std::nullopt);
    EXPECT_FALSE(fs::exists(path)) << "a damaged entry stays";
    const std::vector<std::string> notes = cache->TakeNotes();
    ASSERT_EQ(notes.size(), 1u);
    EXPECT_NE(notes[0].find("damaged"), std::string::npos) << notes[0];
  }
  Open()->Keep(Key(1), kCode);
  EXPECT_EQ(Open()->Find(Key(1)), kCode);
}

TEST_F(CodeCacheTest, RejectsAnEntryUnderAnotherName) {
  Open()->Keep(Key(1), kCode);
  const fs::path first = Entry();
  Open()->Keep(Key(2), "other");
  for (const std::string& name : Names()) {
    if (folder_ / name != first) fs::copy_file(first, folder_ / name, fs::copy_options::overwrite_existing);
  }
  EXPECT_EQ(Open()->Find(Key(1)), kCode);
  EXPECT_EQ(Open()->Find(Key(2)), std::nullopt);
}

TEST_F(CodeCacheTest, ReadsOnlyRegularFiles) {
  Open()->Keep(Key(1), kCode);
  const fs::path path = Entry(), outside = folder_.string() + "-outside";
  fs::rename(path, outside);
  fs::create_symlink(outside, path);
  EXPECT_EQ(Open()->Find(Key(1)), std::nullopt) << "a link was followed";
  EXPECT_TRUE(fs::exists(outside)) << "what it leads to was removed";
  fs::remove(outside);
  fs::remove(path);
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(Open()->Find(Key(1)), std::nullopt) << "a pipe was waited for";
  fs::remove(path);
  fs::create_directory(path);
  const auto cache = Open();
  EXPECT_EQ(cache->Find(Key(1)), std::nullopt);
  cache->Keep(Key(1), kCode);
  EXPECT_EQ(cache->Find(Key(1)), std::nullopt);
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(CodeCacheTest, RemovesTheLeastRecentlyUsedEntryFirst) {
  const auto age = [&](const std::string& name, int hours) {
    fs::last_write_time(folder_ / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  constexpr int64_t kBlock = 4096;
  const auto cache = Open(2 * kBlock);
  std::vector<std::string> names;
  for (int i = 0; i < 2; ++i) {
    cache->Keep(Key(i), kCode);
    for (const std::string& name : Names()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
  }
  Write(folder_ / "README", "somebody else's");
  Write(folder_ / ".hlo-0123456789abcdef", "left by a process that was killed");
  age(names[0], 5);
  age(names[1], 3);
  age(".hlo-0123456789abcdef", 2);
  // Find makes an entry the most recently used one.
  EXPECT_EQ(cache->Find(Key(0)), kCode);
  cache->Keep(Key(2), kCode);
  cache->MakeRoom();
  EXPECT_EQ(cache->Find(Key(1)), std::nullopt);
  EXPECT_EQ(cache->Find(Key(0)), kCode);
  EXPECT_EQ(cache->Find(Key(2)), kCode);
  EXPECT_LE(cache->Count().bytes, 2 * kBlock);
  EXPECT_EQ(Read(folder_ / "README"), "somebody else's");
  EXPECT_FALSE(fs::exists(folder_ / ".hlo-0123456789abcdef"));
  const auto none = Open(0);
  none->Keep(Key(3), kCode);
  none->MakeRoom();
  EXPECT_EQ(none->Count().entries, 0);
}

// A directory that cannot be used gives one note and no other effect.
void ExpectOneNote(CodeCache& cache, const std::string& words) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cache.Find(Key(i)), std::nullopt);
    cache.Keep(Key(i), kCode);
    cache.MakeRoom();
  }
  const std::vector<std::string> notes = cache.TakeNotes();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find(words), std::string::npos) << notes[0];
  EXPECT_TRUE(cache.TakeNotes().empty());
}

TEST_F(CodeCacheTest, ReportsAnUnusableDirectoryOnce) {
  CodeCache below_a_device("/dev/null/cache"), forbidden("/proc/self/cache");
  ExpectOneNote(below_a_device, "cannot be opened: Not a directory");
  ExpectOneNote(forbidden, "cannot be opened: No such file or directory");
  fs::create_directory(folder_);
  ASSERT_EQ(chmod(folder_.c_str(), 0777), 0);
  ExpectOneNote(*Open(), "can be written by other users (mode 777)");
  EXPECT_TRUE(Names().empty());
  ASSERT_EQ(chmod(folder_.c_str(), 0755), 0);
  if (geteuid() != 0) return;  // Only root can change the owner of a file.
  ASSERT_EQ(chown(folder_.c_str(), 12345, 12345), 0);
  ExpectOneNote(*Open(), "belongs to another user");
  EXPECT_TRUE(Names().empty());
}

TEST_F(CodeCacheTest, ReportsARemovedDirectoryOnce) {
  const auto cache = Open();
  cache->Keep(Key(7), kCode);
  fs::remove_all(folder_);
  ExpectOneNote(*cache, "cannot be written any more: No such file or directory");
}

bool InChild(const std::function<bool()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work() ? 0 : 1);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_F(CodeCacheTest, AFullDiskLeavesNoPartialEntry) {
  Open()->Keep(Key(1), kCode);
  EXPECT_TRUE(InChild([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const auto cache = Open();
    cache->Keep(Key(2), std::string(5000, 'x'));
    cache->Keep(Key(3), kCode);  // The entry would fit, but the cache stops writing after a full disk.
    const std::vector<std::string> notes = cache->TakeNotes();
    return notes.size() == 1 && notes[0].find("cannot be written any more: File too large") != std::string::npos &&
           cache->Find(Key(1)) == kCode && !cache->Find(Key(2)) && !cache->Find(Key(3));
  }));
  EXPECT_EQ(Names().size(), 1u) << "something half written was left";
}

// Several processes write, make room, damage entries and are killed.
TEST_F(CodeCacheTest, ManyProcessesShareADirectory) {
  constexpr int kProcesses = 8, kKeys = 40;
  const auto code_of = [](int key) { return std::string(100 * key, static_cast<char>('a' + key % 26)); };
  const auto work = [&](unsigned seed, bool damages) {
    std::minstd_rand random(seed);
    for (int round = 0; round < 400; ++round) {
      const auto cache = Open(random() % 8 == 0 ? 20 * 4096 : CodeCache::kMostBytes);
      const int key = static_cast<int>(random() % kKeys);
      if (const auto found = cache->Find(Key(key)); found && *found != code_of(key)) return false;
      cache->Keep(Key(key), code_of(key));
      if (random() % 16 == 0) cache->MakeRoom();
      if (damages && random() % 8 == 0) {
        std::error_code ignored;
        for (const auto& entry : fs::directory_iterator(folder_, ignored)) {
          if (random() % 4 == 0) fs::resize_file(entry.path(), random() % 200, ignored);
        }
      }
    }
    return true;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(work(i + 1, i == 0) ? 0 : 1);
    children.push_back(child);
  }
  usleep(20'000);
  kill(children.back(), SIGKILL);
  for (size_t i = 0; i < children.size(); ++i) {
    int status = 0;
    waitpid(children[i], &status, 0);
    if (i + 1 < children.size()) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "process " << i;
    }
  }
  const auto cache = Open();
  for (int key = 0; key < kKeys; ++key) {
    if (const auto found = cache->Find(Key(key))) {
      EXPECT_EQ(*found, code_of(key));
    }
    cache->Keep(Key(key), code_of(key));
    EXPECT_EQ(cache->Find(Key(key)), code_of(key));
  }
}

}  // namespace
}  // namespace hlo::kernel
