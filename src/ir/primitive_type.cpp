#include "ir/primitive_type.h"

#include <iterator>

#include "base/word_table.h"

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
int BitWidth(PrimitiveType type) { return RowOf(type).bits; }
int64_t ByteWidth(PrimitiveType type) { return RowOf(type).bytes; }

std::optional<PrimitiveType> PrimitiveTypeFromText(std::string_view text) {
  static constexpr WordTable<std::size(kTypes)> kTable(
      [](size_t i) { return kTypes[i].type_class == TypeClass::kTuple ? std::string_view() : kTypes[i].text; });
  const int found = kTable.Find(text);
  if (found < 0) return std::nullopt;
  return static_cast<PrimitiveType>(found);
}

}  // namespace hlo
