// Numbers the instructions of one computation by the id minus the lowest id. Tables of Module::id_limit() entries for
// each computation would take quadratic memory.
#ifndef HLO_IR_ID_SPAN_H_
#define HLO_IR_ID_SPAN_H_

#include <algorithm>
#include <climits>
#include <cstddef>

#include "ir/instruction.h"

namespace hlo {

class IdSpan {
 public:
  IdSpan() = default;
  template <class Instructions>
  explicit IdSpan(const Instructions& instructions) {
    for (const Instruction* inst : instructions) {
      lowest_ = std::min(lowest_, inst->id());
      highest_ = std::max(highest_, inst->id());
    }
  }
  size_t size() const { return static_cast<size_t>(std::max(0, highest_ - lowest_ + 1)); }
  // At least size() for instructions that were added later.
  size_t IndexOf(const Instruction& inst) const { return static_cast<size_t>(inst.id() - lowest_); }

 private:
  int lowest_ = INT_MAX, highest_ = -1;
};

}  // namespace hlo

#endif  // HLO_IR_ID_SPAN_H_
