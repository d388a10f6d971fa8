// A computation as a graph of instructions. Fusions are expanded, so that instructions match even if kernels differ.
// The instructions of a kernel, even a single one, form a group (DiffKernel). Parameters, tuples and get-tuple-elements
// that only pass values into and out of fusions are not nodes.
#ifndef HLO_DRIVER_DIFF_GRAPH_H_
#define HLO_DRIVER_DIFF_GRAPH_H_

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "driver/diff/operation.h"
#include "ir/module.h"

namespace hlo {

struct DiffNode {
  const Instruction* inst;
  int kernel;
  uint64_t operation = 0, kind = 0, origin = 0;
  // Hashes of the node with all nodes that it depends on, and with all nodes that depend on it.
  uint64_t operand_cone = 0, user_cone = 0;
  int64_t operand_count = 0;  // Later entries of OperandsOf are control predecessors.
};

struct DiffKernel {
  const Instruction* inst;
  std::vector<int> nodes;
};

class DiffGraph {
 public:
  std::vector<DiffNode> nodes;  // Operands precede users.
  std::vector<DiffKernel> kernels;
  int root = -1;

  int size() const { return static_cast<int>(nodes.size()); }
  std::span<const int> OperandsOf(int node) const { return Slice(operands_, operand_begin_, node); }
  struct Use {
    int user, index;
  };
  std::span<const Use> UsersOf(int node) const { return Slice(uses_, use_begin_, node); }

 private:
  friend class DiffGraphBuilder;
  template <class T>
  static std::span<const T> Slice(const std::vector<T>& all, const std::vector<int>& begin, int node) {
    return std::span(all).subspan(begin[node], begin[node + 1] - begin[node]);
  }

  std::vector<int> operands_, operand_begin_ = {0}, use_begin_;
  std::vector<Use> uses_;
};

// Graphs and hashes of computations. Hashes do not depend on names, on the order, or on which of several equal
// instructions is used.
class DiffModule {
 public:
  // Errors: A021 (kLimit) for more than `most` nodes.
  static Result<DiffModule> Make(const Module& module, const DiffIgnore& ignore, int64_t most);

  const Module& module() const { return *module_; }
  const std::vector<const Computation*>& computations() const { return computations_; }
  const DiffGraph& GraphOf(const Computation& computation) const { return graphs_[computation.id()]; }
  uint64_t HashOf(const Computation& computation) const { return hashes_[computation.id()]; }
  // Executions in one run of the entry. A loop of unknown trip count has one trip.
  double RunsOf(const Computation& computation) const { return runs_[computation.id()]; }

 private:
  explicit DiffModule(const Module& module) : module_(&module) {}

  const Module* module_;
  std::vector<const Computation*> computations_;
  std::vector<DiffGraph> graphs_;  // Indexed by id, like the vectors below.
  std::vector<uint64_t> hashes_;
  std::vector<double> runs_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_GRAPH_H_
