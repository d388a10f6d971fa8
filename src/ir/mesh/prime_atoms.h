// The atoms of a mesh, cut into atoms of prime size.
//
//   atoms x=2, y=4 and the split [{y}, {x}] => sizes 2, 2, 2 and the split [{y:(1)2, y:(2)2}, {x}]
//
// A change from tiles of 2x4 to tiles of 4x2 moves only a part of an atom.
#ifndef HLO_IR_MESH_PRIME_ATOMS_H_
#define HLO_IR_MESH_PRIME_ATOMS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/mesh/axes.h"

namespace hlo {

class PrimeAtoms {
 public:
  // In a mesh with many primes, atoms are cut only where a piece has the size of another atom, because more pieces make
  // searches slower.
  explicit PrimeAtoms(const Axes& axes);
  // Each atom of `axes` consists of whole pieces of these sizes, in order.
  PrimeAtoms(const Axes& axes, std::vector<int64_t> sizes);

  const std::vector<int64_t>& sizes() const { return sizes_; }
  ArraySplit Refine(const ArraySplit& split) const;
  // The inverse of Refine. nullopt if the split uses a part of an atom, or the parts of one in another order.
  std::optional<ArraySplit> Coarsen(const ArraySplit& split) const;
  // `axes` with atoms cut where a split in prime atoms separates their parts, which get names such as x:(1)2. nullopt
  // if no split does.
  std::optional<Axes> CutAxes(const Axes& axes, std::span<const ArraySplit> splits) const;

 private:
  AxisSet Refine(AxisSet atoms) const;
  std::optional<AxisSet> Coarsen(AxisSet atoms) const;

  std::vector<int64_t> sizes_;
  std::vector<int> first_;  // The first prime atom of each atom, and the end. The major one is first.
};

}  // namespace hlo

#endif  // HLO_IR_MESH_PRIME_ATOMS_H_
