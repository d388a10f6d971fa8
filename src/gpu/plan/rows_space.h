// The iteration space of a kernel of stitched rows.
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

// Rows whose elements are processed in several passes. Pass p computes the nodes that need the reductions of earlier
// passes. Softmax has three: the maximum; the exponentials and their sum; the quotients.
struct RowsSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  struct Hero : ReducedHero {
    std::vector<IndexExpr> kept;  // The position of the row in its result.
    int pass = 0;
  };
  struct Store : Output {
    int pass;  // For elements: the pass that writes it. For whole rows: the pass before which it is written.
  };

  std::vector<Hero> heroes;            // Operands first.
  std::vector<Store> elements, whole;  // Results with an element for each row element, and for each row.
  int passes = 1;

  virtual ~RowsSpace() = default;

  // The values that a pass computes for each element.
  virtual std::vector<NodeId> InPass(int pass) const;
  virtual std::vector<NodeId> Needed() const;
  virtual std::vector<IndexExpr> Offsets() const;
  bool VariesInRow(NodeId id) const;

  // A value that stays on chip from the pass that computes it to its last use.
  struct Kept {
    NodeId node;
    kernel::Type type;
    int first, last;  // Passes.
  };
  // The values to keep of the instructions with these names: row elements that several passes need.
  std::vector<Kept> KeptOf(const std::vector<std::string>& names) const;
};

// Builds the space of a fusion from the reduces that the kernel computes.
class RowsSpaceBuilder {
 public:
  // Borrows all arguments.
  RowsSpaceBuilder(const FusionBody& body, const std::vector<const Instruction*>& heroes, std::string* why_not);
  virtual ~RowsSpaceBuilder() = default;

  // Returns null and sets `why_not` if the heroes do not reduce the same rows, or if the kernel cannot write a result.
  // The dimensions of a row are one variable; the other dimensions are merged where no access distinguishes them.
  Result<std::unique_ptr<RowsSpace>> Run();

 protected:
  // An empty space. Derived classes mark other given instructions in it.
  virtual std::unique_ptr<RowsSpace> NewSpace() const { return std::make_unique<RowsSpace>(body_); }
  // Adds the outputs after the heroes, where `index` is the index of `shape_`. Returns false and sets the reason if the
  // kernel cannot write one.
  virtual Result<bool> AddRoots(RowsSpace& space, const std::vector<IndexExpr>& index);

  Result<bool> AddRoot(RowsSpace& space, const FusionBody::Root& root, const std::vector<IndexExpr>& index);
  // The index in an array with as many elements.
  std::vector<IndexExpr> IndexOf(RowsSpace& space, const Shape& shape, const std::vector<IndexExpr>& index) const;
  // The first pass that can compute the node.
  int PassOf(const RowsSpace& space, NodeId id);
  bool No(std::string_view why) {
    why_not_ = why;
    return false;
  }

  const FusionBody& body_;
  const std::vector<const Instruction*>& heroes_;
  const Shape& shape_;  // The operand of the first hero.

 private:
  bool ReducesMinor() const;
  Result<std::unique_ptr<RowsSpace>> SpaceOver(std::vector<int> groups);
  Result<bool> AddHero(RowsSpace& space, const Instruction& reduce, const std::vector<IndexExpr>& index);

  std::string& why_not_;
  int kept_dims_ = 0;
  std::map<NodeId, int> pass_of_;
  std::map<const Instruction*, int> pass_of_hero_;
};

// The reduces of a stitched kernel: reduces of many terms, where at least one result is used along the row that was
// reduced. Empty if there are none.
std::vector<const Instruction*> StitchedReduces(const FusionBody& body);

// Returns null and sets `why_not` if the reduces and results do not form one space.
Result<std::unique_ptr<RowsSpace>> RowsSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ROWS_SPACE_H_
