// The collectives of a module: how often each runs, and the bytes that a device receives.
#ifndef HLO_DRIVER_INSPECT_COLLECTIVES_H_
#define HLO_DRIVER_INSPECT_COLLECTIVES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace hlo {

struct CollectiveRow {
  const Instruction* inst;
  std::string_view kind;  // The opcode, without -start.
  double runs = 1;        // In one run of the entry.
  // Bytes of the result on one device, as in XLA's figures for the traffic between peers.
  int64_t bytes = 0;
  std::optional<int64_t> group_size;  // nullopt for pairs, and for groups of different sizes.

  double TotalBytes() const { return runs * static_cast<double>(bytes); }
};

// All collectives of a kind with groups of one size.
struct CollectiveSum {
  std::string_view kind;
  std::optional<int64_t> group_size;
  int64_t instructions = 0;
  double runs = 0, bytes = 0;
};

struct CollectiveReport {
  const Module* module;
  std::vector<CollectiveRow> rows;                // By total bytes, the largest first.
  std::vector<CollectiveSum> sums;                // By bytes, the largest first.
  double runs = 0, bytes = 0;                     // Of all.
  std::vector<const Instruction*> unknown_loops;  // Loops whose number of trips is unknown. They count one trip.
};

// Instructions in a loop count once for each trip. All branches of a conditional count.
CollectiveReport CollectivesOf(const Module& module);
// `against` is another module's report, whose sums are shown beside, or null. `top` is the number of rows, 0 for all.
std::string CollectivesText(const CollectiveReport& report, const CollectiveReport* against, int64_t top);
std::string CollectivesJson(const CollectiveReport& report, const CollectiveReport* against);  // "hlo.collectives/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_COLLECTIVES_H_
