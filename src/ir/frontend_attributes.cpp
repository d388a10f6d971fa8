#include "ir/frontend_attributes.h"

#include "ir/instruction.h"

namespace hlo {

std::optional<std::string> FrontendAttribute(const Instruction& inst, std::string_view name) {
  if (!inst.HasCommon()) return std::nullopt;
  return FrontendAttribute(inst.common().frontend_attributes, name);
}

std::optional<std::string> FrontendAttribute(const FrontendAttributes& attributes, std::string_view name) {
  // In {name="value",other={...}} names are at depth 1.
  const std::string_view text = attributes.text;
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"';) i += text[i] == '\\' ? 2 : 1;
      continue;
    }
    depth += (c == '{') - (c == '}');
    const bool at_name = depth == 1 && (c == '{' || c == ',');
    if (!at_name) continue;
    size_t begin = i + 1;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    if (!text.substr(begin).starts_with(name)) continue;
    size_t at = begin + name.size();
    while (at < text.size() && text[at] == ' ') ++at;
    if (at >= text.size() || text[at] != '=') continue;
    for (++at; at < text.size() && text[at] == ' ';) ++at;
    size_t end = at;
    if (at < text.size() && text[at] == '"') {
      std::string value;
      for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == '"' || text[at + 1] == '\\')) ++at;
        value += text[at];
      }
      return value;
    }
    for (int nested = 0; end < text.size() && (nested > 0 || (text[end] != ',' && text[end] != '}')); ++end)
      nested += (text[end] == '{') - (text[end] == '}');
    return std::string(text.substr(at, end - at));
  }
  return std::nullopt;
}

}  // namespace hlo
