#include "judge/bounds/sample_points.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>

namespace hlo::shadow {
namespace {

// SplitMix64.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// Both ends, and one index of each of `wanted` strata of [0, count).
std::vector<int64_t> Stratified(int64_t count, int64_t wanted, uint64_t seed) {
  std::vector<int64_t> at;
  wanted = std::min(wanted, count);
  const auto edge = [&](int64_t k) { return static_cast<int64_t>(static_cast<__int128>(count) * k / wanted); };
  for (int64_t i = 0; i < wanted; ++i)
    at.push_back(edge(i) + static_cast<int64_t>(Mix(seed + i) % (edge(i + 1) - edge(i))));
  if (count > 0) {
    at.push_back(0);
    at.push_back(count - 1);
  }
  SortUnique(at, count);
  return at;
}

// Whether one bit for each element costs less than sorting and searching.
bool IsDense(const std::vector<int64_t>& at, int64_t count) { return std::ssize(at) >= count / 64; }

std::vector<uint64_t> BitsOf(const std::vector<int64_t>& at, int64_t count) {
  std::vector<uint64_t> bits(count / 64 + 1);
  for (const int64_t i : at) bits[i / 64] |= uint64_t{1} << (i % 64);
  return bits;
}

}  // namespace

void SortUnique(std::vector<int64_t>& at, int64_t count) {
  if (std::ranges::adjacent_find(at, std::greater_equal<>()) == at.end()) return;
  if (!IsDense(at, count)) {
    std::ranges::sort(at);
    at.erase(std::unique(at.begin(), at.end()), at.end());
    return;
  }
  const std::vector<uint64_t> bits = BitsOf(at, count);
  at.clear();
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1)
      at.push_back(static_cast<int64_t>(word * 64) + std::countr_zero(left));
  }
}

std::vector<int64_t> PositionsIn(const std::vector<int64_t>& sorted, const std::vector<int64_t>& at, int64_t count) {
  std::vector<int64_t> positions(at.size());
  if (!IsDense(at, count)) {
    for (size_t j = 0; j < at.size(); ++j) positions[j] = std::ranges::lower_bound(sorted, at[j]) - sorted.begin();
    return positions;
  }
  const std::vector<uint64_t> bits = BitsOf(sorted, count);
  std::vector<int64_t> before(bits.size());
  for (size_t word = 1; word < bits.size(); ++word) before[word] = before[word - 1] + std::popcount(bits[word - 1]);
  for (size_t j = 0; j < at.size(); ++j) {
    const uint64_t below = (uint64_t{1} << (at[j] % 64)) - 1;
    positions[j] = before[at[j] / 64] + std::popcount(bits[at[j] / 64] & below);
  }
  return positions;
}

std::vector<int64_t> Points(const Shape& shape, Spread spread, int64_t wanted, uint64_t seed) {
  const int64_t count = shape.NumElements();
  std::vector<int64_t> points;
  if (count <= wanted) {
    points.resize(count);
    std::iota(points.begin(), points.end(), 0);
    return points;
  }
  const int64_t row = shape.dims().back(), rows = count / row;
  if (spread == Spread::kEverywhere || rows == 1) {
    const int64_t ends = std::clamp<int64_t>(wanted / 8, 1, 64), row_ends = std::clamp<int64_t>(wanted / 8, 1, 512);
    points = Stratified(count, wanted, seed);
    for (int64_t i = 0; i < std::min(count, ends); ++i) {
      points.push_back(i);
      points.push_back(count - 1 - i);
    }
    for (int64_t i = 0; i < std::min(rows, row_ends); ++i) {
      const int64_t r = rows * i / std::min(rows, row_ends);
      points.push_back(r * row);
      points.push_back(r * row + row - 1);
    }
    SortUnique(points, count);
    return points;
  }
  if (spread == Spread::kInGrid) {
    constexpr int64_t kLines = 256;
    const auto to_fill = [&](int64_t others) {
      others = std::min(others, kLines);
      return std::max(kLines, (wanted + others - 1) / others);
    };
    const std::vector<int64_t> in_rows = Stratified(rows, to_fill(row), seed),
                               in_columns = Stratified(row, to_fill(rows), Mix(seed));
    const int64_t each = (wanted + std::ssize(in_rows) - 1) / std::ssize(in_rows);
    int64_t next = 0;
    for (const int64_t r : in_rows) {
      for (int64_t i = 0; i < std::min(each, std::ssize(in_columns)); ++i)
        points.push_back(r * row + in_columns[next++ % std::ssize(in_columns)]);
    }
    for (const int64_t r : {int64_t{0}, rows - 1}) points.insert(points.end(), {r * row, r * row + row - 1});
    SortUnique(points, count);
    return points;
  }
  const int64_t lines = spread == Spread::kInRows ? rows : row, length = count / lines;
  const int64_t each = std::min<int64_t>(length, 64), chosen = std::min(lines, (wanted + each - 1) / each);
  const int64_t of_each = std::min(length, (wanted + chosen - 1) / chosen);
  for (const int64_t line : Stratified(lines, chosen, seed)) {
    for (const int64_t at : Stratified(length, of_each, Mix(seed + line)))
      points.push_back(spread == Spread::kInRows ? line * row + at : at * row + line);
  }
  SortUnique(points, count);
  return points;
}

}  // namespace hlo::shadow
