#include "ir/source_line.h"

namespace hlo {

bool HasSourceLine(const Instruction& inst) {
  return !inst.metadata().source_file.empty() || inst.metadata().stack_frame_id != 0;
}

void TakeSourceLine(Instruction& inst, const Instruction& from) {
  if (HasSourceLine(inst) || !HasSourceLine(from)) return;
  const Metadata& line = from.metadata();
  Metadata& metadata = inst.mutable_common().metadata;
  metadata.source_file = line.source_file;
  metadata.source_line = line.source_line;
  metadata.source_end_line = line.source_end_line;
  metadata.source_column = line.source_column;
  metadata.source_end_column = line.source_end_column;
  metadata.stack_frame_id = line.stack_frame_id;
}

}  // namespace hlo
