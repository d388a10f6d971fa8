// The source locations to which `stack_frame_id` refers. Ids count from 1, and 0 means none. See
// docs/language.md#stack-frames.
#ifndef HLO_PARSER_STACK_FRAMES_H_
#define HLO_PARSER_STACK_FRAMES_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "ir/fields.h"

namespace hlo {

struct FileLocation {
  int64_t file_name_id = 0, function_name_id = 0, line = 0, end_line = 0, column = 0, end_column = 0;
  static constexpr auto Fields() {
    return FieldList(Required("file_name_id", &FileLocation::file_name_id),
                     Required("function_name_id", &FileLocation::function_name_id),
                     Required("line", &FileLocation::line), Required("end_line", &FileLocation::end_line),
                     Required("column", &FileLocation::column), Required("end_column", &FileLocation::end_column));
  }
  auto operator<=>(const FileLocation&) const = default;
};

struct StackFrame {
  int64_t file_location_id = 0;
  int64_t parent_frame_id = 1;  // The parent's id plus 1.
  static constexpr auto Fields() {
    return FieldList(Required("file_location_id", &StackFrame::file_location_id),
                     Required("parent_frame_id", &StackFrame::parent_frame_id));
  }
  auto operator<=>(const StackFrame&) const = default;
};

struct StackFrameTables {
  std::vector<std::string> file_names, function_names;
  std::vector<FileLocation> file_locations;
  std::vector<StackFrame> stack_frames;
};

std::string ToString(const StackFrameTables& tables);

// Keeps the used entries, numbered in the order of use, as XLA's reader does.
class StackFrameInterner {
 public:
  explicit StackFrameInterner(StackFrameTables written) : written_(std::move(written)) {}

  // The id in kept() of frame `id` of the text. 0 if it or one of its parents does not exist, or if the parents form a
  // cycle.
  int64_t Intern(int64_t id);
  const StackFrameTables& kept() const { return kept_; }

 private:
  int64_t InternLocation(int64_t id);

  StackFrameTables written_, kept_;
  std::vector<int64_t> new_id_;  // Indexed by id in the text. 0 if not interned.
  std::map<std::string, int64_t> file_names_, function_names_;
  std::map<FileLocation, int64_t> file_locations_;
  std::map<StackFrame, int64_t> stack_frames_;
};

}  // namespace hlo

#endif  // HLO_PARSER_STACK_FRAMES_H_
