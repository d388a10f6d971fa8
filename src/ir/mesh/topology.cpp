#include "ir/mesh/topology.h"

#include <algorithm>

#include "base/counted.h"

namespace hlo {
namespace {

struct Row {
  Topology topology;
  std::string_view devices;
};

TopologyLevel Level(std::string_view name, int64_t size, double latency, int links, double rate, double share) {
  return {name, size, latency, links * rate * share};
}

const std::vector<Row>& Rows() {
  static const std::vector<Row> rows = {
#define LEVEL(...) Level(__VA_ARGS__),
#define TOPOLOGY(name, devices, levels) {{#name, {levels}}, devices},
#include "ir/mesh/topology.def"
  };
  return rows;
}

const Topology* Named(std::string_view name) {
  for (const Row& row : Rows()) {
    if (row.topology.name == name) return &row.topology;
  }
  return nullptr;
}

}  // namespace

int64_t Topology::DeviceCount() const {
  int64_t devices = 1;
  for (const TopologyLevel& level : levels) devices *= level.size;
  return devices;
}

std::string Topology::Text() const {
  std::string text = Counted(levels[0].size, "device");
  if (levels.size() > 1) text = Str(Counted(levels[1].size, "node"), " with ", text);
  return Str(name, ": ", text);
}

Result<Topology> Topology::For(int64_t devices) const {
  Topology part = *this;
  int64_t units = devices;
  for (size_t i = 0; i + 1 < levels.size(); ++i) {
    int64_t size = std::min(levels[i].size, units);
    while (units % size != 0) --size;
    part.levels[i].size = size;
    units /= size;
  }
  const int64_t most = levels.back().size;
  if (most != 0 && units > most) {
    const bool has_nodes = levels.size() > 1;
    FAIL(UsageError("F004", Str("--topology: '", name, "' has ", Counted(most, has_nodes ? "node" : "device"),
                                ", but a program for ", Counted(devices, "device"), " needs ",
                                has_nodes ? Counted(units, "node") : Str(units))));
  }
  part.levels.back().size = units;
  return part;
}

Result<Topology> FindTopology(std::string_view text) {
  if (const Topology* row = Named(text)) return *row;
  constexpr int64_t kMostNodes = 1 << 20;
  const size_t end = text.rfind('x');
  int64_t nodes = 0;
  if (end != std::string_view::npos && ParseInt(text.substr(end + 1), &nodes) && nodes >= 1 && nodes <= kMostNodes) {
    if (const Topology* row = Named(text.substr(0, end))) {
      Topology topology = *row;
      topology.name = text;
      topology.levels.back().size = nodes;
      return topology;
    }
  }
  std::vector<std::string_view> names;
  for (const Row& row : Rows()) names.push_back(row.topology.name);
  const std::vector<std::string> near = NearNames(text, names);
  FAIL(UsageError("F004", Str("--topology: no description of '", Escaped(text), "'; known: ", TopologyNames(),
                              ", also with a number of nodes, such as dgx_h100x128"))
           .Hint(near.empty() ? "" : Str("did you mean '", Join(near, "', '"), "'?")));
}

const Topology* UsualTopology(std::string_view device) {
  for (const Row& row : Rows()) {
    const std::vector<std::string_view> devices = Split(row.devices, ' ');
    if (!device.empty() && std::ranges::find(devices, device) != devices.end()) return &row.topology;
  }
  return nullptr;
}

std::string TopologyNames() {
  std::vector<std::string_view> names;
  for (const Row& row : Rows()) names.push_back(row.topology.name);
  return Join(names, ", ");
}

}  // namespace hlo
