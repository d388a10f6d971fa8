// Shapes: an array (element type, dimensions, layout), a tuple of shapes, a token or an opaque value.
#ifndef HLO_IR_SHAPE_H_
#define HLO_IR_SHAPE_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/boxed.h"
#include "base/inline_vector.h"
#include "base/result.h"
#include "ir/primitive_type.h"

namespace hlo {

using Dims = InlineVector<int64_t, 4>;

// A permutation of dimensions. With int16_t, nearly all permutations fit into 16 bytes.
using DimOrder = InlineVector<int16_t, 4>;

struct Tiling {
  std::vector<std::vector<int64_t>> tiles;  // T(8,128)(2,1). kCombine stands for '*'.
  int64_t tail_padding_alignment = 1;       // L(n), in elements.
  int64_t element_size_in_bits = 0;         // E(n). 0 means the width of the type.
  int64_t memory_space = 0;                 // S(n).
  // The written order if it is not a permutation (V300). Other code sees row-major.
  DimOrder wrong_order;
  std::string others;  // #(..)*(..)SC(..)M(..) as written, without effect.

  static constexpr int64_t kCombine = INT64_MIN;

  bool operator==(const Tiling&) const = default;
};

// The arrangement of an array in memory. Only the value of `bitcast` depends on it. Text: docs/language.md#layouts.
struct Layout {
  DimOrder minor_to_major;  // {1,0} is row-major for rank 2.
  Boxed<Tiling> tiling;     // Mostly empty.

  bool operator==(const Layout&) const = default;
};

// Row-major.
Layout DefaultLayout(int64_t rank);

class Shape {
 public:
  Shape() = default;                     // The empty tuple.
  Shape(PrimitiveType type, Dims dims);  // With the default layout.
  Shape(PrimitiveType type, Dims dims, Layout layout);
  static Shape Scalar(PrimitiveType type) { return Shape(type, {}); }
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token() { return Shape(PrimitiveType::kToken, {}); }

  PrimitiveType type() const { return type_; }
  bool IsArray() const { return IsArrayType(type_); }
  bool IsTuple() const { return type_ == PrimitiveType::kTuple; }
  bool IsToken() const { return type_ == PrimitiveType::kToken; }
  bool IsScalar() const { return IsArray() && dims_.empty(); }
  bool IsScalarOf(PrimitiveType type) const { return type_ == type && dims_.empty(); }

  // A dimension `<=N` has the size N here, and `?` has kUnbounded.
  static constexpr int64_t kUnbounded = INT64_MIN;
  int64_t rank() const { return static_cast<int64_t>(dims_.size()); }
  const Dims& dims() const { return dims_; }
  int64_t dim(int64_t i) const { return dims_[i]; }
  bool IsDynamic(int64_t i) const { return (dynamic_ >> i & 1) != 0; }
  bool HasDynamicDims() const { return dynamic_ != 0; }
  void SetDynamic(int64_t i, bool dynamic);
  void SetDim(int64_t i, int64_t size) { dims_[i] = size; }
  // Builds an array shape in place. In the end the layout must order all dimensions.
  void SetType(PrimitiveType type) { type_ = type; }
  Dims& mutable_dims() { return dims_; }
  DimOrder& mutable_order() { return layout_.minor_to_major; }
  const Layout& layout() const { return layout_; }
  void SetLayout(Layout layout) { layout_ = std::move(layout); }
  bool HasDefaultLayout() const;  // Row-major without tiling. True for shapes that are not arrays.

  // b(f32[4]): a buffer for this array.
  bool IsBuffer() const { return buffer_; }
  void SetBuffer(bool buffer) { buffer_ = buffer; }

  const std::vector<Shape>& elements() const { return *elements_; }
  std::vector<Shape>& mutable_elements() { return elements_.Mutable(); }
  const Shape& element(int64_t i) const { return (*elements_)[i]; }

  // INT64_MAX on overflow. The parser rejects byte sizes beyond int64.
  int64_t NumElements() const;
  // Tokens and opaque values have 0 bytes.
  int64_t ByteSize() const;
  // Leaves are the parts that are not tuples. FirstLeaf counts the leaves before element i.
  int64_t LeafCount() const;
  int64_t FirstLeaf(int64_t i) const;

  Shape WithType(PrimitiveType type) const;
  Shape WithDims(Dims dims) const;  // With the default layout.
  Shape WithDefaultLayout() const;

  // `Compatible` compares types, dimensions and elements, and `SameDims` only dimensions.
  bool operator==(const Shape&) const = default;

  std::string ToString() const;
  std::string ToStringWithLayout() const;  // Such as "f32[2,3]{1,0}". Scalars have no layout.

 private:
  PrimitiveType type_ = PrimitiveType::kTuple;
  bool buffer_ = false;
  uint64_t dynamic_ = 0;
  Dims dims_;
  Layout layout_;
  Boxed<std::vector<Shape>> elements_;  // Only for tuples.
};

bool Compatible(const Shape& a, const Shape& b);
bool SameDims(const Shape& a, const Shape& b);

// The path to a part of a tuple: {} is the whole tuple, {1,0} the first element of its second element.
using ShapeIndex = std::vector<int64_t>;

// Calls f(index, leaf shape) depth first.
template <class F>
void ForEachLeaf(const Shape& shape, F&& f, ShapeIndex index = {}) {
  if (!shape.IsTuple()) {
    f(static_cast<const ShapeIndex&>(index), shape);
    return;
  }
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    index.push_back(i);
    ForEachLeaf(shape.element(i), f, index);
    index.pop_back();
  }
}
const Shape& SubShape(const Shape& shape, std::span<const int64_t> index);

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims);
// Strides in elements, by logical dimension. Ignores tiles.
std::vector<int64_t> LayoutStrides(const Shape& shape);

}  // namespace hlo

#endif  // HLO_IR_SHAPE_H_
