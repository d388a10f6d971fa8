// Differences of lines, in time n log n and memory of the order of the lines: for texts of modules, whose lines name
// what they define and so are seldom there twice.
#ifndef HLO_DRIVER_LINE_DIFF_H_
#define HLO_DRIVER_LINE_DIFF_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace hlo {

// Indices of `places` that form its longest increasing subsequence.
std::vector<size_t> LongestIncreasing(const std::vector<size_t>& places);

// As `diff -u` has it, with three lines of context and the computation of each hunk: patch makes `to` of `from`. Both
// end with a line's end. "" where they are equal. It may not be the shortest: only lines that stand once in both texts,
// and what follows or precedes them, are found again.
std::string UnifiedDiff(std::string_view from_name, std::string_view from, std::string_view to_name,
                        std::string_view to);

}  // namespace hlo

#endif  // HLO_DRIVER_LINE_DIFF_H_
