// An instruction whose parts are being read.
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
  Async async = Async::kNone;  // The text says OPCODE-start or its like.
  SourceRange opcode_range;
  Operands operands;
  SourceRange operands_end;
  Attributes attributes;
  std::optional<AsyncAttrs> async_attributes;  // When `async` says so.
  std::optional<Opcode> continued;             // Of `OPCODE-update` and `OPCODE-done`.
  SourceRange thread_range, calls_range;       // Where an asynchronous op says them.
  std::optional<CommonAttrs> common;
  std::vector<Instruction*> predecessors;
  bool after_operand = false;  // Where a comma or the end is to stand.
  bool broken = false;         // Depends on something that was wrong already: built into nothing, without a word.
};

}  // namespace hlo

#endif  // HLO_PARSER_PENDING_H_
