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
  Async async = Async::kNone;
  SourceRange opcode_range;
  Operands operands;
  SourceRange operands_end;
  Attributes attributes;
  std::optional<AsyncAttrs> async_attributes;
  std::optional<Opcode> continued;
  SourceRange thread_range, calls_range;
  std::optional<CommonAttrs> common;
  std::vector<Instruction*> predecessors;
  bool after_operand = false;
  bool broken = false;  // Depends on an error that was already reported.
};

}  // namespace hlo

#endif  // HLO_PARSER_PENDING_H_
