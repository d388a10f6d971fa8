#include "driver/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "base/text.h"

namespace hlo {
namespace {

constexpr size_t kContext = 3;

using Lines = std::vector<std::string_view>;

Lines LinesOf(std::string_view text) {
  Lines lines = Split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

// Lines [from_begin, from_end) became [to_begin, to_end).
struct Edit {
  size_t from_begin, from_end, to_begin, to_end;
};

void AddEdit(const Lines& from, const Lines& to, Edit edit, std::vector<Edit>* edits) {
  auto& [from_begin, from_end, to_begin, to_end] = edit;
  while (from_begin < from_end && to_begin < to_end && from[from_begin] == to[to_begin]) ++from_begin, ++to_begin;
  while (from_begin < from_end && to_begin < to_end && from[from_end - 1] == to[to_end - 1]) --from_end, --to_end;
  if (from_begin < from_end || to_begin < to_end) edits->push_back(edit);
}

std::vector<Edit> EditsOf(const Lines& from, const Lines& to) {
  struct Places {
    size_t from = 0, to = 0;
    int from_count = 0, to_count = 0;
  };
  std::unordered_map<std::string_view, Places> places;
  for (size_t i = 0; i < from.size(); ++i) {
    Places& line = places[from[i]];
    line.from = i;
    ++line.from_count;
  }
  for (size_t i = 0; i < to.size(); ++i) {
    Places& line = places[to[i]];
    line.to = i;
    ++line.to_count;
  }
  std::vector<size_t> there, here;  // Indices of lines that occur once in each text.
  for (const std::string_view line : to) {
    const Places& place = places[line];
    if (place.from_count != 1 || place.to_count != 1) continue;
    there.push_back(place.from);
    here.push_back(place.to);
  }
  std::vector<Edit> edits;
  Edit edit{0, 0, 0, 0};
  for (const size_t i : LongestIncreasing(there)) {
    edit.from_end = there[i], edit.to_end = here[i];
    AddEdit(from, to, edit, &edits);
    edit.from_begin = there[i] + 1, edit.to_begin = here[i] + 1;
  }
  edit.from_end = from.size(), edit.to_end = to.size();
  AddEdit(from, to, edit, &edits);
  return edits;
}

std::string RangeText(size_t begin, size_t end) {
  return Str(end == begin ? begin : begin + 1, end - begin == 1 ? "" : Str(",", end - begin));
}

}  // namespace

std::vector<size_t> LongestIncreasing(const std::vector<size_t>& places) {
  // tails[n]: the end of the best sequence of length n + 1.
  std::vector<size_t> tails, previous(places.size(), SIZE_MAX);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = std::ranges::lower_bound(tails, places[i], {}, [&](size_t tail) { return places[tail]; });
    if (at != tails.begin()) previous[i] = *(at - 1);
    if (at == tails.end()) tails.push_back(i);
    else *at = i;
  }
  std::vector<size_t> longest;
  for (size_t i = tails.empty() ? SIZE_MAX : tails.back(); i != SIZE_MAX; i = previous[i]) longest.push_back(i);
  std::ranges::reverse(longest);
  return longest;
}

std::string UnifiedDiff(std::string_view from_name, std::string_view from_text, std::string_view to_name,
                        std::string_view to_text) {
  const Lines from = LinesOf(from_text), to = LinesOf(to_text);
  const std::vector<Edit> edits = EditsOf(from, to);
  if (edits.empty()) return "";
  std::string out = Str("--- ", from_name, "\n+++ ", to_name, "\n");
  const auto add = [&](char sign, const Lines& lines, size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) out += Str(sign, lines[i], "\n");
  };
  std::string_view computation;
  size_t seen = 0;
  for (size_t first = 0, last = 0; first < edits.size(); first = last + 1) {
    for (last = first; last + 1 < edits.size(); ++last) {
      if (edits[last + 1].from_begin - edits[last].from_end > 2 * kContext) break;
    }
    const size_t before = std::min(edits[first].from_begin, kContext);
    const size_t after = std::min(from.size() - edits[last].from_end, kContext);
    const size_t begin = edits[first].from_begin - before;
    for (; seen < begin; ++seen) {
      if (from[seen].ends_with('{') && !from[seen].starts_with(' ')) computation = from[seen];
    }
    out += Str("@@ -", RangeText(begin, edits[last].from_end + after), " +",
               RangeText(edits[first].to_begin - before, edits[last].to_end + after), " @@",
               computation.empty() ? "" : " ", computation, "\n");
    size_t at = begin;
    for (size_t i = first; i <= last; ++i) {
      add(' ', from, at, edits[i].from_begin);
      add('-', from, edits[i].from_begin, edits[i].from_end);
      add('+', to, edits[i].to_begin, edits[i].to_end);
      at = edits[i].from_end;
    }
    add(' ', from, at, at + after);
  }
  return out;
}

}  // namespace hlo
