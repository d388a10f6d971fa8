#include "ir/frontend_attributes.h"

#include "base/text.h"
#include "ir/instruction.h"

namespace hlo {
namespace {

// The value is "text", or a text with nested braces.
size_t EndOfValue(std::string_view text, size_t at) {
  if (at < text.size() && text[at] == '"') {
    for (++at; at < text.size() && text[at] != '"';) at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
  }
  int depth = 0;
  for (; at < text.size() && (depth > 0 || (text[at] != ',' && text[at] != '}')); ++at) {
    if (text[at] == '"') at = EndOfValue(text, at) - 1;
    else depth += (text[at] == '{') - (text[at] == '}');
  }
  return std::min(at, text.size());
}

// The text between quotes, with \" and \\ unescaped.
std::string Unquoted(std::string_view value) {
  if (!value.starts_with('"')) return std::string(value);
  value.remove_prefix(1);
  if (value.ends_with('"')) value.remove_suffix(1);
  std::string text;
  for (size_t at = 0; at < value.size(); ++at) {
    if (value[at] == '\\' && at + 1 < value.size() && (value[at + 1] == '"' || value[at + 1] == '\\')) ++at;
    text += value[at];
  }
  return text;
}

}  // namespace

std::vector<FrontendEntry> FrontendEntries(std::string_view text) {
  std::vector<FrontendEntry> entries;
  for (size_t at = 1; at < text.size() && text[at] != '}';) {
    const size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) break;
    const size_t begin = std::min(text.find_first_not_of(' ', equals + 1), text.size());
    const size_t end = EndOfValue(text, begin);
    entries.push_back({Trim(text.substr(at, equals - at)), Trim(text.substr(begin, end - begin))});
    at = end + (end < text.size() && text[end] == ',' ? 1 : 0);
  }
  return entries;
}

std::optional<std::string> FrontendAttribute(const Instruction& inst, std::string_view name) {
  if (!inst.HasCommon()) return std::nullopt;
  return FrontendAttribute(inst.common().frontend_attributes, name);
}

std::optional<std::string> FrontendAttribute(const FrontendAttributes& attributes, std::string_view name) {
  for (const FrontendEntry& entry : FrontendEntries(attributes.text)) {
    if (entry.name == name) return Unquoted(entry.value);
  }
  return std::nullopt;
}

FrontendAttributes WithoutEntries(const FrontendAttributes& attributes, std::string_view prefix) {
  std::vector<std::string> kept;
  for (const FrontendEntry& entry : FrontendEntries(attributes.text)) {
    if (!entry.name.starts_with(prefix)) kept.push_back(Str(entry.name, "=", entry.value));
  }
  FrontendAttributes result;
  if (!kept.empty()) result.text = Str("{", Join(kept, ","), "}");
  return result;
}

}  // namespace hlo
