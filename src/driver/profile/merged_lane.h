// A lane of a time line in which neighbours of the same name are one bar: scopes of op_names, lines of a source.
#ifndef HLO_DRIVER_PROFILE_MERGED_LANE_H_
#define HLO_DRIVER_PROFILE_MERGED_LANE_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hlo {

// `Time`: the type of its times, int64_t nanoseconds or double microseconds. `is_nested`: a name "a/b" is a bar "b" in
// a bar "a". Names are not copied.
template <class Time>
class MergedLane {
 public:
  explicit MergedLane(bool is_nested) : is_nested_(is_nested) {}

  // Calls `emit(depth, begin, end, name)` for each bar that ends here; the depth of a name without '/' is 0. Events
  // come in the order of their beginnings. One that overlaps the event before it begins where that one ends.
  template <class Emit>
  void Add(std::string_view name, Time begin, Time end, const Emit& emit) {
    const std::vector<std::string_view> parts =
        !is_nested_ && !name.empty() ? std::vector<std::string_view>{name} : Split(name, '/');
    size_t same = 0;
    while (same < open_.size() && same < parts.size() && open_[same].first == parts[same]) ++same;
    Close(same, emit);
    for (size_t i = same; i < parts.size() && !name.empty(); ++i) open_.emplace_back(parts[i], std::max(begin, until_));
    until_ = std::max(until_, end);
  }

  // Ends the bars from this depth on.
  template <class Emit>
  void Close(size_t depth, const Emit& emit) {
    while (open_.size() > depth) {
      emit(open_.size() - 1, open_.back().second, until_, open_.back().first);
      open_.pop_back();
    }
  }

 private:
  bool is_nested_;
  std::vector<std::pair<std::string_view, Time>> open_;  // Names and beginnings.
  Time until_ = 0;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_MERGED_LANE_H_
