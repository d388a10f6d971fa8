// Emits nodes of an element graph (plan/elemental.h) into a kernel. Values that surrounding scopes computed are reused.
// Hoist computes values before inner scopes need them.
#ifndef HLO_GPU_EMITTERS_EMISSION_H_
#define HLO_GPU_EMITTERS_EMISSION_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "gpu/emitters/names.h"
#include "gpu/plan/elemental.h"

namespace hlo::gpu {

class Emission {
 public:
  // `leaves` has an array for each leaf, `literals` one for each constant that is read at varying indices.
  Emission(ElementGraph& graph, KernelBuilder& k, std::map<int, Array> leaves,
           std::map<const Instruction*, Array> literals);

  // The destructor drops values bound or computed in the scope.
  class Scope {
   public:
    explicit Scope(Emission& emission) : emission_(emission) { emission_.scopes_.emplace_back(); }
    ~Scope() { emission_.scopes_.pop_back(); }
    Scope(const Scope&) = delete;

   private:
    Emission& emission_;
  };

  // The contents of a scope, with which Enter opens it again after Leave. Emitters so alternate between the steps of a
  // tile.
  struct ScopeData {
    std::map<int32_t, Value> expressions;
    std::map<NodeId, std::vector<Value>> nodes;
    std::map<NodeId, bool> decisions;
    std::set<int32_t> bound;
    std::set<int32_t> assumed;  // Clamps that have no effect in this scope.
  };
  void Enter(ScopeData scope = {}) { scopes_.push_back(std::move(scope)); }
  ScopeData Leave() {
    ScopeData scope = std::move(scopes_.back());
    scopes_.pop_back();
    return scope;
  }

  // Makes `variable` the position in the tile. Conditions that depend on it become branches. In sums of an index, the
  // terms that do not depend on it are added first.
  void SetLane(IndexExpr variable);
  void Bind(IndexExpr variable, Value value);
  void Bind(NodeId node, std::vector<Value> values);
  // Fixes whether a guard's conditions hold in this scope.
  void Decide(NodeId guard, bool holds);

  // Hoist computes the parts of these values that depend only on bound variables. HoistLoads computes the guard's loads
  // that are the same for the whole tile and never out of bounds.
  void Hoist(std::span<const NodeId> nodes);
  void Hoist(IndexExpr e);
  void HoistLoads(const ElementNode& guard);

  Value Lower(IndexExpr e);
  Value Emit(NodeId id) { return EmitAll(id)[0]; }
  // The node's value where the conditions hold. Elsewhere `otherwise`, which has the same type.
  Value EmitWhere(std::span<const IndexCondition> conditions, NodeId id, Value otherwise);
  // Appends the node's value to `parts`: one part, or two for a complex number.
  void EmitParts(NodeId id, std::vector<Value>* parts);
  std::vector<Value> EmitParts(std::span<const NodeId> ids);

  // An undecided guard for which a branch around the tile is worth it: it chooses between pieces of a concatenation or
  // update, with one outcome for the whole tile. -1 if there is none.
  NodeId UniformChoice(std::span<const NodeId> nodes) const;
  Value All(std::span<const IndexCondition> conditions);

 private:
  const std::vector<Value>* Emitted(NodeId id) const;  // Null if no open scope has it.
  const std::vector<Value>& EmitAll(NodeId id);
  std::vector<Value> Compute(NodeId id);
  std::vector<Value> ComputeGuard(const ElementNode& node);
  Value ComputeBits(const ElementNode& node);
  std::vector<Value> ComputeReduce(const ElementNode& node);
  Value ComputePick(const ElementNode& node);
  Value ComputeExpr(IndexExpr e);
  std::vector<Value> Fold(const ElementNode& node, std::span<const Value> accumulators, std::span<const Value> terms);
  bool IsBound(int32_t variable) const;
  bool Ready(IndexExpr e) const;
  bool Ready(NodeId id) const;
  bool Varies(std::span<const IndexCondition> conditions) const;
  bool Varies(IndexExpr e) const;
  void Assume(std::span<const IndexCondition> conditions);
  void AssumeSide(const ElementNode& guard, bool holds);
  const bool* Decision(NodeId id) const;

  ElementGraph& graph_;
  IndexPool& pool_;
  KernelBuilder& k_;
  std::map<int, Array> leaves_;
  std::map<const Instruction*, Array> literals_;
  std::vector<ScopeData> scopes_;
  int32_t lane_ = -1;
};

}  // namespace hlo::gpu

#endif  // HLO_GPU_EMITTERS_EMISSION_H_
