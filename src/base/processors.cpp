#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"

namespace hlo {
namespace {

// nullopt on machines with more processors than the mask of sched.h has bits.
std::optional<int> ProcessorsOfMask() {
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) != 0) return std::nullopt;
  return CPU_COUNT(&mask);
}

std::string FirstLine(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

// The path of the process's group, as in "0::/user.slice/build.scope". Groups of cgroup v1 have other numbers.
std::filesystem::path OwnGroup() {
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    constexpr std::string_view kVersion2 = "0::/";
    if (line.starts_with(kVersion2)) return line.substr(kVersion2.size());
  }
  return {};
}

// The least quota of the process's group and of the groups around it.
int ProcessorsOfGroups() {
  const std::filesystem::path root = "/sys/fs/cgroup";
  int least = INT_MAX;
  for (std::filesystem::path group = OwnGroup();; group = group.parent_path()) {
    least = std::min(least, ProcessorsOfQuota(FirstLine(root / group / "cpu.max")).value_or(INT_MAX));
    if (group.empty()) return least;
  }
}

}  // namespace

std::optional<int> ProcessorsOfQuota(std::string_view cpu_max) {
  const std::vector<std::string_view> words = Split(Trim(cpu_max), ' ');
  int64_t quota = 0, period = 0;
  if (words.size() != 2 || !ParseInt(words[0], &quota) || !ParseInt(words[1], &period)) return std::nullopt;
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<int>(std::min<int64_t>((quota + period - 1) / period, INT_MAX));
}

int UsableProcessors() {
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(ProcessorsOfMask().value_or(online), ProcessorsOfGroups()));
}

}  // namespace hlo
