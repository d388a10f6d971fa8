// Reducers that select the accumulator or the element, such as the reducers of argmax and argmin.
#ifndef HLO_IR_FACTORS_PICK_H_
#define HLO_IR_FACTORS_PICK_H_

#include <optional>

namespace hlo {

class Computation;

struct PickLaws {
  bool associative = false, commutative = false;
};

// Nothing unless each result is a select of the accumulator or of the element, by comparisons of parameters. For one or
// two pairs of parameters. Such a result depends on the order of the values alone, so that few values prove a law.
std::optional<PickLaws> LawsOfPick(const Computation& reducer);

}  // namespace hlo

#endif  // HLO_IR_FACTORS_PICK_H_
