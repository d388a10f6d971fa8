// Sums for normalizations: of 16-bit floats or their squares, in f32, over all dimensions except the channels.
#ifndef HLO_IR_ANALYSIS_CHANNEL_SUM_H_
#define HLO_IR_ANALYSIS_CHANNEL_SUM_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

struct ChannelSum {
  const Instruction* value = nullptr;
  int64_t channels = 0;
  bool of_squares = false;
};

// Matches reduce(convert(value)) and reduce(multiply(convert(value), convert(value))) with an add and the initial value
// 0.
std::optional<ChannelSum> ChannelSumOf(const Instruction& inst);

// Whether `inst` depends on `value` only through channel sums of `value`. False if `inst` depends on other instructions
// that call computations.
bool ReadsSumsAlone(const Instruction& inst, const Instruction& value);

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_CHANNEL_SUM_H_
