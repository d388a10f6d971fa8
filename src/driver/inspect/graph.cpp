#include "driver/inspect/graph.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "ir/fusion.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

const Instruction* ScalarConstant(const Instruction& inst) {
  if (inst.Is(Opcode::kBroadcast)) return ScalarConstant(inst.operand(0));
  return inst.Is(Opcode::kConstant) && inst.shape().IsScalar() ? &inst : nullptr;
}

std::string Cut(const std::string& text, size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

std::string OpText(const Instruction& inst) {
  if (inst.Is(Opcode::kParameter)) return Str("parameter ", inst.parameter_number());
  if (IsLibraryCall(inst)) return LibraryOf(inst);
  if (inst.Is(Opcode::kFusion)) return Str("fusion ", inst.attrs<FusionAttrs>().kind);
  if (inst.Is(Opcode::kCustomCall)) return Cut(inst.attrs<CustomCallAttrs>().target, 40);
  if (inst.Is(Opcode::kGetTupleElement)) return Str("element ", inst.tuple_index());
  std::string text(ToString(inst.opcode()));
  for (const Computation* called : CalledComputations(inst)) {
    const bool reducer = called->InstructionCount() <= 4 && called->root().operand_count() == 2;
    text += Str(" ", reducer ? std::string(ToString(called->root().opcode())) : Cut(called->name(), 24));
  }
  return text;
}

constexpr size_t kWidest = 44;
constexpr std::string_view kResult = "result";

std::vector<std::string> LabelOf(const Instruction& inst) {
  std::vector<std::string> lines = {OpText(inst), Cut(std::string(inst.name()), kWidest),
                                    Cut(inst.shape().ToString(), kWidest)};
  if (inst.Is(Opcode::kConstant) && inst.shape().IsScalar()) lines.push_back(Cut(Print(inst.literal()), kWidest));
  if (inst.Is(Opcode::kElidedConstant)) lines.emplace_back("elided in the text");
  for (int64_t i = 0; i < inst.operand_count(); ++i) {
    if (const Instruction* constant = ScalarConstant(inst.operand(i)))
      lines.push_back(Cut(Str("operand ", i, " = ", Print(constant->literal())), kWidest));
  }
  return lines;
}

std::vector<bool> Near(const Instruction& center, int64_t width) {
  std::vector<bool> near(center.module().id_limit());
  std::vector<const Instruction*> level = {&center};
  near[center.id()] = true;
  for (int64_t distance = 0; distance < width && !level.empty(); ++distance) {
    std::vector<const Instruction*> next;
    const auto reach = [&](const Instruction* other) {
      if (near[other->id()]) return;
      near[other->id()] = true;
      next.push_back(other);
    };
    for (const Instruction* inst : level) {
      std::ranges::for_each(inst->operands(), reach);
      std::ranges::for_each(inst->users(), reach);
    }
    level = std::move(next);
  }
  return near;
}

struct Source {
  const Instruction* base;     // Never a get-tuple-element.
  std::vector<int64_t> index;  // Empty: all of `base`.
  const Instruction* element;  // The element nearest to `base`, or `base` itself.
};

Source SourceOf(const Instruction& value) {
  Source source{&value, {}, &value};
  while (true) {
    const Instruction& inst = *source.base;
    if (inst.Is(Opcode::kGetTupleElement)) {
      source.index.insert(source.index.begin(), inst.tuple_index());
      source.base = &inst.operand(0);
    } else if (inst.Is(Opcode::kTuple) && !source.index.empty()) {
      source.base = &inst.operand(source.index.front());
      source.index.erase(source.index.begin());
      if (source.index.empty()) source.element = source.base;
    } else {
      return source;
    }
  }
}

std::string IndexText(const std::vector<int64_t>& index) { return Str("{", Join(index, ","), "}"); }

class Builder {
 public:
  explicit Builder(const GraphOptions& options) : options_(options) {}

  Graph Build(const Computation& computation) {
    std::vector<bool> shown(computation.module().id_limit(), options_.around == nullptr);
    if (options_.around != nullptr) shown = Near(*options_.around, options_.width);
    std::unordered_map<const Instruction*, int> nodes;
    for (const Instruction* inst : computation.PostOrder()) {
      if (!shown[inst->id()] || IsShownInLabels(*inst) || IsFolded(*inst)) continue;
      const bool frame = options_.expand_fusions && inst->Is(Opcode::kFusion) && !IsLibraryCall(*inst);
      const int node = AddNode(*inst, -1);
      nodes[inst] = node;
      if (IsElementOfParameter(*inst)) {
        const Source source = SourceOf(*inst);
        graph_.nodes[node].lines[0] = Str("parameter ", source.base->parameter_number(), " ", IndexText(source.index));
        graph_.nodes[node].family = OpFamily::kParameter;
        continue;
      }
      std::vector<int> ports;
      if (frame) ports = AddInside(node);
      for (int64_t i = 0; i < inst->operand_count(); ++i) {
        for (const Instruction* source : SourcesOf(inst->operand(i))) {
          const auto from = nodes.find(source);
          if (from != nodes.end()) AddEdge({from->second, node, frame ? ports[i] : -1});
        }
      }
      NameElements(*inst, node);
    }
    MarkResults(computation.root(), nodes);
    return std::move(graph_);
  }

 private:
  bool IsShownInLabels(const Instruction& inst) const {
    if (ScalarConstant(inst) == nullptr || inst.users().empty() || inst.IsRoot() || &inst == options_.around)
      return false;
    // If a user is a folded root, the value must be drawn, because a folded root has no label.
    return std::ranges::none_of(inst.users(),
                                [&](const Instruction* user) { return user->IsRoot() && IsFolded(*user); });
  }

  bool IsElementOfParameter(const Instruction& inst) const {
    return options_.fold_tuples && inst.Is(Opcode::kGetTupleElement) && SourceOf(inst).base->Is(Opcode::kParameter);
  }

  // Whether the instruction has no node. Elements that nothing reads have no node either.
  bool IsFolded(const Instruction& inst) const {
    if (!options_.fold_tuples || &inst == options_.around) return false;
    const auto is_element = [](const Instruction* user) { return user->Is(Opcode::kGetTupleElement); };
    const bool has_users = !inst.users().empty();
    if (inst.Is(Opcode::kTuple)) {
      const auto others =
          std::ranges::count_if(inst.users(), [&](const Instruction* user) { return !is_element(user); });
      return inst.operand_count() > 0 && (inst.IsRoot() ? !has_users : has_users && others <= 1);
    }
    if (inst.IsRoot()) return false;
    if (!has_users) return inst.Is(Opcode::kGetTupleElement);
    const bool only_elements_are_read = std::ranges::all_of(inst.users(), is_element);
    if (inst.Is(Opcode::kParameter)) return inst.shape().IsTuple() && only_elements_are_read;
    if (!inst.Is(Opcode::kGetTupleElement)) return false;
    return !SourceOf(inst).base->Is(Opcode::kParameter) || (inst.shape().IsTuple() && only_elements_are_read);
  }

  std::vector<const Instruction*> SourcesOf(const Instruction& value) const {
    if (!IsFolded(value)) return {&value};
    std::vector<const Instruction*> sources, left = {&value};
    while (!left.empty()) {
      const Source source = SourceOf(*left.back());
      left.pop_back();
      const Instruction* const from = IsElementOfParameter(*source.element) ? source.element : source.base;
      if (from->Is(Opcode::kTuple) && IsFolded(*from)) {
        for (int64_t i = from->operand_count(); i-- > 0;) left.push_back(&from->operand(i));
      } else if (std::ranges::find(sources, from) == sources.end()) {
        sources.push_back(from);
      }
    }
    return sources;
  }

  void NameElements(const Instruction& inst, int node) {
    constexpr int kMost = 4;
    int named = 0;
    for (int64_t i = 0; i < inst.operand_count() && named < kMost; ++i) {
      if (!inst.operand(i).Is(Opcode::kGetTupleElement) || !IsFolded(inst.operand(i))) continue;
      const Source source = SourceOf(inst.operand(i));
      if (source.index.empty() || source.base->Is(Opcode::kParameter)) continue;
      ++named;
      graph_.nodes[node].lines.push_back(
          Cut(Str("operand ", i, " = ", source.base->name(), " ", IndexText(source.index)), kWidest));
    }
  }

  void MarkResults(const Instruction& root, const std::unordered_map<const Instruction*, int>& nodes) {
    if (!IsFolded(root)) return;
    std::map<int, std::string> results;
    for (int64_t i = 0; i < root.operand_count(); ++i) {
      for (const Instruction* source : SourcesOf(root.operand(i))) {
        const auto node = nodes.find(source);
        if (node == nodes.end()) continue;
        std::string& text = results[node->second];
        text += Str(text.empty() ? "" : ",", i);
      }
    }
    for (const auto& [node, text] : results)
      graph_.nodes[node].lines.push_back(Cut(Str(kResult, " {", text, "}"), kWidest));
  }

  int AddNode(const Instruction& inst, int frame) {
    graph_.nodes.push_back({.inst = &inst, .lines = LabelOf(inst), .family = FamilyOf(inst), .frame = frame});
    return static_cast<int>(graph_.nodes.size()) - 1;
  }
  void AddEdge(GraphEdge edge) {
    for (auto it = graph_.edges.rbegin(); it != graph_.edges.rend() && it->to == edge.to; ++it) {
      if (it->from == edge.from && it->port == edge.port) return;
    }
    graph_.edges.push_back(edge);
  }

  std::vector<int> AddInside(int frame) {
    graph_.nodes[frame].is_frame = true;
    const Instruction& fusion = *graph_.nodes[frame].inst;
    const Computation& inside = FusedComputation(fusion);
    std::unordered_map<const Instruction*, int> nodes;
    std::vector<int> ports;
    for (const Instruction* parameter : inside.parameters()) {
      const int port = AddNode(*parameter, frame);
      const Instruction* constant = ScalarConstant(fusion.operand(parameter->parameter_number()));
      graph_.nodes[port].lines = {constant == nullptr
                                      ? Str(parameter->parameter_number())
                                      : Str(parameter->parameter_number(), " = ", Print(constant->literal()))};
      nodes[parameter] = port;
      ports.push_back(port);
    }
    std::vector<Instruction*> order = inside.PostOrder();
    std::stable_partition(order.begin(), order.end(), [](const Instruction* inst) { return !inst->IsRoot(); });
    for (const Instruction* inst : order) {
      if (inst->Is(Opcode::kParameter) || IsShownInLabels(*inst)) continue;
      const int node = nodes[inst] = AddNode(*inst, frame);
      for (const Instruction* operand : inst->operands()) {
        if (const auto from = nodes.find(operand); from != nodes.end()) AddEdge({from->second, node});
      }
    }
    return ports;
  }

  const GraphOptions& options_;
  Graph graph_;
};

std::string DotText(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

struct FamilyRow {
  Opcode opcode;
  OpFamily family;
};
constexpr FamilyRow kFamilies[] = {
    {Opcode::kBitcast, OpFamily::kMovement},
    {Opcode::kCholesky, OpFamily::kContraction},
    {Opcode::kConvolution, OpFamily::kContraction},
    {Opcode::kCopy, OpFamily::kMovement},
    {Opcode::kDot, OpFamily::kContraction},
    {Opcode::kFft, OpFamily::kContraction},
    {Opcode::kFusion, OpFamily::kControl},
    {Opcode::kGetTupleElement, OpFamily::kMovement},
    {Opcode::kIota, OpFamily::kConstant},
    {Opcode::kParameter, OpFamily::kParameter},
    {Opcode::kRaggedDot, OpFamily::kContraction},
    {Opcode::kReduce, OpFamily::kReduction},
    {Opcode::kReduceWindow, OpFamily::kReduction},
    {Opcode::kScaledDot, OpFamily::kContraction},
    {Opcode::kScan, OpFamily::kReduction},
    {Opcode::kScatter, OpFamily::kReduction},
    {Opcode::kSelectAndScatter, OpFamily::kReduction},
    {Opcode::kSort, OpFamily::kReduction},
    {Opcode::kTopK, OpFamily::kReduction},
    {Opcode::kTriangularSolve, OpFamily::kContraction},
    {Opcode::kTuple, OpFamily::kMovement},
};

}  // namespace

OpFamily FamilyOf(const Instruction& inst) {
  if (IsLibraryCall(inst)) return OpFamily::kContraction;
  const auto row = std::ranges::find(kFamilies, inst.opcode(), &FamilyRow::opcode);
  if (row != std::end(kFamilies)) return row->family;
  if (inst.Is(kHoldsLiteral)) return OpFamily::kConstant;
  if (inst.Is(kMoves)) return OpFamily::kMovement;
  if (inst.Is(kControl)) return OpFamily::kControl;
  return inst.Is(kElementwise) ? OpFamily::kElementwise : OpFamily::kOther;
}

Graph GraphOf(const Computation& computation, const GraphOptions& options) {
  return Builder(options).Build(computation);
}

std::string FrameTitle(const GraphNode& frame) {
  std::string title = Str(frame.lines[0], " ", frame.inst->name());
  if (frame.lines.back().starts_with(kResult)) title += Str("  ", frame.lines.back());
  return title;
}

std::string GraphDot(const Graph& graph, const std::string& title) {
  // Light, because the text is black.
  constexpr const char* kColors[] = {"#dbeafe", "#e5e7eb", "#dcfce7", "#fde68a",
                                     "#fecaca", "#f3f4f6", "#e9d5ff", "#fbcfe8"};
  std::string out =
      Str("digraph ", DotText(title), " {\n  node [shape=box style=filled fontname=monospace fontsize=10]\n");
  out += "  compound=true\n";
  std::vector<int> root_of(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].frame >= 0) root_of[graph.nodes[i].frame] = static_cast<int>(i);
  }
  int open = -1;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphNode& node = graph.nodes[i];
    if (open >= 0 && node.frame != open) {
      out += "  }\n";
      open = -1;
    }
    if (node.is_frame) {
      open = static_cast<int>(i);
      out += Str("  subgraph cluster_", i, " {\n    label=", DotText(FrameTitle(node)),
                 " fontname=monospace fontsize=10 style=rounded\n");
      continue;
    }
    std::string label;
    for (const std::string& line : node.lines)
      label += Str(label.empty() ? "" : "\\n", DotText(line).substr(1, DotText(line).size() - 2));
    out += Str(node.frame >= 0 ? "    n" : "  n", i, " [label=\"", label, "\" fillcolor=\"",
               kColors[static_cast<int>(node.family)], "\" tooltip=", DotText(ToString(*node.inst)), "]\n");
  }
  if (open >= 0) out += "  }\n";
  for (const GraphEdge& edge : graph.edges) {
    const int from = root_of[edge.from] >= 0 ? root_of[edge.from] : edge.from;
    out += Str("  n", from, " -> n", edge.port >= 0 ? edge.port : edge.to, "\n");
  }
  return out + "}\n";
}

}  // namespace hlo
