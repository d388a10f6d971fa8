// The order in which XLA prints, as its printer was seen to do: docs/language.md#printing.
#ifndef HLO_IR_TEXT_PRINT_ORDER_H_
#define HLO_IR_TEXT_PRINT_ORDER_H_

#include <vector>

#include "ir/module.h"

namespace hlo {

class PrintOrder {
 public:
  // A walk over the call graph, callees first, from each computation that nothing calls; or, `as_listed`, from each in
  // the module's order, which it keeps where callees come first.
  static std::vector<Computation*> Of(const Module& module, bool as_listed = false);
  // A walk, operands first, from each instruction that nothing uses, in order of the text.
  std::vector<Instruction*> Of(const Computation& computation);

 private:
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state_;  // By id. Kept between calls, each of which leaves kNew behind.
};

}  // namespace hlo

#endif  // HLO_IR_TEXT_PRINT_ORDER_H_
