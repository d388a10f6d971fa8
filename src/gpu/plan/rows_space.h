// What a kernel of stitched rows iterates over.
#ifndef HLO_GPU_PLAN_ROWS_SPACE_H_
#define HLO_GPU_PLAN_ROWS_SPACE_H_

#include <memory>
#include <string>
#include <vector>

#include "gpu/kernel/kernel.h"
#include "gpu/plan/iteration_space.h"
#include "gpu/plan/reduction_space.h"

namespace hlo::gpu {

// Rows, and the elements of one, which are gone through several times: pass p makes what needs the reductions of the
// passes before it. Softmax has three: the maximum; exponentials and their sum; the quotients.
struct RowsSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  struct Hero : ReducedHero {
    std::vector<IndexExpr> kept;  // Where in its result a row is.
    int pass = 0;
  };
  struct Store : Output {
    int pass;  // Of an element of each row: when it is written. Of one for each row: before which pass.
  };

  std::vector<Hero> heroes;            // Operands first.
  std::vector<Store> elements, whole;  // Results with an element for each of a row's, and for each row.
  int passes = 1;

  // What a pass computes for each element.
  std::vector<NodeId> InPass(int pass) const;
  std::vector<NodeId> Needed() const;
  std::vector<IndexExpr> Offsets() const;
  bool VariesInRow(NodeId id) const;

  // A value that stays on chip from the pass that computes it to those behind.
  struct Kept {
    NodeId node;
    kernel::Type type;
    int first, last;  // Passes.
  };
  // What is kept of the instructions called so: elements of the row that several passes need.
  std::vector<Kept> KeptOf(const std::vector<std::string>& names) const;
};

// The reduces that a kernel of stitched rows gives: those of many terms, some of which is used along the row that it
// reduced. Empty: there is no such.
std::vector<const Instruction*> StitchedReduces(const FusionBody& body);

// Null, and why, where the heroes do not reduce the same rows, or some result is none of what such a kernel writes.
Result<std::unique_ptr<RowsSpace>> RowsSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ROWS_SPACE_H_
