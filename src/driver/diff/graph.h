// A computation as a graph in which fusions are opened: an instruction is the same whichever kernel it stands in. Each
// fusion (nested ones within it) remains as the group of what stood in it, and so does each instruction that is a
// kernel by itself. Parameters, tuples and get-tuple-elements that only carry values into and out of fusions are no
// nodes.
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
  int kernel;  // Of DiffGraph::kernels; -1: none.
  // HashOfOperation with what is called; HashOfKind; HashOfOrigin.
  uint64_t operation = 0, kind = 0, origin = 0;
  // Of all that it is computed from, and of all that is computed from it; each with itself.
  uint64_t operand_cone = 0, user_cone = 0;
  int64_t operand_count = 0;  // Of the operands; control predecessors stand behind them.
};

struct DiffKernel {
  const Instruction* inst;  // The fusion, or what runs without one.
  std::vector<int> nodes;
};

class DiffGraph {
 public:
  std::vector<DiffNode> nodes;  // Operands first; ties as the text has them.
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

// The computations of a module: what each does, as a hash that is the same whatever its instructions are called and in
// whatever order they stand, and as a graph. Which of several instructions that compute the same is read makes no
// difference.
class DiffModule {
 public:
  // Errors: [A021] (kLimit) more than `most` nodes, fusions opened.
  static Result<DiffModule> Of(const Module& module, const DiffIgnore& ignore, int64_t most);

  const Module& module() const { return *module_; }
  // Those that are no fusion's; the entry is the last.
  const std::vector<const Computation*>& computations() const { return computations_; }
  const DiffGraph& GraphOf(const Computation& computation) const { return graphs_[computation.id()]; }
  uint64_t HashOf(const Computation& computation) const { return hashes_[computation.id()]; }
  // How often it runs for one run of the entry, by trips as far as they are known.
  double RunsOf(const Computation& computation) const { return runs_[computation.id()]; }

 private:
  explicit DiffModule(const Module& module) : module_(&module) {}

  const Module* module_;
  std::vector<const Computation*> computations_;
  std::vector<DiffGraph> graphs_;  // By id, as the following.
  std::vector<uint64_t> hashes_;
  std::vector<double> runs_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_GRAPH_H_
