// The fields of an attribute struct as table rows.
#ifndef HLO_PARSER_ATTRIBUTE_ROWS_H_
#define HLO_PARSER_ATTRIBUTE_ROWS_H_

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "parser/reader.h"

namespace hlo {

struct AttributeRow {
  std::string_view name;
  Presence presence;
  bool (*read)(Reader& reader, void* attrs);
};

template <class Struct, size_t I>
bool ReadField(Reader& reader, void* attrs) {
  constexpr auto field = Struct::Fields().template Get<I>();
  return reader.Read(static_cast<Struct*>(attrs)->*field.member);
}

template <class Struct, size_t... I>
constexpr auto MakeRows(std::index_sequence<I...>) {
  [[maybe_unused]] constexpr auto fields = Struct::Fields();
  return std::array<AttributeRow, sizeof...(I)>{
      AttributeRow{fields.template Get<I>().name, fields.template Get<I>().presence, ReadField<Struct, I>}...};
}

template <class Struct>
inline constexpr auto kRowsOf = MakeRows<Struct>(std::make_index_sequence<decltype(Struct::Fields())::kSize>());

// Ops that share a struct may accept only some of its fields.
bool TakesAttribute(Opcode opcode, std::string_view attribute);

// Searches from `next` first, because printers keep the order of the rows.
inline const AttributeRow* FindRow(std::span<const AttributeRow> rows, std::string_view name, size_t next = 0) {
  for (size_t i = next; i < rows.size(); ++i) {
    if (rows[i].name == name) return &rows[i];
  }
  for (size_t i = 0; i < next; ++i) {
    if (rows[i].name == name) return &rows[i];
  }
  return nullptr;
}

}  // namespace hlo

#endif  // HLO_PARSER_ATTRIBUTE_ROWS_H_
