// The iteration space of a kernel of kind rows.
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

// Rows whose elements are processed in several passes. Pass p needs the reductions of earlier passes: softmax has the
// maximum, then the exponentials with their sum, then the quotients.
struct RowsSpace : IterationSpace {
  using IterationSpace::IterationSpace;

  struct Hero : ReducedHero {
    std::vector<IndexExpr> kept;  // Index of the row's result.
    int pass = 0;
  };
  struct Store : Output {
    int pass;  // `elements`: the pass that writes the result. `whole`: the pass before which it is written.
  };

  std::vector<Hero> heroes;            // Operands first.
  std::vector<Store> elements, whole;  // Outputs with a value for each row element, and for each row.
  int passes = 1;

  virtual ~RowsSpace() = default;

  virtual std::vector<NodeId> InPass(int pass) const;
  virtual std::vector<NodeId> Needed() const;
  virtual std::vector<IndexExpr> Offsets() const;
  bool VariesInRow(NodeId id) const;

  // A value that stays on chip from pass `first` to pass `last`.
  struct Kept {
    NodeId node;
    kernel::Type type;
    int first, last;
  };
  // Row elements of the named instructions that several passes need.
  std::vector<Kept> KeptOf(const std::vector<std::string>& names) const;
};

class RowsSpaceBuilder {
 public:
  RowsSpaceBuilder(const FusionBody& body, const std::vector<const Instruction*>& heroes, std::string* why_not);
  virtual ~RowsSpaceBuilder() = default;

  // Returns null and sets `why_not` if the heroes do not reduce the same rows, or if the kernel cannot write a result.
  Result<std::unique_ptr<RowsSpace>> Run();

 protected:
  // An empty space, in which derived classes mark more given instructions.
  virtual std::unique_ptr<RowsSpace> NewSpace() const { return std::make_unique<RowsSpace>(body_); }
  // Adds the outputs at `index` of `shape_`. Returns false and sets the reason if that is impossible.
  virtual Result<bool> AddRoots(RowsSpace& space, const std::vector<IndexExpr>& index);

  Result<bool> AddRoot(RowsSpace& space, const FusionBody::Root& root, const std::vector<IndexExpr>& index);
  // `index` in another shape with as many elements.
  std::vector<IndexExpr> IndexOf(RowsSpace& space, const Shape& shape, const std::vector<IndexExpr>& index) const;
  // The first pass that has all reductions that the node needs.
  int PassOf(const RowsSpace& space, NodeId id);
  bool No(std::string_view why) {
    why_not_ = why;
    return false;
  }

  const FusionBody& body_;
  const std::vector<const Instruction*>& heroes_;
  const Shape& shape_;

 private:
  bool ReducesMinor() const;
  Result<std::unique_ptr<RowsSpace>> SpaceOver(std::vector<int> groups);
  Result<bool> AddHero(RowsSpace& space, const Instruction& reduce, const std::vector<IndexExpr>& index);

  std::string& why_not_;
  int kept_dims_ = 0;
  std::map<NodeId, int> pass_of_;
  std::map<const Instruction*, int> pass_of_hero_;
};

// All reduces of many terms, if one's result is used along the row. Otherwise empty.
std::vector<const Instruction*> StitchedReduces(const FusionBody& body);

Result<std::unique_ptr<RowsSpace>> RowsSpaceOf(const FusionBody& body, const std::vector<const Instruction*>& heroes,
                                               std::string* why_not);

}  // namespace hlo::gpu

#endif  // HLO_GPU_PLAN_ROWS_SPACE_H_
