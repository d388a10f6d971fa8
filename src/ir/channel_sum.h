// Sums of 16-bit values, or of their squares, over all dimensions except one, computed in f32. Normalizations compute
// such sums for each channel.
#ifndef HLO_IR_CHANNEL_SUM_H_
#define HLO_IR_CHANNEL_SUM_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

struct ChannelSum {
  const Instruction* value = nullptr;  // Has type f16 or bf16.
  int64_t channels = 0;                // The dimension of `value` that is kept.
  bool of_squares = false;
};

// Matches reduce(convert(value)) and reduce(multiply(convert(value), convert(value))) with an add as reducer and the
// initial value 0.
std::optional<ChannelSum> ChannelSumOf(const Instruction& inst);

// Whether `inst` depends on `value` only through channel sums of it. An instruction that calls computations, other than
// such a sum, counts as a dependency.
bool ReadsSumsAlone(const Instruction& inst, const Instruction& value);

}  // namespace hlo

#endif  // HLO_IR_CHANNEL_SUM_H_
