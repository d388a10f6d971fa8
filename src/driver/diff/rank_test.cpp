#include "driver/diff/rank_test.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace hlo {
namespace {

// Indexed by U of the Mann-Whitney test: the number of orders of n and m numbers with this U. If the largest number is
// of the first sample, it adds m to U.
std::vector<double> OrdersByU(size_t n, size_t m) {
  std::vector<std::vector<double>> without(m + 1, {1});  // Indexed by the size of the second sample, for an empty first
                                                         // sample.
  for (size_t i = 1; i <= n; ++i) {
    std::vector<std::vector<double>> with(m + 1);
    with[0] = {1};
    for (size_t k = 1; k <= m; ++k) {
      with[k].assign(i * k + 1, 0);
      for (size_t u = 0; u < with[k - 1].size(); ++u) with[k][u] += with[k - 1][u];
      for (size_t u = 0; u < without[k].size(); ++u) with[k][u + k] += without[k][u];
    }
    without = std::move(with);
  }
  return without[m];
}

}  // namespace

double RankTest(std::span<const double> a, std::span<const double> b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<std::pair<double, bool>> all;
  for (const double x : a) all.emplace_back(x, true);
  for (const double x : b) all.emplace_back(x, false);
  std::ranges::sort(all);
  const double n = static_cast<double>(a.size()), m = static_cast<double>(b.size());
  double rank_sum = 0, tied = 0;  // `tied` is the sum of t^3 - t over groups of t equal numbers.
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].first == all[begin].first) ++end;
    const double count = static_cast<double>(end - begin), rank = (static_cast<double>(begin + end) + 1) / 2;
    for (size_t i = begin; i < end; ++i) rank_sum += all[i].second ? rank : 0;
    tied += count * count * count - count;
    begin = end;
  }
  const double u = rank_sum - n * (n + 1) / 2, mean = n * m / 2, distance = std::abs(u - mean);
  constexpr size_t kMostExact = 50;
  if (tied == 0 && a.size() <= kMostExact && b.size() <= kMostExact) {
    const std::vector<double> orders = OrdersByU(a.size(), b.size());
    double as_far = 0, total = 0;
    for (size_t i = 0; i < orders.size(); ++i) {
      total += orders[i];
      as_far += std::abs(static_cast<double>(i) - mean) >= distance ? orders[i] : 0;
    }
    return as_far / total;
  }
  const double count = n + m, variance = n * m / 12 * (count + 1 - tied / (count * (count - 1)));
  if (variance <= 0) return 1;
  return std::min(1.0, std::erfc(std::max(0.0, distance - 0.5) / std::sqrt(2 * variance)));
}

double LeastOfRankTest(size_t a, size_t b) {
  double orders = 1;  // The binomial coefficient a + b over a.
  for (size_t i = 1; i <= a; ++i) orders *= static_cast<double>(b + i) / static_cast<double>(i);
  return std::min(1.0, 2 / orders);
}

}  // namespace hlo
