#include "judge/compare/in_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ir/component_type.h"
#include "judge/compare/joined.h"

namespace hlo {

Shape InParts(const Shape& shape) {
  if (shape.IsTuple()) {
    std::vector<Shape> shapes;
    for (const Shape& element : shape.elements()) shapes.push_back(InParts(element));
    return Shape::Tuple(std::move(shapes));
  }
  if (!shape.IsArray() || !IsComplex(shape.type())) return shape;
  std::vector<int64_t> dims = shape.dims();
  dims.push_back(2);
  return Shape(ComponentType(shape.type()), dims);
}
Literal InParts(const Literal& literal) {
  if (literal.shape().IsTuple()) {
    std::vector<Literal> elements;
    for (const Literal& element : literal.elements()) elements.push_back(InParts(element));
    return Literal::Tuple(std::move(elements));
  }
  if (!IsComplex(literal.shape().type())) return literal;
  Literal parts(InParts(literal.shape()));
  std::copy_n(literal.raw(), literal.byte_size(), parts.mutable_raw());
  return parts;
}

ShadowValue InParts(const ShadowValue& value) {
  if (value.shape.IsArray() && IsComplex(value.shape.type())) return PartsSideBySide(value);
  if (!value.shape.IsTuple()) return value;
  ShadowValue parts = value;
  std::vector<Shape> shapes;
  for (ShadowValue& element : parts.elements) {
    element = InParts(element);
    shapes.push_back(element.shape);
  }
  parts.shape = Shape::Tuple(std::move(shapes));
  return parts;
}

}  // namespace hlo
