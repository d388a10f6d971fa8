#include "base/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "base/utf8.h"

namespace hlo {
namespace {

constexpr size_t kLeast = 10;

}  // namespace

size_t TerminalColumns() {
  winsize size{};
  const bool is_terminal = isatty(STDOUT_FILENO) != 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0;
  return is_terminal ? size.ws_col : 0;
}

std::string CutTo(std::string_view text, size_t columns) {
  constexpr std::string_view kGap = "...";
  if (text.size() <= columns || columns <= kGap.size()) return std::string(text);
  size_t head = (columns - kGap.size() + 1) / 2, tail = text.size() - (columns - kGap.size()) / 2;
  while (head > 0 && IsContinuation(text[head])) --head;
  while (tail < text.size() && IsContinuation(text[tail])) ++tail;
  return std::string(text.substr(0, head)).append(kGap).append(text.substr(tail));
}

void FitRows(std::vector<std::vector<std::string>>& rows, const std::vector<bool>& may_shrink, size_t between,
             size_t columns) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  if (columns == 0 || widths.empty()) return;
  const std::vector<size_t> whole = widths;
  const auto least = [&](size_t i) { return std::max(kLeast, i < rows[0].size() ? rows[0][i].size() : 0); };
  size_t all = std::accumulate(widths.begin(), widths.end(), between * (widths.size() - 1));
  while (all > columns) {
    size_t widest = widths.size();
    for (size_t i = 0; i < widths.size(); ++i) {
      if (may_shrink[i] && widths[i] > least(i) && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) break;
    --widths[widest];
    --all;
  }
  for (auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (widths[i] < whole[i]) row[i] = CutTo(row[i], widths[i]);
    }
  }
}

}  // namespace hlo
