#include "parser/proto_literal.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/text.h"
#include "parser/parser.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

// Row-major indices in memory order.
std::vector<int64_t> MemoryOrder(const Shape& shape) {
  std::vector<int64_t> order(shape.NumElements());
  const std::vector<int64_t> strides = LayoutStrides(shape);
  std::vector<int64_t> index(shape.rank());
  int64_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    order[at] = static_cast<int64_t>(i);
    for (int64_t d = shape.rank(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape.dim(d)) break;
      at -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return order;
}

Literal RowMajor(Literal stored) {
  const Shape& shape = stored.shape();
  const int64_t count = shape.NumElements();
  if (count == 0 || shape.layout().minor_to_major == DefaultLayout(shape.rank()).minor_to_major) return stored;
  Literal logical = Literal::Uninitialized(shape);
  const int64_t width = stored.byte_size() / count;
  const std::vector<int64_t> order = MemoryOrder(shape);
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(logical.mutable_raw() + order[i] * width, stored.raw() + i * width, width);
  return logical;
}

// LiteralProto's field for elements of this type, such as `f32s`, or null.
const ProtoField* LiteralField(PrimitiveType type) { return FindField(ProtoType::kLiteralProto, Str(type, "s")); }

}  // namespace

Result<Literal> LiteralFromProto(const ProtoBytes& bytes, const WireMessage& literal) {
  using L = proto::LiteralProto;
  const WireMessage shape_proto = literal.Message(L::shape);
  if (EnumText(shape_proto, proto::ShapeProto::element_type) == "TUPLE") {
    std::vector<Literal> elements;
    for (const WireMessage& element : literal.Messages(L::tuple_literals))
      elements.push_back(TRY(LiteralFromProto(bytes, element)));
    return Literal::Tuple(std::move(elements));
  }
  const std::string text = ShapeText(shape_proto);
  const auto shape = ParseShape(text);
  if (!shape)
    FAIL(bytes.ErrorAt(shape.error().code(), Str("a literal's shape: ", shape.error().message()), literal.begin()));
  const ProtoField* field = LiteralField(shape->type());
  if (field == nullptr || std::any_of(shape->dims().begin(), shape->dims().end(), [](int64_t d) { return d < 0; }))
    FAIL(bytes.ErrorAt("P043", Str("a literal cannot have the shape ", *shape), literal.begin()));
  const auto wrong_count = [&](size_t found) {
    return bytes.ErrorAt("P041",
                         Str("a literal of ", *shape, " has ", found, " elements or bytes in '", field->name,
                             "', which do not fill the shape"),
                         literal.begin());
  };
  const int64_t count = shape->NumElements();
  if (field->kind == ProtoKind::kInt) {
    const std::vector<int64_t> values = literal.Ints(*field);
    if (static_cast<int64_t>(values.size()) != count) FAIL(wrong_count(values.size()));
    Literal stored = Literal::Uninitialized(*shape);
    for (int64_t i = 0; i < count; ++i) stored.SetInt(i, values[i]);
    return RowMajor(std::move(stored));
  }
  const std::string raw =
      field->kind == ProtoKind::kBytes ? std::string(literal.Bytes(*field)) : literal.FixedBytes(*field);
  if (static_cast<int64_t>(raw.size()) != shape->ByteSize()) FAIL(wrong_count(raw.size()));
  Literal stored = Literal::Uninitialized(*shape);
  if (!raw.empty()) std::memcpy(stored.mutable_raw(), raw.data(), raw.size());
  const int bits = BitWidth(shape->type());
  if (bits < 8) {
    // In a literal, the bits above the element are copies of the sign, or 0. In a proto they are undefined.
    const bool is_signed = IsSigned(shape->type());
    for (uint8_t& value : stored.mutable_data<uint8_t>()) {
      value = static_cast<uint8_t>(value << (8 - bits));
      value = is_signed ? static_cast<uint8_t>(static_cast<int8_t>(value) >> (8 - bits))
                        : static_cast<uint8_t>(value >> (8 - bits));
    }
  }
  return RowMajor(std::move(stored));
}

void WriteLiteral(const Literal& literal, MessageWriter& out) {
  using L = proto::LiteralProto;
  const Shape& shape = literal.shape();
  WriteShape(shape, out.Part(L::shape));
  if (shape.IsTuple()) {
    for (const Literal& element : literal.elements()) WriteLiteral(element, out.Add(L::tuple_literals));
    return;
  }
  const ProtoField* const field = LiteralField(shape.type());
  CHECK(field != nullptr, "no field has elements of ", shape.type());
  const int64_t count = shape.NumElements();
  if (count == 0) return;
  const std::vector<int64_t> order = MemoryOrder(shape);
  if (field->kind == ProtoKind::kInt) {
    std::vector<int64_t> values(count);
    for (int64_t i = 0; i < count; ++i) values[i] = literal.GetInt(order[i]);
    return out.Ints(*field, values);
  }
  const int64_t width = literal.byte_size() / count;
  std::string bytes(literal.byte_size(), '\0');
  for (int64_t i = 0; i < count; ++i) std::memcpy(&bytes[i * width], literal.raw() + order[i] * width, width);
  out.Bytes(*field, bytes);  // Packed numbers are encoded like bytes.
}

}  // namespace hlo
