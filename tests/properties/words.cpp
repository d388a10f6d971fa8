#include "tests/properties/words.h"

#include <optional>
#include <vector>

#include "base/text.h"
#include "ir/opcode.h"
#include "ir/primitive_type.h"
#include "parser/proto_schema.h"

namespace hlo {
namespace {

template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> : ValueOf<T> {};
template <class T>
struct ValueOf<std::vector<T>> : ValueOf<T> {};

template <class Struct>
void AddFields(std::set<std::string>& words) {
  ForEachField<Struct>([&](const auto& field) {
    words.insert(Str(field.name, "="));
    using T = typename ValueOf<std::remove_cvref_t<decltype(Struct().*field.member)>>::Type;
    if constexpr (std::is_enum_v<T>) {
      for (const std::string_view word : EnumWords<T>::kWords) words.emplace(word);
    }
  });
}

}  // namespace

std::set<std::string> WordsOfTables() {
  std::set<std::string> words;
  for (const OpRow& row : AllOps()) {
    words.insert(Str(row.text, "("));
    Visit(row.make_attrs(), [&]<class Struct>(const Struct&) { AddFields<Struct>(words); });
  }
  AddFields<CommonAttrs>(words);
  AddFields<Metadata>(words);
#define HLO_TYPE(Name, text, ...) words.insert(Str(text, "["));
#include "ir/primitive_type.def"
#define PROTO_MESSAGE(Name, ...)                               \
  for (const ProtoField& field : FieldsOf(ProtoType::k##Name)) \
    words.insert(Str(field.name, field.kind == ProtoKind::kMessage ? " {" : ": "));
#define PROTO_ENUM(Name, ...) \
  for (const std::string_view word : WordsOf(ProtoEnum::k##Name)) words.emplace(word);
#include "parser/proto_schema.def"
  words.erase("");
  return words;
}

}  // namespace hlo
