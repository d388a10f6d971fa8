#include "driver/dump/dump_graphs.h"

#include <map>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "driver/dump/dump_index.h"
#include "driver/page.h"
#include "driver/xml.h"

namespace hlo {
namespace {

using gpu::RecordedGraph;
using gpu::RecordedNode;
using Kind = RecordedNode::Kind;
using Nodes = std::vector<RecordedNode>;

struct KindInfo {
  std::string_view one, several;
  std::string_view color;
};

const KindInfo& InfoOf(Kind kind) {
  static constexpr KindInfo kInfos[] = {
      {"kernel", "kernels", "#dcfce7"}, {"library call", "library calls", "#fde68a"},   {"copy", "copies", "#e5e7eb"},
      {"fill", "fills", "#e5e7eb"},     {"unrolled loop", "unrolled loops", "#e9d5ff"}, {"loop", "loops", "#e9d5ff"},
      {"branch", "branches", "#e9d5ff"}};
  return kInfos[static_cast<int>(kind)];
}

std::string NameOf(const RecordedNode& node) {
  const std::string_view inst = node.instruction != nullptr ? node.instruction->name() : std::string_view();
  if (node.kind == Kind::kKernel && !node.name.empty()) return node.name;
  if (node.kind == Kind::kKernel || node.kind == Kind::kLibrary) return std::string(inst);
  const std::string what = std::string(InfoOf(node.kind).one);
  if (node.kind == Kind::kCopy || node.kind == Kind::kFill)
    return Str(what, " ", HumanBytes(static_cast<double>(node.bytes)), inst.empty() ? "" : " ", inst);
  return std::string(inst);
}

std::string BodyName(const RecordedNode& node, size_t body) {
  if (node.kind == Kind::kLoop) return "each trip, until the condition is false";
  if (node.kind == Kind::kTrips) return Str("each of ", node.trips, " trips, unrolled");
  const bool by_pred = node.instruction->operand(0).shape().type() == PrimitiveType::kPred;
  return by_pred ? body == 0 ? "true" : "false" : Str("branch ", body);
}

// ---- Dot ----

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n') out += "\\n";
    else out += c;
  }
  return out + '"';
}

class DotWriter {
 public:
  std::string Write(const RecordedGraph& graph, const std::string& title) {
    out_ = Str("digraph ", Quoted(title),
               " {\n  node [shape=box style=filled fontname=monospace fontsize=10]\n"
               "  graph [fontname=monospace fontsize=10 style=rounded]\n");
    Sequence(graph.nodes, {}, "  ");
    return out_ + edges_ + "}\n";
  }

 private:
  using Ids = std::vector<int>;

  int Box(std::string_view label, std::string_view color, const std::string& indent) {
    out_ += Str(indent, "n", boxes_, " [label=", Quoted(label), " fillcolor=\"", color, "\"]\n");
    return boxes_++;
  }

  // The first nodes follow the boxes `before`. Returns the boxes that the next node must follow.
  Ids Sequence(const Nodes& nodes, const Ids& before, const std::string& indent) {
    std::vector<Ids> ends(nodes.size());
    std::vector<bool> is_last(nodes.size(), true);
    for (size_t i = 0; i < nodes.size(); ++i) {
      const RecordedNode& node = nodes[i];
      const std::string label = node.how.empty() ? NameOf(node) : Str(NameOf(node), "\n", node.how);
      const Ids box = {Box(label, InfoOf(node.kind).color, indent)};
      const auto come_from = [&](const Ids& all) {
        for (const int from : all) edges_ += Str("  n", from, " -> n", box.front(), "\n");
      };
      if (node.after.empty()) come_from(before);
      for (const int one : node.after) {
        come_from(ends[one]);
        is_last[one] = false;
      }
      ends[i] = node.bodies.empty() ? box : Bodies(node, box, indent);
    }
    Ids last;
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (is_last[i]) last.insert(last.end(), ends[i].begin(), ends[i].end());
    }
    return nodes.empty() ? before : last;
  }

  Ids Bodies(const RecordedNode& node, const Ids& box, const std::string& indent) {
    Ids ends;
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      out_ += Str(indent, "subgraph cluster_", clusters_++, " {\n", indent,
                  "  label=", Quoted(Str(NameOf(node), ": ", BodyName(node, i))), "\n");
      const std::string inside = indent + "  ";
      Ids end;
      if (node.bodies[i].empty()) {
        end = {Box("nothing", "#ffffff", inside)};
        edges_ += Str("  n", box.front(), " -> n", end.front(), "\n");
      } else {
        end = Sequence(node.bodies[i], box, inside);
      }
      out_ += indent + "}\n";
      ends.insert(ends.end(), end.begin(), end.end());
      if (node.kind == Kind::kBranch) continue;
      for (const int from : end) edges_ += Str("  n", from, " -> n", box.front(), " [style=dashed constraint=false]\n");
    }
    return node.kind == Kind::kBranch ? ends : box;
  }

  std::string out_, edges_;
  int boxes_ = 0, clusters_ = 0;
};

// ---- HTML ----

constexpr std::string_view kRules = R"html(ol{margin:0;padding:0 0 0 18px;list-style:none;border-left:1px solid #8886}
li{margin:2px 0;font:12px/1.5 ui-monospace,monospace}
li>b{padding:1px 6px;border-radius:3px;color:#000}
li>i{font-style:normal;opacity:.65}
)html";

// "after a, b", or "" if the node follows the previous one.
std::string AfterText(const Nodes& nodes, size_t i) {
  const std::vector<int>& after = nodes[i].after;
  if (i == 0 || after == std::vector<int>{static_cast<int>(i) - 1}) return "";
  std::vector<std::string> names;
  for (const int one : after) names.push_back(NameOf(nodes[one]));
  return names.empty() ? "at the start" : Str("after ", Join(names, ", "));
}

void AppendList(std::string& out, const Nodes& nodes) {
  out += "<ol>\n";
  for (size_t at = 0; at < nodes.size(); ++at) {
    const RecordedNode& node = nodes[at];
    const std::string_view inst = node.instruction != nullptr ? node.instruction->name() : std::string_view();
    out += Str("<li><b style=\"background:", InfoOf(node.kind).color, "\">", XmlText(NameOf(node)), "</b> ");
    std::string about = node.how;
    if (inst != NameOf(node) && !inst.empty()) about += Str(about.empty() ? "" : "; ", "of ", inst);
    if (const std::string after = AfterText(nodes, at); !after.empty()) about += Str(about.empty() ? "" : "; ", after);
    if (!about.empty()) out += Str("<i>", XmlText(about), "</i>");
    for (size_t i = 0; i < node.bodies.size(); ++i) {
      out += Str("<br><i>", XmlText(BodyName(node, i)), node.bodies[i].empty() ? ": nothing" : "", "</i>\n");
      if (!node.bodies[i].empty()) AppendList(out, node.bodies[i]);
    }
    out += "</li>\n";
  }
  out += "</ol>\n";
}

void Count(const Nodes& nodes, std::map<Kind, int64_t>& counts) {
  for (const RecordedNode& node : nodes) {
    counts[node.kind] += 1;
    for (const Nodes& body : node.bodies) Count(body, counts);
  }
}

}  // namespace

std::string RecordedDot(const gpu::RecordedGraph& graph, const std::string& title) {
  return DotWriter().Write(graph, title);
}

std::string RecordedHtml(const gpu::RecordedGraph& graph, const std::string& title) {
  std::map<Kind, int64_t> counts;
  Count(graph.nodes, counts);
  std::vector<std::string> parts;
  for (const auto& [kind, count] : counts)
    parts.push_back(Str(count, " ", count == 1 ? InfoOf(kind).one : InfoOf(kind).several));
  std::string out = PageHead(title, kRules);
  out += Str("<h1>", XmlText(title), "</h1>\n<p>Recorded as one graph: ", Join(parts, ", "),
             ". Each node waits for the node before it, unless its line names others.</p>\n");
  AppendList(out, graph.nodes);
  return Str(out, kPageEnd);
}

Status DumpGraphs(std::span<const gpu::RecordedGraph> graphs, std::string_view module, Dumper& dumper) {
  for (size_t i = 0; i < graphs.size(); ++i) {
    const std::string title = Str(module, ": graph ", i + 1), stem = Str(kRecordedGraph, "_", i + 1);
    TRY(dumper.Write(stem + ".dot", RecordedDot(graphs[i], title)));
    TRY(dumper.Write(stem + ".html", RecordedHtml(graphs[i], title)));
  }
  return graphs.empty() ? Status() : dumper.WriteIndex();
}

}  // namespace hlo
