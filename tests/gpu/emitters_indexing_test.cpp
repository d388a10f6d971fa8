#include <gtest/gtest.h>

#include "ir/analysis/indexing.h"

namespace hlo {
namespace {

using Index = std::vector<IndexExpr>;
using Dims = std::vector<int64_t>;

TEST(Indexing, ReshapesCancel) {
  IndexPool pool;
  const IndexExpr a = pool.Variable(0, 5), b = pool.Variable(0, 3), c = pool.Variable(0, 6);
  const Index index = {a, b, c};
  const Dims dims = {6, 4, 7};
  for (const Dims& other : {Dims{24, 7}, Dims{168}, Dims{2, 3, 28}, Dims{3, 2, 2, 2, 7}, Dims{1, 6, 1, 4, 7, 1}}) {
    const Index there = pool.Delinearize(pool.Linearize(index, dims), other);
    EXPECT_EQ(pool.Delinearize(pool.Linearize(there, other), dims), index)
        << pool.ToString(pool.Linearize(there, other));
  }
  EXPECT_EQ(pool.Delinearize(pool.Linearize(Index{pool.Add(pool.Multiply(a, 4), b), c}, Dims{24, 7}), dims), index);
}

TEST(Indexing, SplitVariablesJoin) {
  IndexPool pool;
  const IndexExpr x = pool.Variable(0, 6 * 4 * 7 - 1);
  const Dims dims = {6, 4, 7};
  EXPECT_EQ(pool.Linearize(pool.Delinearize(x, dims), dims), x);
  // The last two digits together are a remainder.
  const Index digits = pool.Delinearize(x, dims);
  EXPECT_EQ(pool.Add(pool.Multiply(digits[1], 7), digits[2]), pool.Mod(x, 28));
}

TEST(Indexing, DivisionAndRemainderAreCorrect) {
  for (int64_t stride = 1; stride <= 6; ++stride) {
    for (int64_t divisor = 1; divisor <= 12; ++divisor) {
      for (int64_t offset = 0; offset <= 7; offset += 3) {
        IndexPool pool;
        const auto divided = [&](IndexExpr a, IndexExpr b) {
          const IndexExpr e = pool.Add(pool.Add(pool.Multiply(a, stride * 4), pool.Multiply(b, stride)), offset);
          return std::pair(pool.Div(e, divisor), pool.Mod(e, divisor));
        };
        const auto [quotient, remainder] = divided(pool.Variable(0, 4), pool.Variable(0, 3));
        ASSERT_LE(pool[remainder].high, divisor - 1);
        ASSERT_GE(pool[quotient].high, (16 * stride + 3 * stride + offset) / divisor);
        for (int64_t x = 0; x < 5; ++x) {
          for (int64_t y = 0; y < 4; ++y) {
            const auto [div, mod] = divided(pool.Constant(x), pool.Constant(y));
            const int64_t value = x * stride * 4 + y * stride + offset;
            ASSERT_TRUE(pool.IsConstant(div, value / divisor) && pool.IsConstant(mod, value % divisor));
          }
        }
      }
    }
  }
}

TEST(Indexing, ClampsVanishIfTheIndexIsInRange) {
  IndexPool pool;
  const IndexExpr x = pool.Variable(0, 9);
  EXPECT_EQ(pool.Clamp(x, 0, 9), x);
  EXPECT_NE(pool.Clamp(x, 1, 9), x);
  EXPECT_TRUE(pool.IsConstant(pool.Clamp(pool.Add(x, 20), 0, 9), 9));
}

}  // namespace
}  // namespace hlo
