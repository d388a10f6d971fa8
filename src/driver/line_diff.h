// Diffs in time n log n and linear memory, for texts whose lines are mostly unique.
#ifndef HLO_DRIVER_LINE_DIFF_H_
#define HLO_DRIVER_LINE_DIFF_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// The indices of the longest increasing subsequence of `places`.
std::vector<size_t> LongestIncreasing(const std::vector<size_t>& places);

// A diff as by `diff -u`, with three lines of context and the computation of each hunk, or "" for equal texts. Both
// texts must end with a line break. The diff is not always the shortest, because it matches only lines that are unique
// in both texts, and equal lines next to them.
std::string UnifiedDiff(std::string_view from_name, std::string_view from, std::string_view to_name,
                        std::string_view to);

}  // namespace hlo

#endif  // HLO_DRIVER_LINE_DIFF_H_
