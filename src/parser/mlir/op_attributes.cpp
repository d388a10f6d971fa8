#include <algorithm>

#include "base/text.h"
#include "parser/mlir/lowering.h"

namespace hlo::mlir {
namespace {

Error Wrong(const Attribute& attribute, std::string_view what) {
  return Rejected("P037", Str("expected ", what), attribute.range);
}

}  // namespace

Error ErrorAtOp(const Operation& op, std::string code, std::string message) {
  return code.starts_with('U') ? Unsupported(std::move(code), std::move(message), op.name_range)
                               : Rejected(std::move(code), std::move(message), op.name_range);
}

Result<const Attribute*> Need(const Operation& op, std::string_view name) {
  const Attribute* const attribute = op.Find(name);
  if (attribute == nullptr) FAIL(ErrorAtOp(op, "P036", Str("'", op.name, "' needs the attribute '", name, "'")));
  return attribute;
}

Result<std::vector<int64_t>> IntsIn(const Attribute& attribute) {
  std::vector<int64_t> values;
  if (attribute.kind == Attribute::Kind::kElements) {
    const Elements& elements = *attribute.elements;
    constexpr int64_t kMost = 4096;
    const int64_t count = elements.shape.NumElements();
    const bool is_list = elements.value.shape().NumElements() == count;
    if (IsFloat(elements.shape.type()) || IsComplex(elements.shape.type()) || count > kMost)
      FAIL(Wrong(attribute, "a list of integers"));
    for (int64_t i = 0; i < count; ++i) values.push_back(elements.value.GetInt(is_list ? i : 0));
    return values;
  }
  const auto is_int = [](const Attribute& item) {
    return item.kind == Attribute::Kind::kInteger || item.kind == Attribute::Kind::kBool;
  };
  if (is_int(attribute)) return std::vector<int64_t>{attribute.integer};
  if (attribute.kind != Attribute::Kind::kArray) FAIL(Wrong(attribute, "a list of integers"));
  for (const Attribute& item : attribute.items) {
    if (item.kind == Attribute::Kind::kArray) {
      const std::vector<int64_t> inner = TRY(IntsIn(item));
      values.insert(values.end(), inner.begin(), inner.end());
      continue;
    }
    if (!is_int(item)) FAIL(Wrong(item, "an integer"));
    values.push_back(item.integer);
  }
  return values;
}

Result<std::vector<int64_t>> IntsOf(const Operation& op, std::string_view name) { return IntsIn(*TRY(Need(op, name))); }

Result<std::vector<int64_t>> OptionalIntsOf(const Operation& op, std::string_view name) {
  const Attribute* const attribute = op.Find(name);
  if (attribute == nullptr) return std::vector<int64_t>();
  return IntsIn(*attribute);
}

Result<int64_t> IntOf(const Operation& op, std::string_view name) {
  const Attribute& attribute = *TRY(Need(op, name));
  if (attribute.kind != Attribute::Kind::kInteger) FAIL(Wrong(attribute, "an integer"));
  return attribute.integer;
}

Result<double> RealOf(const Operation& op, std::string_view name) {
  const Attribute& attribute = *TRY(Need(op, name));
  if (attribute.kind != Attribute::Kind::kFloat) FAIL(Wrong(attribute, "a number such as 1.0"));
  return attribute.real;
}

Result<int64_t> IntOf(const Operation& op, std::string_view name, int64_t otherwise) {
  return op.Find(name) == nullptr ? Result<int64_t>(otherwise) : IntOf(op, name);
}

Result<bool> BoolOf(const Operation& op, std::string_view name, bool otherwise) {
  const Attribute* const attribute = op.Find(name);
  if (attribute == nullptr) return otherwise;
  if (attribute->kind == Attribute::Kind::kUnit) return true;
  if (attribute->kind != Attribute::Kind::kBool) FAIL(Wrong(*attribute, "true or false"));
  return attribute->integer != 0;
}

Result<std::string> TextOf(const Operation& op, std::string_view name) {
  const Attribute& attribute = *TRY(Need(op, name));
  const bool is_text = attribute.kind == Attribute::Kind::kString || attribute.kind == Attribute::Kind::kWord ||
                       attribute.kind == Attribute::Kind::kSymbol;
  if (!is_text) FAIL(Wrong(attribute, "a word"));
  return attribute.text;
}

Result<std::vector<int64_t>> IntsOfField(const Attribute& attribute, std::string_view field) {
  const Attribute* const value = attribute.Find(field);
  if (value == nullptr) return std::vector<int64_t>();
  return IntsIn(*value);
}

Result<int64_t> IntOfField(const Attribute& attribute, std::string_view field, int64_t otherwise) {
  const Attribute* const value = attribute.Find(field);
  if (value == nullptr) return otherwise;
  if (value->kind != Attribute::Kind::kInteger) FAIL(Wrong(*value, "an integer"));
  return value->integer;
}

}  // namespace hlo::mlir
