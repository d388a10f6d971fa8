// Sums of 16-bit values, or of their squares, over all dimensions but one, in f32: what a normalization wants to know
// of each channel.
#ifndef HLO_IR_CHANNEL_SUM_H_
#define HLO_IR_CHANNEL_SUM_H_

#include <cstdint>
#include <optional>

#include "ir/instruction.h"

namespace hlo {

struct ChannelSum {
  const Instruction* value = nullptr;  // Of f16 or bf16.
  int64_t channels = 0;                // The dimension of `value` that is left.
  bool of_squares = false;
};

// What `inst` is, when it is such a sum: reduce(convert(value)), or reduce(multiply(convert(value), convert(value))),
// with an add, from 0.
std::optional<ChannelSum> ChannelSumOf(const Instruction& inst);

// Whether `inst` reads nothing of `value` but sums of it. What calls computations, the sums apart, is not looked into,
// and counts as one that reads more.
bool ReadsSumsAlone(const Instruction& inst, const Instruction& value);

}  // namespace hlo

#endif  // HLO_IR_CHANNEL_SUM_H_
