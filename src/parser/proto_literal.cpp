#include "parser/proto_literal.h"

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "parser/parser.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

Literal RowMajor(Literal stored) {
  const Shape& shape = stored.shape();
  const int64_t rank = shape.rank();
  const int64_t count = shape.NumElements();
  if (count == 0 || shape.layout().minor_to_major == DefaultLayout(rank).minor_to_major) return stored;
  Literal logical = Literal::Uninitialized(shape);
  const int64_t width = stored.byte_size() / count;
  const std::vector<int64_t> strides = LayoutStrides(shape);
  std::vector<int64_t> index(rank);
  int64_t from = 0;
  std::byte* to = logical.mutable_raw();
  for (int64_t i = 0; i < count; ++i, to += width) {
    std::memcpy(to, stored.raw() + from * width, width);
    for (int64_t d = rank; d-- > 0;) {
      from += strides[d];
      if (++index[d] < shape.dim(d)) break;
      from -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return logical;
}

}  // namespace

const ProtoField* LiteralField(PrimitiveType type) {
  const std::string name = Str(type, "s");
  for (const ProtoField& field : FieldsOf(ProtoType::kLiteralProto)) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

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

}  // namespace hlo
