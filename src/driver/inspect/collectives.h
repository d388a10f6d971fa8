// The collectives of a module: how often each runs, the bytes that a device receives, and on a topology the modelled
// time (ir/mesh/exchange_time.h).
#ifndef HLO_DRIVER_INSPECT_COLLECTIVES_H_
#define HLO_DRIVER_INSPECT_COLLECTIVES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/mesh/axes.h"
#include "ir/mesh/exchange_time.h"
#include "ir/module.h"

namespace hlo {

struct CollectiveRow {
  const Instruction* inst;
  std::string_view kind;  // The opcode, without -start.
  double runs = 1;        // In one run of the entry.
  // Bytes of the result on one device, as in XLA's figures for the traffic between peers.
  int64_t bytes = 0;
  std::optional<int64_t> group_size;  // nullopt for pairs, and for groups of different sizes.
  std::vector<std::string> axes;      // The axes along which members of a group differ. Empty if unknown.
  ExchangeTime time;                  // For one run. 0 without a topology.

  double TotalBytes() const { return runs * static_cast<double>(bytes); }
  double TotalSeconds() const { return runs * time.seconds; }
};

// All collectives of a kind with groups of one size, along the same axes.
struct CollectiveSum {
  std::string_view kind;
  std::optional<int64_t> group_size;
  std::vector<std::string> axes;
  int64_t instructions = 0;
  double runs = 0, bytes = 0, seconds = 0;
};

struct CollectiveReport {
  const Module* module;
  std::optional<Topology> topology;
  std::vector<CollectiveRow> rows;  // By total time, then total bytes, the largest first.
  std::vector<CollectiveSum> sums;  // In the same order.
  CollectiveSum all = {.kind = "all"};
  std::vector<const Instruction*> unknown_loops;  // The number of trips is unknown and counts as 1.
};

// The axes that have names in the text: Shardy's, and those of replica_groups. nullopt if there are none.
std::optional<Axes> NamedAxesOf(const Module& module);

// Instructions in a loop count once for each trip. All branches of a conditional count. The topology must be from
// Topology::For. `axes` name the groups. Reports that are compared need the same axes.
CollectiveReport CollectivesOf(const Module& module, std::optional<Topology> topology = {},
                               const std::optional<Axes>& axes = {});
// `against` is another module's report to compare with, or null. `top` is the number of rows, 0 for all.
std::string CollectivesText(const CollectiveReport& report, const CollectiveReport* against, int64_t top);
std::string CollectivesJson(const CollectiveReport& report, const CollectiveReport* against);  // "hlo.collectives/1"

}  // namespace hlo

#endif  // HLO_DRIVER_INSPECT_COLLECTIVES_H_
