#include "ir/analysis/indexing.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/check.h"
#include "base/text.h"

namespace hlo {

IndexExpr IndexPool::Intern(Node node) {
  auto key = std::tuple(node.kind, node.kind == Kind::kVariable ? node.variable : node.operand.id,
                        node.kind == Kind::kClamp ? node.low : node.divisor,
                        node.kind == Kind::kClamp ? node.high : node.constant, node.terms);
  auto [it, is_new] = interned_.try_emplace(std::move(key), IndexExpr{static_cast<int32_t>(nodes_.size())});
  if (is_new) nodes_.push_back(std::move(node));
  return it->second;
}

IndexExpr IndexPool::Variable(int64_t low, int64_t high) {
  if (low == high) return Constant(low);
  const auto variable = static_cast<int32_t>(nodes_.size());
  return Intern({.kind = Kind::kVariable, .variable = variable, .low = low, .high = high, .variables = {variable}});
}

IndexExpr IndexPool::Constant(int64_t value) {
  return Intern({.kind = Kind::kSum, .constant = value, .low = value, .high = value});
}

IndexPool::Sum IndexPool::AsSum(IndexExpr e) const {
  const Node& node = nodes_[e.id];
  if (node.kind == Kind::kSum) return {node.terms, node.constant};
  return {{{1, e}}, 0};
}

void IndexPool::RangeOf(const Sum& sum, int64_t* low, int64_t* high) const {
  *low = *high = sum.constant;
  for (const Term& term : sum.terms) {
    const Node& atom = nodes_[term.atom.id];
    *low += term.coefficient * (term.coefficient > 0 ? atom.low : atom.high);
    *high += term.coefficient * (term.coefficient > 0 ? atom.high : atom.low);
  }
}

// c*k*(x / k) + c*(x % k) => c*x, and c*k*((x / k) % q) + c*(x % k) => c*(x % (k*q)). Reshapes that split and join
// dimensions make such sums.
void IndexPool::JoinSplitTerms(Sum& sum) {
  for (bool changed = true; changed;) {
    std::ranges::sort(sum.terms, {}, &Term::atom);
    std::vector<Term> merged;
    for (const Term& term : sum.terms) {
      if (!merged.empty() && merged.back().atom == term.atom) {
        merged.back().coefficient += term.coefficient;
      } else {
        merged.push_back(term);
      }
    }
    std::erase_if(merged, [](const Term& term) { return term.coefficient == 0; });
    sum.terms = std::move(merged);
    changed = JoinOnePair(sum);
  }
}

bool IndexPool::JoinOnePair(Sum& sum) {
  for (size_t i = 0; i < sum.terms.size(); ++i) {
    const Term low = sum.terms[i];
    const Node low_node = nodes_[low.atom.id];
    if (low_node.kind != Kind::kMod) continue;
    const IndexExpr quotient = Div(low_node.operand, low_node.divisor);
    for (size_t j = 0; j < sum.terms.size(); ++j) {
      const Term high = sum.terms[j];
      if (j == i || high.coefficient != low.coefficient * low_node.divisor) continue;
      const Node high_node = nodes_[high.atom.id];
      IndexExpr joined;
      if (high.atom == quotient) {
        joined = low_node.operand;
      } else if (high_node.kind == Kind::kMod && high_node.operand == quotient) {
        joined = Mod(low_node.operand, low_node.divisor * high_node.divisor);
      } else {
        continue;
      }
      sum.terms.erase(sum.terms.begin() + std::max(i, j));
      sum.terms.erase(sum.terms.begin() + std::min(i, j));
      const Sum rest = AsSum(joined);
      for (const Term& term : rest.terms) sum.terms.push_back({term.coefficient * low.coefficient, term.atom});
      sum.constant += rest.constant * low.coefficient;
      return true;
    }
  }
  return false;
}

IndexExpr IndexPool::FromSum(Sum sum) {
  JoinSplitTerms(sum);
  if (sum.terms.size() == 1 && sum.terms[0].coefficient == 1 && sum.constant == 0) return sum.terms[0].atom;
  Node node{.kind = Kind::kSum, .terms = std::move(sum.terms), .constant = sum.constant};
  RangeOf({node.terms, node.constant}, &node.low, &node.high);
  for (const Term& term : node.terms) {
    const auto& more = nodes_[term.atom.id].variables;
    node.variables.insert(node.variables.end(), more.begin(), more.end());
  }
  std::ranges::sort(node.variables);
  node.variables.erase(std::unique(node.variables.begin(), node.variables.end()), node.variables.end());
  return Intern(std::move(node));
}

IndexExpr IndexPool::Add(IndexExpr a, IndexExpr b) {
  Sum sum = AsSum(a);
  const Sum more = AsSum(b);
  sum.terms.insert(sum.terms.end(), more.terms.begin(), more.terms.end());
  sum.constant += more.constant;
  return FromSum(std::move(sum));
}

IndexExpr IndexPool::Add(IndexExpr a, int64_t constant) {
  if (constant == 0) return a;
  Sum sum = AsSum(a);
  sum.constant += constant;
  return FromSum(std::move(sum));
}

IndexExpr IndexPool::Multiply(IndexExpr a, int64_t factor) {
  if (factor == 1) return a;
  if (factor == 0) return Constant(0);
  Sum sum = AsSum(a);
  for (Term& term : sum.terms) term.coefficient *= factor;
  sum.constant *= factor;
  return FromSum(std::move(sum));
}

std::vector<IndexPool::Split> IndexPool::SplitsOf(const Node& sum, int64_t divisor) const {
  std::vector<int64_t> factors = {divisor};
  for (const Term& term : sum.terms) factors.push_back(std::gcd(term.coefficient, divisor));
  std::ranges::sort(factors, std::greater());
  std::vector<Split> splits;
  for (const int64_t g : factors) {
    if (g <= 1) break;
    if (!splits.empty() && splits.back().factor == g) continue;
    Split split = {.factor = g};
    for (const Term& term : sum.terms) {
      if (term.coefficient % g == 0) split.multiple.terms.push_back({term.coefficient / g, term.atom});
      else split.rest.terms.push_back(term);
    }
    if (split.multiple.terms.empty()) continue;
    split.rest.constant = ((sum.constant % g) + g) % g;
    split.multiple.constant = (sum.constant - split.rest.constant) / g;
    RangeOf(split.rest, &split.rest_low, &split.rest_high);
    splits.push_back(std::move(split));
  }
  return splits;
}

bool IndexPool::MayBeNegative(const Sum& sum) const {
  int64_t low, high;
  RangeOf(sum, &low, &high);
  return low < 0;
}

IndexExpr IndexPool::Div(IndexExpr a, int64_t divisor) {
  CHECK(divisor > 0, divisor);
  if (divisor == 1) return a;
  const Node node = nodes_[a.id];
  CHECK(node.low >= 0, "division of the possibly negative ", ToString(a));
  if (node.low / divisor == node.high / divisor) return Constant(node.low / divisor);
  if (node.kind == Kind::kDiv) return Div(node.operand, node.divisor * divisor);
  if (node.kind == Kind::kMod && node.divisor % divisor == 0) {
    return Mod(Div(node.operand, divisor), node.divisor / divisor);
  }
  if (node.kind == Kind::kSum) {
    for (Split& split : SplitsOf(node, divisor)) {
      if (split.rest_low < 0) continue;
      // (g*s + r) / (g*h) => s / h when 0 <= r < g.
      if (split.rest_high < split.factor && !MayBeNegative(split.multiple))
        return Div(FromSum(std::move(split.multiple)), divisor / split.factor);
      // (d*q + r) / d => q + r / d.
      if (split.factor == divisor)
        return Add(FromSum(std::move(split.multiple)), Div(FromSum(std::move(split.rest)), divisor));
    }
  }
  return Intern({.kind = Kind::kDiv,
                 .operand = a,
                 .divisor = divisor,
                 .low = node.low / divisor,
                 .high = node.high / divisor,
                 .variables = node.variables});
}

IndexExpr IndexPool::Mod(IndexExpr a, int64_t divisor) {
  CHECK(divisor > 0, divisor);
  if (divisor == 1) return Constant(0);
  const Node node = nodes_[a.id];
  CHECK(node.low >= 0, "remainder of the possibly negative ", ToString(a));
  if (node.low / divisor == node.high / divisor) return Add(a, -(node.low / divisor * divisor));
  if (node.kind == Kind::kMod && node.divisor % divisor == 0) return Mod(node.operand, divisor);
  if (node.kind == Kind::kSum) {
    for (Split& split : SplitsOf(node, divisor)) {
      if (split.rest_low < 0) continue;
      // (d*q + r) % d => r % d.
      if (split.factor == divisor) return Mod(FromSum(std::move(split.rest)), divisor);
      // (g*s + r) % (g*h) => g*(s % h) + r when 0 <= r < g.
      if (split.rest_high >= split.factor || MayBeNegative(split.multiple)) continue;
      return Add(Multiply(Mod(FromSum(std::move(split.multiple)), divisor / split.factor), split.factor),
                 FromSum(std::move(split.rest)));
    }
  }
  return Intern({.kind = Kind::kMod,
                 .operand = a,
                 .divisor = divisor,
                 .low = 0,
                 .high = divisor - 1,
                 .variables = node.variables});
}

IndexExpr IndexPool::Clamp(IndexExpr a, int64_t low, int64_t high) {
  const Node node = nodes_[a.id];
  if (node.low >= low && node.high <= high) return a;
  if (node.high <= low) return Constant(low);
  if (node.low >= high) return Constant(high);
  if (IsConstant(a)) return Constant(std::clamp(node.constant, low, high));
  return Intern({.kind = Kind::kClamp, .operand = a, .low = low, .high = high, .variables = node.variables});
}

IndexExpr IndexPool::Dot(std::span<const IndexExpr> index, std::span<const int64_t> strides) {
  CHECK(index.size() == strides.size(), index.size(), " indices, ", strides.size(), " strides");
  Sum sum;
  for (size_t i = 0; i < index.size(); ++i) {
    const Sum part = AsSum(index[i]);
    for (const Term& term : part.terms) sum.terms.push_back({term.coefficient * strides[i], term.atom});
    sum.constant += part.constant * strides[i];
  }
  return FromSum(std::move(sum));
}

IndexExpr IndexPool::Linearize(std::span<const IndexExpr> index, std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return Dot(index, strides);
}

std::vector<IndexExpr> IndexPool::Delinearize(IndexExpr linear, std::span<const int64_t> dims) {
  std::vector<IndexExpr> index(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    index[i] = dims[i] <= 1 ? Constant(0) : Div(linear, stride);
    bool first = true;
    for (size_t j = 0; j < i; ++j) first &= dims[j] == 1;
    if (dims[i] > 1 && !(first && nodes_[index[i].id].high < dims[i])) index[i] = Mod(index[i], dims[i]);
    stride *= std::max<int64_t>(dims[i], 1);
  }
  return index;
}

int64_t IndexPool::Coefficient(IndexExpr e, IndexExpr variable) const {
  if (e == variable) return 1;
  const Node& node = nodes_[e.id];
  if (!DependsOn(e, variable)) return 0;
  if (node.kind != Kind::kSum) return kNotLinear;
  int64_t coefficient = 0;
  for (const Term& term : node.terms) {
    if (term.atom == variable) {
      coefficient += term.coefficient;
    } else if (DependsOn(term.atom, variable)) {
      return kNotLinear;
    }
  }
  return coefficient;
}

bool IndexPool::DependsOn(IndexExpr e, IndexExpr variable) const {
  return std::ranges::binary_search(nodes_[e.id].variables, nodes_[variable.id].variable);
}

std::string IndexPool::ToString(IndexExpr e) const {
  const Node& node = nodes_[e.id];
  switch (node.kind) {
    case Kind::kVariable: return Str("v", node.variable);
    case Kind::kDiv: return Str("(", ToString(node.operand), ")/", node.divisor);
    case Kind::kMod: return Str("(", ToString(node.operand), ")%", node.divisor);
    case Kind::kClamp: return Str("clamp(", node.low, ",", ToString(node.operand), ",", node.high, ")");
    case Kind::kSum: break;
  }
  std::string out;
  for (const Term& term : node.terms) {
    if (!out.empty()) out += " + ";
    out += term.coefficient == 1 ? ToString(term.atom) : Str(term.coefficient, "*", ToString(term.atom));
  }
  if (node.constant != 0 || node.terms.empty()) out += Str(out.empty() ? "" : " + ", node.constant);
  return out;
}

}  // namespace hlo
