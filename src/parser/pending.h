// An instruction that is being parsed.
#ifndef HLO_PARSER_PENDING_H_
#define HLO_PARSER_PENDING_H_

#include <optional>
#include <vector>

#include "parser/reader.h"

namespace hlo {

struct Reader::Pending {
  enum class Async : uint8_t { kNone, kStart, kUpdate, kDone };

  uint32_t begin = 0;
  std::optional<Shape> shape;
  Opcode opcode = Opcode::kTuple;
  Async async = Async::kNone;  // From the suffix of OPCODE-start, -update or -done.
  SourceRange opcode_range;
  Operands operands;
  SourceRange operands_end;
  Attributes attributes;
  std::optional<AsyncAttrs> async_attributes;  // If `async` is not kNone.
  std::optional<Opcode> continued;             // The opcode in `OPCODE-update` and `OPCODE-done`.
  SourceRange thread_range, calls_range;       // Of these attributes of an asynchronous op.
  std::optional<CommonAttrs> common;
  std::vector<Instruction*> predecessors;
  bool after_operand = false;  // After an operand, where a comma or the end must follow.
  bool broken = false;         // Depends on something that was already reported, so it is dropped silently.
};

}  // namespace hlo

#endif  // HLO_PARSER_PENDING_H_
