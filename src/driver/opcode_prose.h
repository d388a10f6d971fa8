// What each opcode does, in one sentence: for people who meet it in a text.
#ifndef HLO_DRIVER_OPCODE_PROSE_H_
#define HLO_DRIVER_OPCODE_PROSE_H_

#include <string_view>

#include "ir/opcode.h"

namespace hlo {

// Without a full stop.
std::string_view ProseOf(Opcode opcode);

}  // namespace hlo

#endif  // HLO_DRIVER_OPCODE_PROSE_H_
