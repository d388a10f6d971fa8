// A model of the time of a collective on a topology.
//
// n members, B bytes of the whole array. A level has the latency a and the time b of a byte. o is 0.5 us for each
// further message that a device sends at once.
//
//   ring          all-gather, reduce-scatter  (n-1) a + (n-1)/n B b            all-reduce: twice that
//   direct        the same                    a + (n-1) o + (n-1)/n B b        all-reduce: twice that
//   tree          broadcast, reduce           ceil(log2 n) a + B b             all-reduce: twice that
//   direct        permute                     a + B b
//   direct        all-to-all                  a + (n-1) o + the longest time of a level
//   direct/tree   groups over two levels: one algorithm on B inside, one on B divided by the inner members outside. An
//                 all-reduce is a reduce-scatter and an all-gather inside. Trees of broadcasts carry B on both levels.
//
// In an all-to-all, each level carries the pieces to members outside of the next inner level. An algorithm alone uses
// the outermost level that a group needs, for all bytes. The fastest one counts. Links that several groups share are
// not modelled.
#ifndef HLO_IR_MESH_EXCHANGE_TIME_H_
#define HLO_IR_MESH_EXCHANGE_TIME_H_

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/mesh/exchange_groups.h"

namespace hlo {

enum class ExchangeKind : uint8_t { kAllGather, kReduceScatter, kAllReduce, kAllToAll, kPermute, kBroadcast, kReduce };

struct Exchange {
  ExchangeKind kind;
  int64_t result_bytes;  // On one device.
  // The whole array: the gathered result, the operand of a reduction, or the pieces that a device sends. For a
  // ragged-all-to-all, the most that fits into the result.
  double bytes;
  ExchangeGroups groups;
};
// The exchange of a collective or start. nullopt for others, such as a done.
std::optional<Exchange> ExchangeOf(const Instruction& inst);

struct ExchangeTime {
  std::string algorithm;  // "ring", "direct/tree" from the inside out, or "none".
  double seconds = 0;
  std::vector<double> received = {};  // The bytes that a device receives over the links of each level.
};
ExchangeTime TimeOfExchange(ExchangeKind kind, double bytes, std::span<const int64_t> members_at_levels,
                            const Topology& topology);
inline ExchangeTime TimeOfExchange(const Exchange& exchange, const Topology& topology) {
  return TimeOfExchange(exchange.kind, exchange.bytes, exchange.groups.MembersAtLevels(topology), topology);
}

enum class ExchangeAlgorithm : uint8_t { kRing, kDirect, kTree };

// One algorithm among the members of one level.
struct ExchangePhase {
  ExchangeAlgorithm algorithm;
  double latency_seconds, received;

  double Seconds(const TopologyLevel& level) const { return latency_seconds + received / level.bytes_per_second; }
};
// nullopt if the algorithm does not apply to the kind. Must not be called for all-to-all and permute.
std::optional<ExchangePhase> PhaseOf(ExchangeAlgorithm algorithm, ExchangeKind kind, double bytes, int64_t members,
                                     const TopologyLevel& level);

}  // namespace hlo

#endif  // HLO_IR_MESH_EXCHANGE_TIME_H_
