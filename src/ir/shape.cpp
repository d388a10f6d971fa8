#include "ir/shape.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "base/text.h"

namespace hlo {
namespace {

void AppendShape(std::string& out, const Shape& shape, bool with_layout);

void AppendLayout(std::string& out, const Layout& layout) {
  std::string parts;
  const Tiling& tiling = *layout.tiling;
  if (!tiling.tiles.empty()) {
    parts += 'T';
    for (const auto& tile : tiling.tiles) {
      parts += '(';
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i > 0) parts += ',';
        if (tile[i] == Tiling::kCombine) {
          parts += '*';
        } else {
          AppendTo(parts, tile[i]);
        }
      }
      parts += ')';
    }
  }
  if (tiling.tail_padding_alignment != 1) parts += Str("L(", tiling.tail_padding_alignment, ")");
  if (tiling.element_size_in_bits != 0) parts += Str("E(", tiling.element_size_in_bits, ")");
  if (tiling.memory_space != 0) parts += Str("S(", tiling.memory_space, ")");
  parts += tiling.others;
  const DimOrder& order = tiling.wrong_order.empty() ? layout.minor_to_major : tiling.wrong_order;
  if (order.empty() && parts.empty()) return;  // A scalar's `{}` cannot be read back.
  out += Str("{", Join(order, ","), parts.empty() ? "" : ":", parts, "}");
}

void AppendShape(std::string& out, const Shape& shape, bool with_layout) {
  if (shape.IsTuple()) {
    out += '(';
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      if (i > 0) out += ", ";
      if (with_layout && i > 0 && i % 5 == 0) out += Str("/*index=", i, "*/");
      AppendShape(out, shape.element(i), with_layout);
    }
    out += ')';
    return;
  }
  if (shape.IsBuffer()) out += "b(";
  out += ToString(shape.type());
  out += '[';
  for (int64_t i = 0; i < shape.rank(); ++i) {
    if (i > 0) out += ',';
    if (shape.dim(i) == Shape::kUnbounded) {
      out += '?';
      continue;
    }
    if (shape.IsDynamic(i)) out += "<=";
    AppendTo(out, shape.dim(i));
  }
  out += ']';
  if (with_layout && shape.IsArray()) AppendLayout(out, shape.layout());
  if (shape.IsBuffer()) out += ')';
}

}  // namespace

Layout DefaultLayout(int64_t rank) {
  Layout layout;
  for (int64_t i = rank; i-- > 0;) layout.minor_to_major.push_back(i);
  return layout;
}

Shape::Shape(PrimitiveType type, Dims dims)
    : type_(type), dims_(std::move(dims)), layout_(DefaultLayout(static_cast<int64_t>(dims_.size()))) {}

Shape::Shape(PrimitiveType type, Dims dims, Layout layout)
    : type_(type), dims_(std::move(dims)), layout_(std::move(layout)) {}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape;
  if (!elements.empty()) shape.mutable_elements() = std::move(elements);
  return shape;
}

void Shape::SetDynamic(int64_t i, bool dynamic) {
  CHECK(i < 64, "a dynamic dimension ", i);  // The parser rejects higher ranks.
  const uint64_t bit = uint64_t{1} << i;
  dynamic_ = dynamic ? dynamic_ | bit : dynamic_ & ~bit;
}

bool Shape::HasDefaultLayout() const {
  if (IsTuple()) {
    for (const Shape& element : elements()) {
      if (!element.HasDefaultLayout()) return false;
    }
    return true;
  }
  if (!IsArray()) return true;
  const DimOrder& order = layout_.minor_to_major;
  int64_t dim = rank();
  return order.size() == dims_.size() && std::all_of(order.begin(), order.end(), [&](auto d) { return d == --dim; }) &&
         layout_.tiling == Boxed<Tiling>();
}

int64_t Shape::NumElements() const {
  int64_t count = 1;
  for (const int64_t dim : dims_) {
    if (dim == 0) return 0;
    if (__builtin_mul_overflow(count, dim, &count)) count = std::numeric_limits<int64_t>::max();
  }
  return count;
}

int64_t Shape::ByteSize() const {
  int64_t bytes = 0;
  if (!IsTuple()) {
    if (IsArray() && __builtin_mul_overflow(NumElements(), ByteWidth(type_), &bytes))
      bytes = std::numeric_limits<int64_t>::max();
    return bytes;
  }
  for (const Shape& element : elements()) {
    if (__builtin_add_overflow(bytes, element.ByteSize(), &bytes)) return std::numeric_limits<int64_t>::max();
  }
  return bytes;
}

int64_t Shape::LeafCount() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : elements()) count += element.LeafCount();
  return count;
}

int64_t Shape::FirstLeaf(int64_t i) const {
  int64_t first = 0;
  for (const Shape& element : std::span(elements()).first(i)) first += element.LeafCount();
  return first;
}

Shape Shape::WithType(PrimitiveType type) const {
  Shape shape = *this;
  shape.type_ = type;
  return shape;
}

Shape Shape::WithDims(Dims dims) const { return Shape(type_, std::move(dims)); }

Shape Shape::WithDefaultLayout() const {
  Shape whole = *this;
  std::vector<Shape*> left = {&whole};
  while (!left.empty()) {
    Shape& shape = *left.back();
    left.pop_back();
    if (shape.IsTuple()) {
      for (Shape& element : shape.mutable_elements()) left.push_back(&element);
    } else {
      shape.layout_ = DefaultLayout(shape.rank());
    }
  }
  return whole;
}

std::string Shape::ToString() const {
  std::string out;
  AppendShape(out, *this, false);
  return out;
}

std::string Shape::ToStringWithLayout() const {
  std::string out;
  AppendShape(out, *this, true);
  return out;
}

bool SameDims(const Shape& a, const Shape& b) { return a.dims() == b.dims(); }

bool Compatible(const Shape& a, const Shape& b) {
  if (a.type() != b.type() || a.dims() != b.dims() || a.elements().size() != b.elements().size()) return false;
  for (size_t i = 0; i < a.elements().size(); ++i) {
    if (!Compatible(a.element(i), b.element(i))) return false;
  }
  return true;
}

const Shape& SubShape(const Shape& shape, std::span<const int64_t> index) {
  const Shape* sub = &shape;
  for (const int64_t i : index) {
    CHECK(sub->IsTuple() && i >= 0 && i < static_cast<int64_t>(sub->elements().size()), "no {", Join(index, ","),
          "} in ", shape);
    sub = &sub->element(i);
  }
  return *sub;
}

// Only strides of empty arrays wrap around at 2^64.
std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size());
  uint64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(dims[i]);
  }
  return strides;
}

std::vector<int64_t> LayoutStrides(const Shape& shape) {
  std::vector<int64_t> strides(shape.rank());
  uint64_t stride = 1;
  for (const int64_t dim : shape.layout().minor_to_major) {
    strides[dim] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(shape.dim(dim));
  }
  return strides;
}

}  // namespace hlo
