// What a device recorded of a module's steps and queues as one, in the module's dump.
#ifndef HLO_DRIVER_DUMP_DUMP_GRAPHS_H_
#define HLO_DRIVER_DUMP_DUMP_GRAPHS_H_

#include <span>
#include <string>

#include "base/result.h"
#include "driver/dump/dump.h"
#include "gpu/runtime/recorded_graph.h"

namespace hlo {

// For Graphviz: a box for each node, a frame for each body of a loop or branch.
std::string RecordedDot(const gpu::RecordedGraph& graph, const std::string& title);
// The same as one page, as nested lists.
std::string RecordedHtml(const gpu::RecordedGraph& graph, const std::string& title);

// Writes, in the dump of the module, recorded_graph_1.dot, recorded_graph_1.html, recorded_graph_2.dot, ...
Status DumpGraphs(std::span<const gpu::RecordedGraph> graphs, std::string_view module, Dumper& dumper);

}  // namespace hlo

#endif  // HLO_DRIVER_DUMP_DUMP_GRAPHS_H_
