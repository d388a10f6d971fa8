#include "passes/options.h"

#include "base/text.h"

namespace hlo {
namespace {

std::string ValueText(int64_t value) { return Str(value); }
std::string ValueText(bool value) { return value ? "true" : "false"; }
std::string ValueText(PrimitiveType value) { return std::string(ToString(value)); }

bool ParseValue(std::string_view text, int64_t* value) { return ParseInt(text, value) && *value >= 0; }
bool ParseValue(std::string_view text, bool* value) {
  *value = text == "true";
  return *value || text == "false";
}
bool ParseValue(std::string_view text, PrimitiveType* value) {
  const auto type = PrimitiveTypeFromText(text);
  if (!type || !IsArrayType(*type)) return false;
  *value = *type;
  return true;
}

constexpr std::string_view ValuesOf(const int64_t*) { return "a number of at least 0"; }
constexpr std::string_view ValuesOf(const bool*) { return "true or false"; }
constexpr std::string_view ValuesOf(const PrimitiveType*) { return "an element type, such as f16"; }

Error UnknownOption(std::string_view pass, std::string_view name, const PassOptions& options) {
  std::vector<std::string_view> known;
  for (const OptionText& option : Describe(options)) known.push_back(option.name);
  if (known.empty()) return UsageError("F009", Str("'", pass, "' has no options"));
  std::string message = Str("'", pass, "' has no option '", Escaped(name), "'; it has: ", Join(known, ", "));
  const std::vector<std::string> near = NearNames(name, known);
  if (!near.empty()) message += Str("; did you mean '", Join(near, "' or '"), "'?");
  return UsageError("F009", std::move(message));
}

}  // namespace

std::vector<OptionText> Describe(const PassOptions& options) {
  std::vector<OptionText> texts;
  std::visit(
      [&]<class Struct>(const Struct& value) {
        std::apply(
            [&](const auto&... field) {
              (texts.push_back({field.name, ValueText(value.*field.member), field.what}), ...);
            },
            Struct::Fields());
      },
      options);
  return texts;
}

Status SetOption(std::string_view pass, std::string_view name, std::string_view value, PassOptions* options) {
  Status status = std::unexpected(UnknownOption(pass, name, *options));
  const auto set = [&](auto& of, const auto& field) {
    if (field.name != name) return;
    status = {};
    auto* const to = &(of.*field.member);
    if (!ParseValue(value, to))
      status = std::unexpected(UsageError(
          "F009", Str("'", pass, "': option '", name, "' wants ", ValuesOf(to), ", not '", Escaped(value), "'")));
  };
  std::visit([&]<class Struct>(
                 Struct& of) { std::apply([&](const auto&... field) { (set(of, field), ...); }, Struct::Fields()); },
             *options);
  return status;
}

}  // namespace hlo
