// Index expressions: integer arithmetic over bounded variables, for the position of one array's element in another. The
// normal form simplifies chains of reshapes, transposes, slices and broadcasts to sums of multiples. Equal expressions
// have equal handles.
//
//   pool.Delinearize(pool.Linearize({a, b}, {6, 4}), {24})      => {4*a + b}
//   pool.Delinearize({4*a + b}, {6, 4})                         => {a, b}     for 0 <= b < 4
//
// Division and remainder require non-negative operands (CHECKed by range).
#ifndef HLO_IR_ANALYSIS_INDEXING_H_
#define HLO_IR_ANALYSIS_INDEXING_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

namespace hlo {

struct IndexExpr {
  int32_t id = -1;
  auto operator<=>(const IndexExpr&) const = default;
};

class IndexPool {
 public:
  enum class Kind : uint8_t { kVariable, kSum, kDiv, kMod, kClamp };

  struct Term {
    int64_t coefficient;
    IndexExpr atom;  // An atom is not a sum.
    auto operator<=>(const Term&) const = default;
  };
  struct Node {
    Kind kind;
    int32_t variable = -1;    // kVariable
    std::vector<Term> terms;  // kSum: sorted by atom, without zero coefficients.
    int64_t constant = 0;     // kSum
    IndexExpr operand;
    int64_t divisor = 0;             // kDiv, kMod
    int64_t low = 0, high = 0;       // Inclusive range, or the bounds of kClamp.
    std::vector<int32_t> variables;  // The variables that the value depends on, sorted.
  };

  IndexExpr Variable(int64_t low, int64_t high);
  IndexExpr Constant(int64_t value);
  IndexExpr Add(IndexExpr a, IndexExpr b);
  IndexExpr Add(IndexExpr a, int64_t constant);
  IndexExpr Multiply(IndexExpr a, int64_t factor);
  IndexExpr Div(IndexExpr a, int64_t divisor);
  IndexExpr Mod(IndexExpr a, int64_t divisor);
  IndexExpr Clamp(IndexExpr a, int64_t low, int64_t high);

  IndexExpr Dot(std::span<const IndexExpr> index, std::span<const int64_t> strides);
  IndexExpr Linearize(std::span<const IndexExpr> index, std::span<const int64_t> dims);
  std::vector<IndexExpr> Delinearize(IndexExpr linear, std::span<const int64_t> dims);

  const Node& operator[](IndexExpr e) const { return nodes_[e.id]; }
  bool IsConstant(IndexExpr e) const { return nodes_[e.id].kind == Kind::kSum && nodes_[e.id].terms.empty(); }
  bool IsConstant(IndexExpr e, int64_t value) const { return IsConstant(e) && nodes_[e.id].constant == value; }
  // The factor of `variable`: 0 if it is absent, kNotLinear if it is inside a division, remainder or clamp.
  static constexpr int64_t kNotLinear = INT64_MIN;
  int64_t Coefficient(IndexExpr e, IndexExpr variable) const;
  bool DependsOn(IndexExpr e, IndexExpr variable) const;

  std::string ToString(IndexExpr e) const;

 private:
  struct Sum {
    std::vector<Term> terms;
    int64_t constant = 0;
  };
  Sum AsSum(IndexExpr e) const;
  IndexExpr FromSum(Sum sum);
  void JoinSplitTerms(Sum& sum);
  bool JoinOnePair(Sum& sum);
  IndexExpr Intern(Node node);
  void RangeOf(const Sum& sum, int64_t* low, int64_t* high) const;
  // A sum as factor * multiple + rest, where `multiple` has a term and the constant of `rest` is in [0, factor).
  struct Split {
    int64_t factor;
    Sum multiple, rest;
    int64_t rest_low, rest_high;
  };
  std::vector<Split> SplitsOf(const Node& sum, int64_t divisor) const;
  bool MayBeNegative(const Sum& sum) const;

  std::vector<Node> nodes_;
  std::map<std::tuple<Kind, int32_t, int64_t, int64_t, std::vector<Term>>, IndexExpr> interned_;
};

}  // namespace hlo

#endif  // HLO_IR_ANALYSIS_INDEXING_H_
