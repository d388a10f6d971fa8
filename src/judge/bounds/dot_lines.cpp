#include "judge/bounds/dot_lines.h"

#include <functional>
#include <numeric>

#include "interp/strided.h"
#include "ir/dimensions.h"
#include "judge/bounds/sample_points.h"

namespace hlo::shadow {
namespace {

std::vector<int64_t> SizesOf(const Shape& shape, const std::vector<int64_t>& dimensions) {
  std::vector<int64_t> sizes;
  for (const int64_t d : dimensions) sizes.push_back(shape.dim(d));
  return sizes;
}

// The terms of line b * free + i are at base[b] + free[i] + terms[k].
DotLines::Side Gathered(const Shape& shape, const std::vector<int64_t>& batch, const std::vector<int64_t>& free,
                        const std::vector<int64_t>& contracting, const std::vector<int64_t>& lines) {
  const std::vector<int64_t> bases = OffsetsOf(shape, batch), lines_of = OffsetsOf(shape, free),
                             terms = OffsetsOf(shape, contracting);
  DotLines::Side side{.all = false, .at = {}, .dims = SizesOf(shape, contracting)};
  side.dims.insert(side.dims.begin(), std::ssize(lines));
  side.at.reserve(lines.size() * terms.size());
  for (const int64_t line : lines) {
    const int64_t start = bases[line / std::ssize(lines_of)] + lines_of[line % std::ssize(lines_of)];
    for (const int64_t term : terms) side.at.push_back(start + term);
  }
  return side;
}

}  // namespace

std::optional<DotLines> LinesOf(const Instruction& dot, const std::vector<int64_t>& at) {
  const auto& attrs = dot.attrs<DotAttrs>();
  const Shape &left = dot.operand(0).shape(), &right = dot.operand(1).shape();
  if (!attrs.sparsity.empty() || dot.operand_count() != 2) return std::nullopt;
  const std::vector<int64_t> left_free = FreeDimensions(left.rank(), attrs.lhs_batch, attrs.lhs_contracting),
                             right_free = FreeDimensions(right.rank(), attrs.rhs_batch, attrs.rhs_contracting);
  const int64_t batches = Product(SizesOf(left, attrs.lhs_batch)), rows = Product(SizesOf(left, left_free)),
                columns = Product(SizesOf(right, right_free));
  // The index of a result is (b * rows + row) * columns + column.
  std::vector<int64_t> left_line, right_line;
  for (const int64_t result : at) {
    left_line.push_back(result / columns);
    right_line.push_back(result / columns / rows * columns + result % columns);
  }
  std::vector<int64_t> left_lines = left_line, right_lines = right_line;
  SortUnique(left_lines, batches * rows);
  SortUnique(right_lines, batches * columns);
  // Gathering an element costs several times as much as using it.
  const auto is_few = [&](const std::vector<int64_t>& lines, int64_t of_each) {
    return 4 * std::ssize(lines) <= batches * of_each;
  };
  const bool few_left = is_few(left_lines, rows), few_right = is_few(right_lines, columns);
  const bool is_batched = !attrs.lhs_batch.empty();
  if (is_batched ? !few_left || !few_right : !few_left && !few_right) return std::nullopt;

  DotLines lines{.left = {}, .right = {}, .attrs = attrs, .dims = {}, .at = {}};
  lines.attrs.lhs_batch.clear();
  lines.attrs.rhs_batch.clear();
  const auto count_up = [](std::vector<int64_t>& dimensions) { std::iota(dimensions.begin(), dimensions.end(), 1); };
  if (few_left) {
    lines.left = Gathered(left, attrs.lhs_batch, left_free, attrs.lhs_contracting, left_lines);
    count_up(lines.attrs.lhs_contracting);
    lines.dims = {std::ssize(left_lines)};
  } else {
    lines.dims = SizesOf(left, left_free);
  }
  const std::vector<int64_t> right_dims =
      few_right ? std::vector<int64_t>{std::ssize(right_lines)} : SizesOf(right, right_free);
  if (few_right) {
    lines.right = Gathered(right, attrs.rhs_batch, right_free, attrs.rhs_contracting, right_lines);
    count_up(lines.attrs.rhs_contracting);
  }
  lines.dims.insert(lines.dims.end(), right_dims.begin(), right_dims.end());
  const int64_t width = Product(right_dims);
  const std::vector<int64_t> row = few_left ? PositionsIn(left_lines, left_line, batches * rows) : left_line;
  const std::vector<int64_t> column = few_right ? PositionsIn(right_lines, right_line, batches * columns) : right_line;
  for (size_t j = 0; j < at.size(); ++j) lines.at.push_back(row[j] * width + column[j]);
  return lines;
}

}  // namespace hlo::shadow
