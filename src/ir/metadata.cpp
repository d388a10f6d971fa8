#include "ir/metadata.h"

#include "base/text.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

void AppendValue(std::string& out, std::string_view text) { out += Quoted(text); }
void AppendValue(std::string& out, int64_t number) { AppendTo(out, number); }
void AppendValue(std::string& out, const std::vector<int64_t>& list) { out += Str("{", Join(list, ","), "}"); }

}  // namespace

void AppendTo(std::string& out, const Metadata& metadata, std::string_view own) {
  [[maybe_unused]] static const Metadata kDefaults;
  out += '{';
  bool first = true;
  ForEachField<Metadata>([&](const auto& field) {
    if (metadata.*field.member == kDefaults.*field.member) return;
    if (!first) out += ' ';
    first = false;
    out += field.name;
    out += '=';
    const auto& value = metadata.*field.member;
    if constexpr (std::is_same_v<decltype(value), const SchedulingName&>) AppendValue(out, value.NameFor(own));
    else AppendValue(out, value);
  });
  out += '}';
}

}  // namespace hlo
