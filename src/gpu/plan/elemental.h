// The value of one element of any instruction in a fusion, as a graph with a node for each (instruction, index).
// Planning simplifies indices, shares equal nodes and finds unsupported ops. Ops that only change the index have no
// nodes.
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
#include "ir/analysis/indexing.h"
#include "ir/dimensions.h"
#include "ir/instruction.h"
#include "ir/module.h"

namespace hlo::gpu {

// Instructions emitted together: a fusion's computation, or one instruction whose operands are the leaves.
class FusionBody {
 public:
  explicit FusionBody(const Instruction& inst);

  struct Leaf {
    const Instruction* inst;  // A fusion's parameter or its get-tuple-element, or a single instruction's operand.
    int64_t operand;
    ShapeIndex index;
    const Shape* shape;
  };
  struct Root {
    const Instruction* inst;
    int64_t result;  // Result number, if `inst` has several.
    ShapeIndex index;
    const Shape* shape;
  };

  const Instruction& source() const { return *source_; }
  const std::vector<Leaf>& leaves() const { return leaves_; }
  const std::vector<Root>& roots() const { return roots_; }
  // The leaf's number, or -1 if `inst` is computed in the body.
  int LeafOf(const Instruction& inst) const;
  bool HasComplex() const;
  // The instructions computed in the body, operands before users. Leaves are not among them.
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
    kLoad,     // Element `offset` of leaf number `leaf`.
    kLiteral,  // Element `offset` of the literal of `inst`.
    kIota,     // The value of `offset`.
    kScalar,
    kBits,   // The operand's bits as another type, or part number `offset` of them. Several operands are joined.
    kGuard,  // conditions ? operands[0] : operands[1]. operands[0] is valid only where the conditions hold.
    kMap,
    kReduce,  // A fold over `steps`, such as a reduction or dot. `operands` are initial values.
    kPick,  // A select-and-scatter. For each window that may cover the element, `steps` has the source element and then
            // the window's `window_size` elements. operands[0] is the initial value.
    kResult,  // Result `which` of operands[0].
    kGiven,   // A value that the emitter computes itself.
  };
  Kind kind;
  const Instruction* inst = nullptr;
  std::vector<IndexExpr> index;  // For kGiven.
  IndexExpr offset;
  int leaf = -1;
  int which = 0;
  std::vector<NodeId> operands;
  std::vector<IndexCondition> conditions;
  // kGuard: clamps that have no effect while operands[0], or operands[1], is computed.
  std::vector<IndexExpr> then_clamps, else_clamps;
  // kReduce: an unrolled fold has a step for each term. Otherwise a single step depends on the variables `loop`,
  // outermost first, each in [0, its size in `loop_sizes`).
  struct Step {
    std::vector<IndexCondition> conditions;
    std::vector<NodeId> operands;
    std::vector<IndexCondition> own;  // kPick: hold if the window position is the result element itself.
  };
  std::vector<Step> steps;
  std::vector<IndexExpr> loop;
  std::vector<int64_t> loop_sizes;
  int64_t window_size = 0;         // kPick
  std::vector<int32_t> variables;  // Index variables on which the value depends.
  bool needs_given = false;
};

class ElementGraph {
 public:
  ElementGraph(const FusionBody& body, IndexPool& pool) : body_(body), pool_(pool) {}

  // The node of the element of `inst` at a logical index. `result` selects an array of a tuple. Errors: an op without
  // an emitter.
  Result<NodeId> Plan(const Instruction& inst, std::vector<IndexExpr> index, int64_t result = 0);
  // Makes Plan return kGiven nodes for `inst`.
  void SetGiven(const Instruction& inst) { given_.insert(&inst); }

  // An index that a gather or dynamic-slice loads is a variable. Its value is a node's value, clamped to its range.
  bool IsLoadedIndex(int32_t variable) const { return loaded_.contains(variable); }
  NodeId LoadedIndex(int32_t variable) const { return loaded_.at(variable); }
  // The variable for the integer element of `inst` at `index`, clamped to [0, high].
  Result<IndexExpr> Loaded(const Instruction& inst, std::vector<IndexExpr> index, int64_t high);

  const ElementNode& node(NodeId id) const { return nodes_[id]; }
  int32_t size() const { return static_cast<int32_t>(nodes_.size()); }
  const FusionBody& body() const { return body_; }
  IndexPool& pool() { return pool_; }
  const IndexPool& pool() const { return pool_; }
  // Index variables on which `e` depends, directly or through loaded indices, sorted.
  std::vector<int32_t> VariablesOf(IndexExpr e) const;
  // `roots` and all nodes that they need, operands first.
  std::vector<NodeId> Reachable(std::span<const NodeId> roots) const;
  // The nodes on which this node depends directly, including nodes of loaded indices.
  std::vector<NodeId> Needs(NodeId id) const;
  std::vector<IndexExpr> Expressions(NodeId id) const;

 private:
  struct Element {
    const Instruction* inst;
    std::vector<IndexExpr> index;
    int nested;  // Operations up to the root that compute indices.
  };
  std::pair<const Instruction*, int64_t> SourceOf(const Instruction& inst, int64_t result) const;
  Result<NodeId> PlanOperandsFirst(Element wanted);
  std::vector<Element> OperandsOf(const Element& element);
  // The operand's index if the op only moves elements without conditions.
  std::optional<std::vector<IndexExpr>> Moved(const Instruction& inst, const std::vector<IndexExpr>& index);
  Result<NodeId> Build(const Instruction& inst, const std::vector<IndexExpr>& index);
  // Opcodes without a builder (element_builders.cpp) use BuildScalar.
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
  int nested_ = -1;
  std::map<std::tuple<NodeId, int>, NodeId> results_;
  std::set<const Instruction*> given_;
  std::map<int32_t, NodeId> loaded_;
  std::map<std::tuple<NodeId, int64_t>, IndexExpr> loaded_variables_;
};

// Index of the base element that window element `w` covers at `position`: (position * stride + w * dilation - pad) /
// base dilation. Appends the conditions under which this element exists, unless they always hold.
IndexExpr WindowBase(IndexPool& pool, IndexExpr position, IndexExpr w, const WindowDim& window, int64_t size,
                     std::vector<IndexCondition>* conditions);
// `e` clamped to [low, high). Appends the condition that clamping has no effect, unless it always holds. For an empty
// range, this condition never holds.
IndexExpr Within(IndexPool& pool, IndexExpr e, int64_t low, int64_t high, std::vector<IndexCondition>* conditions);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ELEMENTAL_H_
