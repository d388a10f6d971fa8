// Matches the nodes of two graphs.
//
// Each step matches nodes that are still free:
//   1. Nodes with equal hashes of both cones (DiffNode). Several equal nodes are paired in order if both sides have the
//      same number of them.
//   2. Nodes with equal operand cones, then with equal user cones, if each side has one such node. This finds all nodes
//      before and after a difference.
//   3. Neighbours of pairs: operands at the same position, and users if each side has one of a kind. Neighbours with
//      the same operation come first, then all nodes with the same op_name and source line (anchors), then neighbours
//      with the same opcode and shape, and with the same opcode.
//   4. Equal operand cones, in order. Then nodes between pairs that have the same order on both sides: nodes of one
//      opcode and shape, in order. Then parameters of equal numbers, roots of equal opcodes, and neighbours as in 3.
//   5. Neighbours of another opcode whose operands are paired: the instruction was replaced.
//
// Steps 1 and 2 compare 64-bit hashes. Nodes of later steps may differ. Each step takes time n log n, without
// recursion. The module with the smaller hash comes first, so that swapped sides give the mirrored result.
#ifndef HLO_DRIVER_DIFF_MATCH_H_
#define HLO_DRIVER_DIFF_MATCH_H_

#include <vector>

#include "driver/diff/graph.h"

namespace hlo {

struct DiffMatch {
  std::vector<int> right_of, left_of;
};

DiffMatch MatchGraphs(const DiffGraph& left, const DiffGraph& right);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_MATCH_H_
