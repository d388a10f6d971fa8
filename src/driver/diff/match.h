// Which node of one graph is which of another.
//
// In this order, each step among what the ones before left:
//   1. Equal in both cones: what it is computed from, and what is computed from it. Several of one kind, of which both
//      sides have as many, are paired in their order.
//   2. Equal in the cone of operands, then in that of users, where each side has one such node. So all that lies before
//      and behind a difference is found, however the text orders and names it.
//   3. From each pair to its neighbours: operands at the same position, and users if there is one of a sort on each
//      side. Neighbours must do the same; what came from the same op_name and source line is paired next (anchors);
//      then neighbours of the same opcode and shape, and of the same opcode.
//   4. Between neighbours in the longest sequence of pairs that both sides have in one order: nodes of the same opcode
//      and shape, in their order; parameters of one number, and roots of one opcode; and from these on as in 3.
//   5. Neighbours of another opcode, if their operands are pairs, too: the instruction was replaced.
//
// Step 1 and 2 compare hashes of 64 bits, of the same value or of the same use. Whatever the later ones pair may still
// do something else: then it is a changed instruction. Each takes time n log n, edges counted, and recurses nowhere. Of
// two modules the one with the smaller hash is taken first, so that B against A is the mirror image of A against B.
#ifndef HLO_DRIVER_DIFF_MATCH_H_
#define HLO_DRIVER_DIFF_MATCH_H_

#include <vector>

#include "driver/diff/graph.h"

namespace hlo {

struct DiffMatch {
  std::vector<int> right_of, left_of;  // By node of the other side; -1: nothing.
};

DiffMatch MatchGraphs(const DiffGraph& left, const DiffGraph& right);

}  // namespace hlo

#endif  // HLO_DRIVER_DIFF_MATCH_H_
