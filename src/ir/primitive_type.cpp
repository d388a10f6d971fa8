#include "ir/primitive_type.h"

#include <iterator>

namespace hlo {
namespace {

struct TypeRow {
  std::string_view text;
  TypeClass type_class;
  int bits;
  int64_t bytes;
};

constexpr TypeRow kTypes[] = {
#define HLO_TYPE(Name, text, type_class, bits, bytes) {text, TypeClass::type_class, bits, bytes},
#include "ir/primitive_type.def"
};

const TypeRow& RowOf(PrimitiveType type) { return kTypes[static_cast<int>(type)]; }

}  // namespace

std::string_view ToString(PrimitiveType type) { return RowOf(type).text; }
TypeClass ClassOf(PrimitiveType type) { return RowOf(type).type_class; }
int BitWidth(PrimitiveType type) { return RowOf(type).bits; }
int64_t ByteWidth(PrimitiveType type) { return RowOf(type).bytes; }

std::optional<PrimitiveType> PrimitiveTypeFromText(std::string_view text) {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (kTypes[i].text == text && kTypes[i].type_class != TypeClass::kTuple) return static_cast<PrimitiveType>(i);
  }
  return std::nullopt;
}

}  // namespace hlo
