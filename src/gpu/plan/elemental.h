// The value of one element of any instruction inside a fusion, as a graph of nodes, one for each different
// (instruction, index): first planned (index expressions are simplified, unsupported ops found, equal work shared),
// then emitted into a kernel (emission.h). What only moves data (reshape, transpose, slice, ...) leaves no node at all.
#ifndef HLO_GPU_PLAN_ELEMENTAL_H_
#define HLO_GPU_PLAN_ELEMENTAL_H_

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "base/result.h"
#include "ir/indexing.h"
#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo::gpu {

// What is emitted together: the computation of a fusion, or one instruction, whose operands are then the leaves.
class FusionBody {
 public:
  explicit FusionBody(const Instruction& inst);

  struct Leaf {  // An array that comes from outside.
    const Instruction*
        inst;  // Inside: a parameter (or a get-tuple-element of it); for a lone instruction: the operand.
    int64_t operand;
    ShapeIndex index;
    const Shape* shape;
  };
  struct Root {  // An array that goes out.
    const Instruction* inst;
    int64_t result;  // Which result of `inst`, when that is a variadic reduce or the like.
    ShapeIndex index;
    const Shape* shape;
  };

  const Instruction& source() const { return *source_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::vector<Root>& roots() const { return roots_; }
  // -1: computed inside.
  int LeafOf(const Instruction& inst) const;
  // Whether some array, inside or outside, has elements of two parts.
  bool HasComplex() const;
  // Operands first. Without the leaves.
  const std::vector<const Instruction*>& instructions() const { return instructions_; }

 private:
  void AddLeaves(const Instruction& inst, int64_t operand);
  void AddRoots(const Instruction& inst, ShapeIndex index);

  const Instruction* source_;
  std::vector<Leaf> leaves_;
  std::vector<Root> roots_;
  std::map<const Instruction*, int> leaf_of_;
  std::vector<const Instruction*> instructions_;
};

using NodeId = int32_t;

// low <= expression < high.
struct IndexCondition {
  IndexExpr expression;
  int64_t low, high;
};

struct ElementNode {
  enum class Kind : uint8_t {
    kLoad,     // leaf at `offset`.
    kLiteral,  // literal at `offset`.
    kIota,     // offset, as a number.
    kScalar,   // An elementwise op of the operands.
    kBits,  // The operand's bits as another type; with `offset` the part of them with this number; all operands joined.
    kGuard,   // conditions ? operands[0] : operands[1]; operands[0] is only right where they hold.
    kMap,     // A scalar computation of the operands.
    kReduce,  // A fold over its `steps`; operands are the initial values. The op is that of `inst`.
    kPick,    // select-and-scatter, from the side of one operand element: for each window that may cover it a step with
            // the source, followed by `window_size` steps with the window's elements. operands[0] is the initial value.
    kResult,  // Result `which` of operands[0].
    kGiven,   // Computed by the kernel's emitter before.
  };
  Kind kind;
  const Instruction* inst = nullptr;
  std::vector<IndexExpr> index;  // kGiven
  IndexExpr offset;
  int leaf = -1;
  int which = 0;
  std::vector<NodeId> operands;
  std::vector<IndexCondition> conditions;
  std::vector<IndexExpr> then_clamps, else_clamps;  // kGuard: clamps that change nothing on that side.
  // kReduce: one for each term when unrolled, else one that is run for all values of the loop variables (the first is
  // the outermost; from 0 to size - 1).
  struct Step {
    std::vector<IndexCondition> conditions;
    std::vector<NodeId> operands;
    std::vector<IndexCondition> own;  // kPick: this window position is the element itself.
  };
  std::vector<Step> steps;
  std::vector<IndexExpr> loop;
  std::vector<int64_t> loop_sizes;
  int64_t window_size = 0;         // kPick
  std::vector<int32_t> variables;  // That its value depends on: index variables that are no loaded indices.
  bool needs_given = false;        // Some kGiven node is among what it needs.
};

class ElementGraph {
 public:
  ElementGraph(const FusionBody& body, IndexPool& pool) : body_(body), pool_(pool) {}

  // The element of `inst` (result `result` of it) at a logical index. Errors: no emitter for an op on the way.
  Result<NodeId> Plan(const Instruction& inst, std::vector<IndexExpr> index, int64_t result = 0);
  // From now on `inst` is computed by somebody else: Plan gives kGiven nodes for it.
  void SetGiven(const Instruction& inst) { given_.insert(&inst); }

  // A loaded index (of gather, dynamic-slice): the variable stands for the node's value, clamped to its range.
  bool IsLoadedIndex(int32_t variable) const { return loaded_.contains(variable); }
  NodeId LoadedIndex(int32_t variable) const { return loaded_.at(variable); }
  // A variable for the value of a scalar index, clamped to [0, high].
  Result<IndexExpr> Loaded(const Instruction& inst, std::vector<IndexExpr> index, int64_t high);

  const ElementNode& node(NodeId id) const { return nodes_[id]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const FusionBody& body() const { return body_; }
  IndexPool& pool() { return pool_; }
  const IndexPool& pool() const { return pool_; }
  // Index variables behind e, through loaded indices too. Sorted.
  std::vector<int32_t> VariablesOf(IndexExpr e) const;
  // All nodes that `root` needs, operands first.
  std::vector<NodeId> Reachable(std::span<const NodeId> roots) const;
  // The nodes that this one needs itself, in the order of need.
  std::vector<NodeId> Needs(NodeId id) const;
  // Every index expression of a node.
  std::vector<IndexExpr> Expressions(NodeId id) const;

 private:
  struct Element {
    const Instruction* inst;
    std::vector<IndexExpr> index;
    int nested;  // How many that compute indices stand between this one and the root.
  };
  std::pair<const Instruction*, int64_t> SourceOf(const Instruction& inst, int64_t result) const;
  Result<NodeId> PlanOperandsFirst(Element wanted);
  std::vector<Element> OperandsOf(const Element& element);
  // The operand's index of what only moves elements, by a rule that needs no conditions. Null: something else.
  std::optional<std::vector<IndexExpr>> Moved(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> Build(const Instruction& inst, const std::vector<IndexExpr>& index);
  // By opcode, in element_builders.cpp; BuildScalar where there is none.
  struct Builder;
  static const Builder kBuilders[];
  Result<NodeId> BuildScalar(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildConstant(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildIota(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildBitcastConvert(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildMap(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildBitcast(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildConcatenate(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildPad(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildDynamicSlice(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildDynamicUpdateSlice(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildGather(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildReduce(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildReduceWindow(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildSelectAndScatter(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildContraction(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> BuildFold(ElementNode node, const std::vector<int64_t>& sizes,
                           const std::function<Result<ElementNode::Step>(const std::vector<IndexExpr>&)>& step);
  NodeId Add(ElementNode node);

  const FusionBody& body_;
  IndexPool& pool_;
  std::vector<ElementNode> nodes_;
  std::map<std::tuple<const Instruction*, std::vector<IndexExpr>>, NodeId> planned_;
  int nested_ = -1;  // Of the element that Build is at.
  std::map<std::tuple<NodeId, int>, NodeId> results_;
  std::set<const Instruction*> given_;
  std::map<int32_t, NodeId> loaded_;
  std::map<std::tuple<NodeId, int64_t>, IndexExpr> loaded_variables_;
};

int64_t Product(std::span<const int64_t> values);

// Where the base element of a window position lies: offset + position * stride + w * dilation - pad, divided by the
// base dilation; the conditions say whether there is one. Appends what is not certain.
IndexExpr WindowBase(IndexPool& pool, IndexExpr position, IndexExpr w, const WindowDim& window, int64_t size,
                     std::vector<IndexCondition>* conditions);
// `e` clamped to [low, high), with the conditions under which that changes nothing appended. Empty ranges: never holds.
IndexExpr Within(IndexPool& pool, IndexExpr e, int64_t low, int64_t high, std::vector<IndexCondition>* conditions);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ELEMENTAL_H_
