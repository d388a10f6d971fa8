// A model of the links between devices: the time of one collective is latency + bytes / rate.
//
// The bytes are those that arrive on a device. The model leaves out levels of a topology, groups that share a link, and
// the number of rounds of a collective's algorithm.
#ifndef HLO_IR_MESH_LINK_COST_H_
#define HLO_IR_MESH_LINK_COST_H_

#include <cstdint>
#include <string_view>

namespace hlo {

struct LinkCost {
  std::string_view name;   // "host2", "dgx_h100".
  double latency_seconds;  // For each collective.
  // The bytes that a device receives in a second: the peak rate of the link times the share that collectives reach.
  double bytes_per_second;

  double Seconds(int64_t collectives, int64_t arriving_bytes) const {
    return static_cast<double>(collectives) * latency_seconds + static_cast<double>(arriving_bytes) / bytes_per_second;
  }
};

// Null for an unknown name.
const LinkCost* FindLink(std::string_view name);

}  // namespace hlo

#endif  // HLO_IR_MESH_LINK_COST_H_
