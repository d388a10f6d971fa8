// What a kernel of stitched rows iterates over.
#ifndef HLO_GPU_PLAN_ROWS_SPACE_H_
#define HLO_GPU_PLAN_ROWS_SPACE_H_

#include <map>
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

  virtual ~RowsSpace() = default;

  // What a pass computes for each element.
  virtual std::vector<NodeId> InPass(int pass) const;
  virtual std::vector<NodeId> Needed() const;
  virtual std::vector<IndexExpr> Offsets() const;
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

// From a fusion and the reduces in it that a kernel gives to their space.
class RowsSpaceBuilder {
 public:
  // All are borrowed.
  RowsSpaceBuilder(const FusionBody& body, const std::vector<const Instruction*>& heroes, std::string* why_not);
  virtual ~RowsSpaceBuilder() = default;

  // Null, and why, where the heroes do not reduce the same rows, or some result is none of what such a kernel writes.
  // Rows of several dimensions are one variable where no access tells them apart; a row always is.
  Result<std::unique_ptr<RowsSpace>> Run();

 protected:
  // An empty one; what else is given in it is said already.
  virtual std::unique_ptr<RowsSpace> NewSpace() const { return std::make_unique<RowsSpace>(body_); }
  // False, and why, where a result is none of this kernel. The heroes are there; `index` is that of `shape_`.
  virtual Result<bool> AddRoots(RowsSpace& space, const std::vector<IndexExpr>& index);

  Result<bool> AddRoot(RowsSpace& space, const FusionBody::Root& root, const std::vector<IndexExpr>& index);
  // That of an array of as many elements.
  std::vector<IndexExpr> IndexOf(RowsSpace& space, const Shape& shape, const std::vector<IndexExpr>& index) const;
  // The first pass that can compute it.
  int PassOf(const RowsSpace& space, NodeId id);
  bool No(std::string_view why) {
    why_not_ = why;
    return false;
  }

  const FusionBody& body_;
  const std::vector<const Instruction*>& heroes_;
  const Shape& shape_;  // Of what the first hero reduces.

 private:
  bool ReducesMinor() const;
  Result<std::unique_ptr<RowsSpace>> SpaceOver(std::vector<int> groups);
  Result<bool> AddHero(RowsSpace& space, const Instruction& reduce, const std::vector<IndexExpr>& index);

  std::string& why_not_;
  int kept_dims_ = 0;
  std::map<NodeId, int> pass_of_;
  std::map<const Instruction*, int> pass_of_hero_;
};

// The reduces that a kernel of stitched rows gives: those of many terms, some of which is used along the row that it
// reduced. Empty: there is no such.
std::vector<const Instruction*> StitchedReduces(const FusionBody& body);

// Null, and why, where they and the results are not of one space.
Result<std::unique_ptr<RowsSpace>> RowsSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ROWS_SPACE_H_
