// Cuts arrays into the parts of a factor and assembles them, by lists of indices and without the code under test.
#ifndef HLO_TESTS_IR_FACTOR_PARTS_H_
#define HLO_TESTS_IR_FACTOR_PARTS_H_

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "ir/factors/factor_rules.h"
#include "ir/factors/local_op.h"
#include "ir/literal.h"

namespace hlo {

using Indices = std::vector<int64_t>;
using Box = std::vector<Indices>;  // The indices of each dimension.

inline Indices All(int64_t size) {
  Indices indices(size);
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

// The indices of a dimension of this size whose digit of the factor is in the part.
inline Indices OfPart(const FactorRule& rule, const DimFactors& dim, int64_t size, const FactorPart& part) {
  Indices indices;
  for (int64_t index = 0; index < size; ++index) {
    bool inside = true;
    int64_t rest = index;
    for (auto factor = dim.rbegin(); factor != dim.rend(); ++factor) {
      const int64_t digit = rest % rule.factors[*factor].size;
      rest /= rule.factors[*factor].size;
      if (*factor == part.factor) inside = digit >= part.range.first && digit < part.range.first + part.range.size;
    }
    if (inside) indices.push_back(index);
  }
  return indices;
}

inline Box BoxOf(const FactorRule& rule, const LeafFactors& leaf, const Shape& shape, const FactorPart& part) {
  Box box;
  for (int64_t dim = 0; dim < shape.rank(); ++dim) box.push_back(OfPart(rule, leaf[dim], shape.dim(dim), part));
  return box;
}

// Calls f(place, i) for each index of the box in row-major order: its place in an array of these dimensions, and its
// number.
template <class F>
inline void ForEachIn(const Box& box, const Dims& dims, F&& f) {
  int64_t count = 1;
  for (const Indices& indices : box) count *= std::ssize(indices);
  for (int64_t i = 0; i < count; ++i) {
    int64_t place = 0, rest = i, stride = 1;
    for (size_t dim = box.size(); dim-- > 0;) {
      place += box[dim][rest % std::ssize(box[dim])] * stride;
      rest /= std::ssize(box[dim]);
      stride *= dims[dim];
    }
    f(place, i);
  }
}

inline int64_t WidthOf(const Literal& literal) {
  return literal.byte_size() / std::max<int64_t>(1, literal.shape().NumElements());
}

inline Literal Take(const Literal& whole, const Box& box) {
  Dims dims;
  for (const Indices& indices : box) dims.push_back(std::ssize(indices));
  Literal part(whole.shape().WithDims(dims));
  const int64_t width = WidthOf(whole);
  ForEachIn(box, whole.shape().dims(), [&](int64_t from, int64_t to) {
    std::copy_n(whole.raw() + from * width, width, part.mutable_raw() + to * width);
  });
  return part;
}

inline void Place(const Literal& part, const Box& box, Literal& whole) {
  const int64_t width = WidthOf(whole);
  ForEachIn(box, whole.shape().dims(), [&](int64_t to, int64_t from) {
    std::copy_n(part.raw() + from * width, width, whole.mutable_raw() + to * width);
  });
}

inline std::vector<Literal> LeafLiterals(const Literal& value) {
  if (!value.shape().IsTuple()) return {value};
  std::vector<Literal> leaves;
  for (const Literal& element : value.elements()) {
    for (Literal& leaf : LeafLiterals(element)) leaves.push_back(std::move(leaf));
  }
  return leaves;
}

inline Literal OfLeaves(const Shape& shape, std::span<const Literal>& leaves) {
  if (!shape.IsTuple()) {
    Literal leaf = leaves.front();
    leaves = leaves.subspan(1);
    return leaf;
  }
  std::vector<Literal> elements;
  for (const Shape& element : shape.elements()) elements.push_back(OfLeaves(element, leaves));
  return Literal::Tuple(std::move(elements));
}

// The literal with `margin` rows of zeros before and after it along `dim`.
inline Literal WithMargin(const Literal& literal, int64_t dim, int64_t margin) {
  Shape shape = literal.shape();
  shape.SetDim(dim, shape.dim(dim) + 2 * margin);
  Box box;
  for (const int64_t size : literal.shape().dims()) box.push_back(All(size));
  for (int64_t& index : box[dim]) index += margin;
  Literal wide(shape);
  Place(literal, box, wide);
  return wide;
}

inline Literal Rows(const Literal& literal, int64_t dim, IndexRange rows) {
  Box box;
  for (const int64_t size : literal.shape().dims()) box.push_back(All(size));
  box[dim] = Indices(box[dim].begin() + rows.first, box[dim].begin() + rows.first + rows.size);
  return Take(literal, box);
}

// The dimension of a leaf that has the factor, or -1.
inline int64_t CutDim(const LeafFactors& leaf, int64_t factor) {
  for (int64_t dim = 0; dim < std::ssize(leaf); ++dim) {
    if (std::ranges::find(leaf[dim], factor) != leaf[dim].end()) return dim;
  }
  return -1;
}

}  // namespace hlo

#endif  // HLO_TESTS_IR_FACTOR_PARTS_H_
