// The number of processors that this process may use.
#ifndef HLO_BASE_PROCESSORS_H_
#define HLO_BASE_PROCESSORS_H_

#include <optional>
#include <string_view>

namespace hlo {

// The processors of the affinity mask (taskset, Slurm), but at most the quota of the control groups (docker --cpus). At
// least 1.
int UsableProcessors();

// The quota in a file cpu.max of cgroup v2: 2 for "150000 100000", a limit of 1.5 processors. nullopt for "max 100000",
// which is no limit, and for other texts.
std::optional<int> ProcessorsOfQuota(std::string_view cpu_max);

}  // namespace hlo

#endif  // HLO_BASE_PROCESSORS_H_
