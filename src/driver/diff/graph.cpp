#include "driver/diff/graph.h"

#include <algorithm>
#include <deque>
#include <ranges>

#include "base/hash_bytes.h"
#include "base/text.h"
#include "ir/analysis/trip_count.h"
#include "ir/fusion.h"

namespace hlo {
namespace {

// Includes the number of a parameter, which `operation` lacks.
uint64_t FirstOfCone(const Instruction& inst, uint64_t operation) {
  return inst.Is(Opcode::kParameter) ? MixHash(operation, static_cast<uint64_t>(inst.parameter_number())) : operation;
}

bool RunsWhatItCalls(const Instruction& inst) { return inst.Is(kControl) || inst.Is(Opcode::kAsyncStart); }

}  // namespace

class DiffGraphBuilder {
 public:
  DiffGraphBuilder(DiffGraph& graph, const std::vector<uint64_t>& operations, bool has_kernels, int64_t most)
      : graph_(graph), operations_(operations), has_kernels_(has_kernels), most_(most) {}

  Status Build(const Computation& computation) {
    const Value root = TRY(Walk(computation, {}, -1));
    graph_.root = TRY(NodeOf(root));
    FindUses();
    HashCones();
    return {};
  }

 private:
  struct Value {
    int node = -1, tuple = -1;
  };
  struct Tuple {
    const Instruction* inst;
    std::vector<Value> elements;
    int kernel, node = -1;
  };

  Result<Value> Walk(const Computation& computation, std::span<const Value> arguments, int kernel) {
    const bool is_fused = kernel >= 0;
    std::vector<Value> values(computation.place_limit());
    for (const Instruction* inst : computation.PostOrder()) {
      Value& value = values[inst->place()];
      if (is_fused && inst->Is(Opcode::kParameter)) {
        value = arguments[inst->parameter_number()];
      } else if (IsFusion(*inst)) {
        std::vector<Value> operands;
        for (const Instruction* operand : inst->operands()) operands.push_back(values[operand->place()]);
        value = TRY(Walk(FusedComputation(*inst), operands, is_fused ? kernel : AddKernel(*inst)));
      } else if (const int tuple = ElementOf(*inst, values); tuple >= 0) {
        value = tuples_[tuple].elements[inst->tuple_index()];
      } else if (is_fused && inst->IsRoot() && inst->Is(Opcode::kTuple)) {
        value.tuple = static_cast<int>(tuples_.size());
        Tuple& results = tuples_.emplace_back(Tuple{.inst = inst, .elements = {}, .kernel = kernel});
        for (const Instruction* operand : inst->operands()) results.elements.push_back(values[operand->place()]);
      } else {
        const bool runs_alone = !is_fused && has_kernels_ && !inst->Is(kNoKernel) && !RunsWhatItCalls(*inst);
        value.node = TRY(AddNode(*inst, values, runs_alone ? AddKernel(*inst) : kernel));
      }
    }
    return values[computation.root().place()];
  }

  // The element that `inst` takes from a tuple of fusion results, or -1.
  static int ElementOf(const Instruction& inst, const std::vector<Value>& values) {
    return inst.Is(Opcode::kGetTupleElement) ? values[inst.operand(0).place()].tuple : -1;
  }

  int AddKernel(const Instruction& inst) {
    graph_.kernels.push_back({&inst, {}});
    return static_cast<int>(graph_.kernels.size()) - 1;
  }

  Result<int> AddNode(const Instruction& inst, const std::vector<Value>& values, int kernel) {
    std::vector<int> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(TRY(NodeOf(values[operand->place()])));
    for (const Instruction* before : inst.control_predecessors())
      operands.push_back(TRY(NodeOf(values[before->place()])));
    return AddNode(inst, operands, kernel);
  }

  Result<int> AddNode(const Instruction& inst, const std::vector<int>& operands, int kernel) {
    if (graph_.size() >= most_)
      FAIL(LimitError("A021", "there are too many instructions to match, including those inside fusions")
               .RaisedBy("max_instructions"));
    const int number = graph_.size();
    graph_.nodes.push_back({.inst = &inst,
                            .kernel = kernel,
                            .operation = operations_[inst.id()],
                            .kind = HashOfKind(inst),
                            .origin = HashOfOrigin(inst),
                            .operand_count = inst.operand_count()});
    if (kernel >= 0) graph_.kernels[kernel].nodes.push_back(number);
    graph_.operands_.insert(graph_.operands_.end(), operands.begin(), operands.end());
    graph_.operand_begin_.push_back(static_cast<int>(graph_.operands_.size()));
    return number;
  }

  // Adds a node for a tuple of fusion results that is used as a whole.
  Result<int> NodeOf(Value value) {
    if (value.node >= 0) return value.node;
    Tuple& tuple = tuples_[value.tuple];
    if (tuple.node >= 0) return tuple.node;
    std::vector<int> operands;
    for (const Value& element : tuple.elements) operands.push_back(TRY(NodeOf(element)));
    tuple.node = TRY(AddNode(*tuple.inst, operands, -1));
    return tuple.node;
  }

  void FindUses() {
    std::vector<int>& begin = graph_.use_begin_;
    begin.assign(graph_.size() + 1, 0);
    for (const int operand : graph_.operands_) ++begin[operand + 1];
    for (int i = 0; i < graph_.size(); ++i) begin[i + 1] += begin[i];
    graph_.uses_.resize(graph_.operands_.size());
    std::vector<int> next(begin.begin(), begin.end() - 1);
    for (int user = 0; user < graph_.size(); ++user) {
      const std::span<const int> operands = graph_.OperandsOf(user);
      for (size_t i = 0; i < operands.size(); ++i) graph_.uses_[next[operands[i]]++] = {user, static_cast<int>(i)};
    }
  }

  void HashCones() {
    for (int i = 0; i < graph_.size(); ++i) {
      DiffNode& node = graph_.nodes[i];
      const std::span<const int> operands = graph_.OperandsOf(i);
      uint64_t hash = FirstOfCone(*node.inst, node.operation), before = 0;
      for (size_t k = 0; k < operands.size(); ++k) {
        const uint64_t cone = graph_.nodes[operands[k]].operand_cone;
        if (static_cast<int64_t>(k) < node.operand_count) hash = MixHash(hash, cone);
        else before += MixHash(cone, 2);
      }
      node.operand_cone = MixHash(hash, before);
    }
    for (int i = graph_.size() - 1; i >= 0; --i) {
      DiffNode& node = graph_.nodes[i];
      uint64_t users = i == graph_.root ? 1 : 0;
      for (const DiffGraph::Use& use : graph_.UsersOf(i)) {
        const bool is_control = use.index >= graph_.nodes[use.user].operand_count;
        users += MixHash(graph_.nodes[use.user].user_cone, is_control ? UINT64_MAX : static_cast<uint64_t>(use.index));
      }
      node.user_cone = MixHash(node.operation, users);
    }
  }

  DiffGraph& graph_;
  const std::vector<uint64_t>& operations_;
  const bool has_kernels_;
  const int64_t most_;
  std::deque<Tuple> tuples_;
};

namespace {

// Fusions are not expanded.
uint64_t HashOfComputation(const Computation& computation, const std::vector<uint64_t>& operations) {
  std::vector<uint64_t> cones(computation.place_limit());
  uint64_t all = HashBytes(computation.execution_thread);
  for (const Instruction* inst : computation.PostOrder()) {
    uint64_t& cone = cones[inst->place()];
    cone = FirstOfCone(*inst, operations[inst->id()]);
    for (const Instruction* operand : inst->operands()) cone = MixHash(cone, cones[operand->place()]);
    uint64_t before = 0;
    for (const Instruction* first : inst->control_predecessors()) before += MixHash(cones[first->place()], 2);
    cone = MixHash(cone, before);
    all += MixHash(cone, 3);
  }
  return MixHash(all, cones[computation.root().place()]);
}

}  // namespace

Result<DiffModule> DiffModule::Make(const Module& module, const DiffIgnore& ignore, int64_t most) {
  DiffModule diff(module);
  diff.graphs_.resize(module.computation_id_limit());
  diff.hashes_.resize(module.computation_id_limit());
  diff.runs_.resize(module.computation_id_limit());
  if (module.InstructionCount() > most)
    FAIL(LimitError("A021", Str("a module has ", module.InstructionCount(), " instructions, too many to match"))
             .RaisedBy("max_instructions"));
  const std::vector<Computation*> order = module.PostOrder();
  std::vector<bool> is_unit(module.computation_id_limit());
  is_unit[module.entry().id()] = true;
  diff.runs_[module.entry().id()] = 1;
  for (const Computation* computation : std::views::reverse(order)) {
    for (const Instruction* inst : computation->instructions()) {
      if (IsFusion(*inst)) continue;
      for (const Computation* called : CalledComputations(*inst)) is_unit[called->id()] = true;
      if (!RunsWhatItCalls(*inst)) continue;
      for (const auto& [called, times] : hlo::RunsOf(*inst))
        diff.runs_[called->id()] += times * diff.runs_[computation->id()];
    }
  }
  std::vector<uint64_t> operations(module.id_limit());
  for (const Computation* computation : order) {
    for (const Instruction* inst : computation->instructions()) {
      uint64_t& operation = operations[inst->id()];
      operation = HashOfOperation(*inst, ignore);
      for (const Computation* called : CalledComputations(*inst))
        operation = MixHash(operation, diff.hashes_[called->id()]);
    }
    diff.hashes_[computation->id()] = HashOfComputation(*computation, operations);
    if (!is_unit[computation->id()]) continue;
    diff.computations_.push_back(computation);
    DiffGraph& graph = diff.graphs_[computation->id()];
    TRY(DiffGraphBuilder(graph, operations, diff.runs_[computation->id()] > 0, most).Build(*computation));
    most -= graph.size();
  }
  return diff;
}

}  // namespace hlo
