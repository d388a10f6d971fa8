// The printing order of XLA, as observed from its printer: docs/language.md#printing.
#ifndef HLO_IR_TEXT_PRINT_ORDER_H_
#define HLO_IR_TEXT_PRINT_ORDER_H_

#include <vector>

#include "ir/module.h"

namespace hlo {

class PrintOrder {
 public:
  // Callees first, starting at each computation that is not called, or with `as_listed` at each computation in order.
  static std::vector<Computation*> ComputationsOf(const Module& module, bool as_listed = false);
  // Operands first, starting at each instruction without users, in the order of the text.
  std::vector<Instruction*> InstructionsOf(const Computation& computation);

 private:
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state_;  // All entries are kNew between calls.
};

}  // namespace hlo

#endif  // HLO_IR_TEXT_PRINT_ORDER_H_
