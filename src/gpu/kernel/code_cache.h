// Code of kernels, kept in a directory from one process to the next.
//
// An entry is a file, named by a hash of all that decides the code and written under another name until it is whole. It
// is used only if its key, length and hash are those that it begins with: processes may share a directory, be killed
// while they write, and find anything in it. Nothing here is an error. What cannot be read is compiled, what cannot be
// written is not kept, and a note says so once.
#ifndef HLO_GPU_KERNEL_CODE_CACHE_H_
#define HLO_GPU_KERNEL_CODE_CACHE_H_

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

// A BLAKE3 hash of the parts, of where each ends, and of the program itself: what another build of it made, or with
// another LLVM, has other keys.
CodeKey KeyOf(std::initializer_list<std::string_view> parts);

class CodeCache {
 public:
  static constexpr int64_t kMostBytes = int64_t{256} << 20;  // Some tens of thousands of kernels.

  // The directory is made, for its user alone, when it is first needed. `most_bytes`: of entries, in whole blocks; what
  // was not used for longest goes first.
  explicit CodeCache(std::string directory, int64_t most_bytes = kMostBytes);
  CodeCache(const CodeCache&) = delete;
  ~CodeCache();

  // May be called from several threads at once.
  std::optional<std::string> Find(const CodeKey& key);
  void Keep(const CodeKey& key, std::string_view code);
  // To be called after the last Keep of many.
  void MakeRoom();

  struct Contents {
    int64_t entries = 0, bytes = 0;
  };
  Contents Count();
  const std::string& directory() const { return directory_; }
  int64_t most_bytes() const { return most_bytes_; }

  // What has gone wrong since the last call, each thing once in the life of this.
  std::vector<std::string> TakeNotes();

 private:
  bool Open();
  std::string WhyNotUsed(int file) const;  // "": may be used.
  bool Write(const std::string& name, const CodeKey& key, std::string_view code);
  void Damaged(const std::string& name);
  void Note(std::string note);
  struct Entry;
  std::vector<Entry> List();

  const std::string directory_;
  const int64_t most_bytes_;
  std::mutex mutex_;         // Of what follows.
  std::optional<int> file_;  // Of the directory, once it was opened; -1: it is not used.
  bool writes_ = true, wrote_ = false;
  std::vector<std::string> notes_;
  std::set<std::string> noted_;
};

}  // namespace hlo::kernel

#endif  // HLO_GPU_KERNEL_CODE_CACHE_H_
