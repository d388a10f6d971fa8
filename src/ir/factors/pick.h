// Reducers that select the accumulator or the element, as in an argmax.
#ifndef HLO_IR_FACTORS_PICK_H_
#define HLO_IR_FACTORS_PICK_H_

#include <optional>

namespace hlo {

class Computation;

struct PickLaws {
  bool associative = false, commutative = false;
};

// Supports one or two pairs of parameters, if each result selects the accumulator or the element by comparisons of
// parameters. Such a result depends only on the order of values, so few values prove a law. Returns nothing for other
// reducers.
std::optional<PickLaws> LawsOfPick(const Computation& reducer);

}  // namespace hlo

#endif  // HLO_IR_FACTORS_PICK_H_
