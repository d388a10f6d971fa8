// A cache of compiled kernels in a directory, shared by processes.
//
// Each entry is a file, named by a hash of all inputs that determine the code, and first written under a temporary
// name. Because processes may be killed and the directory may contain anything, an entry is used only if its header has
// the right key, length and hash. Failures become notes, not errors.
#ifndef HLO_GPU_CODEGEN_CODE_CACHE_H_
#define HLO_GPU_CODEGEN_CODE_CACHE_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hlo::kernel {

using CodeKey = std::array<uint8_t, 32>;

// A BLAKE3 hash of the parts, their lengths and this program's build id.
CodeKey KeyOf(std::initializer_list<std::string_view> parts);

class CodeCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;

  // Makes the directory on first use, accessible only for its user. `most_bytes` limits the sum of entries, each
  // rounded up to whole file blocks.
  explicit CodeCache(std::string directory, int64_t most_bytes = kMostBytes);
  CodeCache(const CodeCache&) = delete;
  ~CodeCache();

  // All functions are thread-safe.
  std::optional<std::string> Find(const CodeKey& key);
  void Keep(const CodeKey& key, std::string_view code);
  // If Keep was called since the last MakeRoom, removes the least recently used entries beyond the limit.
  void MakeRoom();

  struct Contents {
    int64_t entries = 0, bytes = 0;
  };
  Contents Count();
  const std::string& directory() const { return directory_; }
  int64_t most_bytes() const { return most_bytes_; }

  // Failures since the last TakeNotes. Equal failures are returned only once.
  std::vector<std::string> TakeNotes();

 private:
  bool Open();
  std::string WhyNotUsed(int file) const;
  bool Write(const std::string& name, const CodeKey& key, std::string_view code);
  void Damaged(const std::string& name);
  void Note(std::string note);
  struct Entry;
  std::vector<Entry> List();

  const std::string directory_;
  const int64_t most_bytes_;
  std::mutex mutex_;         // Guards the members below.
  std::optional<int> file_;  // The open directory, or -1 if it cannot be used. nullopt before the first use.
  bool writes_ = true, wrote_ = false;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_CODEGEN_CODE_CACHE_H_
