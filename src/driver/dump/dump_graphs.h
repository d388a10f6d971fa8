// Dumps the graphs that a device recorded for a module.
#ifndef HLO_DRIVER_DUMP_DUMP_GRAPHS_H_
#define HLO_DRIVER_DUMP_DUMP_GRAPHS_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "gpu/runtime/recorded_graph.h"

namespace hlo {

// A Graphviz box for each node, and a frame for each body.
std::string RecordedDot(const gpu::RecordedGraph& graph, const std::string& title);
// A page with nested lists.
std::string RecordedHtml(const gpu::RecordedGraph& graph, const std::string& title);

// Writes recorded_graph_1.dot, recorded_graph_1.html, ...
Status DumpGraphs(std::span<const gpu::RecordedGraph> graphs, std::string_view module, Dumper& dumper);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_GRAPHS_H_
