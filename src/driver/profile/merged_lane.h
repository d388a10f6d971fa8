// A lane of a timeline that merges adjacent events of the same name into one bar.
#ifndef HLO_DRIVER_PROFILE_MERGED_LANE_H_
#define HLO_DRIVER_PROFILE_MERGED_LANE_H_

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"

namespace hlo {

// `Time` is int64_t nanoseconds or double microseconds. With `is_nested`, an event "a/b" is a bar "b" inside a bar "a".
// Names are not copied.
template <class Time>
class MergedLane {
 public:
  explicit MergedLane(bool is_nested) : is_nested_(is_nested) {}

  // Calls `emit(depth, begin, end, name)` for each bar that ends before the event. Events must be ordered by start. The
  // bar of an overlapping event starts at the end of the previous one.
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

  template <class Emit>
  void Close(size_t depth, const Emit& emit) {
    while (open_.size() > depth) {
      emit(open_.size() - 1, open_.back().second, until_, open_.back().first);
      open_.pop_back();
    }
  }

 private:
  bool is_nested_;
  std::vector<std::pair<std::string_view, Time>> open_;
  Time until_ = 0;
};

}  // namespace hlo

#endif  // HLO_DRIVER_PROFILE_MERGED_LANE_H_
