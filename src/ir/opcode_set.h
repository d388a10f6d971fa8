// A set of opcodes for use in one place. Sets that several places need are traits (ir/opcode.h).
#ifndef HLO_IR_OPCODE_SET_H_
#define HLO_IR_OPCODE_SET_H_

#include <cstdint>
#include <initializer_list>

#include "ir/opcode.h"

namespace hlo {

class OpcodeSet {
 public:
  constexpr OpcodeSet(std::initializer_list<Opcode> opcodes) {
    for (const Opcode opcode : opcodes) words_[Word(opcode)] |= Bit(opcode);
  }

  constexpr bool Has(Opcode opcode) const { return (words_[Word(opcode)] & Bit(opcode)) != 0; }

 private:
  static constexpr int Word(Opcode opcode) { return static_cast<int>(opcode) / 64; }
  static constexpr uint64_t Bit(Opcode opcode) { return uint64_t{1} << (static_cast<int>(opcode) % 64); }

  uint64_t words_[4] = {};
};

}  // namespace hlo

#endif  // HLO_IR_OPCODE_SET_H_
