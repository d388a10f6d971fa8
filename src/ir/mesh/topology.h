// The links between devices, as levels from the inside out: the devices of a node, then the nodes. topology.def has the
// models.
//
// The devices of the first node have the first numbers.
#ifndef HLO_IR_MESH_TOPOLOGY_H_
#define HLO_IR_MESH_TOPOLOGY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

struct TopologyLevel {
  std::string_view name;  // "NVLink".
  int64_t size;           // Number of devices, or units of the next inner level, that it connects. 0: any.
  double latency_seconds;
  // Received by a device: the peak rate of its links times the share that collectives reach.
  double bytes_per_second;
};

struct Topology {
  std::string name;
  std::vector<TopologyLevel> levels;

  // 0 if the topology has any number of devices.
  int64_t DeviceCount() const;
  std::string Text() const;  // "dgx_h100: 2 nodes with 8 devices". The topology must be from For.
  // The part that a program for this many devices uses. All nodes have equally many devices: the largest divisor of
  // `devices` that fits. Errors (F004): there are too few nodes.
  Result<Topology> For(int64_t devices) const;
};

// "dgx_h100", or with a number of nodes "dgx_h100x128". Errors (F004): the name is unknown.
Result<Topology> FindTopology(std::string_view text);
// nullptr if none is known.
const Topology* UsualTopology(std::string_view device);
std::string TopologyNames();  // "host2, dgx_h100, ..."

}  // namespace hlo

#endif  // HLO_IR_MESH_TOPOLOGY_H_
