// The value of metadata=: the source of an instruction in the user's program.
#ifndef HLO_IR_METADATA_H_
#define HLO_IR_METADATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/interned.h"
#include "ir/fields.h"

namespace hlo {

// `is_own` stores the usual case: the instruction's own name.
struct SchedulingName {
  Interned other;
  bool is_own = false;
  bool empty() const { return !is_own && other.empty(); }
  std::string_view NameFor(std::string_view own) const { return is_own ? own : other.view(); }
  bool operator==(const SchedulingName&) const = default;
};

struct Metadata {
  Interned op_type, op_name, source_file;
  int64_t source_line = 0, source_end_line = 0, source_column = 0, source_end_column = 0;
  std::vector<int64_t> profile_type;
  Interned deduplicated_name;
  SchedulingName scheduling_name;
  int64_t stack_frame_id = 0;
  Interned payload;
  static constexpr auto Fields() {
    return FieldList(
        Optional("op_type", &Metadata::op_type), Optional("op_name", &Metadata::op_name),
        Optional("source_file", &Metadata::source_file), Optional("source_line", &Metadata::source_line),
        Optional("source_end_line", &Metadata::source_end_line), Optional("source_column", &Metadata::source_column),
        Optional("source_end_column", &Metadata::source_end_column), Optional("profile_type", &Metadata::profile_type),
        Optional("deduplicated_name", &Metadata::deduplicated_name),
        Optional("scheduling_name", &Metadata::scheduling_name), Optional("stack_frame_id", &Metadata::stack_frame_id),
        Optional("metadata_payload", &Metadata::payload));
  }
  bool operator==(const Metadata&) const = default;
};

// Prints the fields that differ from their defaults: {op_name="a" source_line=3}. `own` is the instruction's name.
void AppendTo(std::string& out, const Metadata& metadata, std::string_view own = "");

}  // namespace hlo

#endif  // HLO_IR_METADATA_H_
