// What a reduction kernel iterates over.
#ifndef HLO_GPU_PLAN_REDUCTION_SPACE_H_
#define HLO_GPU_PLAN_REDUCTION_SPACE_H_

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/elemental.h"

namespace hlo::gpu {

// What is reduced, over which variables.
struct ReductionSpace {
  explicit ReductionSpace(const FusionBody& body) : graph(body, pool) {}
  ReductionSpace(const ReductionSpace&) = delete;

  struct Output {
    const FusionBody::Root* root;
    NodeId value;
    IndexExpr offset;
  };
  struct Variable {
    IndexExpr e;
    int64_t size;
    bool reduced;
  };
  struct Hero {
    const Instruction* inst;
    std::vector<NodeId> inputs, initial;
    std::vector<kernel::Type> types, accumulators;
    std::vector<NodeId> given;  // Its uses in the epilogues.
  };

  IndexPool pool;
  ElementGraph graph;
  std::vector<Variable> variables;  // Major to minor in memory.
  std::vector<Hero> heroes;
  std::vector<Output> epilogues;  // One element for each result of the reduction...
  std::vector<Output> stores;     // ...or for each element that is reduced.

  std::vector<NodeId> Inputs() const {
    std::vector<NodeId> nodes;
    for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.inputs.begin(), hero.inputs.end());
    for (const Output& store : stores) nodes.push_back(store.value);
    return nodes;
  }
  std::vector<NodeId> Epilogues() const {
    std::vector<NodeId> nodes;
    for (const Hero& hero : heroes) nodes.insert(nodes.end(), hero.initial.begin(), hero.initial.end());
    for (const Output& epilogue : epilogues) nodes.push_back(epilogue.value);
    return nodes;
  }
  std::vector<NodeId> All() const {
    std::vector<NodeId> nodes = Inputs();
    const std::vector<NodeId> more = Epilogues();
    nodes.insert(nodes.end(), more.begin(), more.end());
    return nodes;
  }
  int64_t Size(bool reduced) const {
    int64_t size = 1;
    for (const Variable& variable : variables) size *= variable.reduced == reduced ? variable.size : 1;
    return size;
  }
};

// The space that the reduces `heroes` walk, neighbouring dimensions merged where no access tells them apart. Null, and
// why, when they are not over the same dimensions of equal arrays, or some root is none of what such a kernel writes.
Result<std::unique_ptr<ReductionSpace>> ReductionSpaceOf(const FusionBody& body,
                                                         const std::vector<const Instruction*>& heroes,
                                                         std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_REDUCTION_SPACE_H_
