#include "tools/flags.h"

#include <algorithm>
#include <cmath>

#include "base/source_text.h"
#include "base/text.h"

namespace hlo {
namespace {

// Names compare with `-` as `_`.
std::string Canonical(std::string_view name) {
  std::string canonical(name);
  std::replace(canonical.begin(), canonical.end(), '-', '_');
  return canonical;
}

Error BadValue(std::string_view name, std::string_view value, std::string_view wanted) {
  return UsageError("F004", Str("--", name, " wants ", wanted, ", not '", Escaped(value), "'"));
}

std::optional<bool> ParseBool(std::string_view value) {
  if (value == "true" || value == "1" || value == "yes" || value.empty()) return true;
  if (value == "false" || value == "0" || value == "no") return false;
  return std::nullopt;
}

// 2e9 is how people write large limits.
std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t count = 0;
  double number = 0;
  if (ParseInt(text, &count)) return count;
  constexpr double kMost = 9.2e18;
  if (!ParseDouble(text, &number) || !(std::fabs(number) < kMost) || number != std::trunc(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// `text` broken into lines of at most `width` bytes at spaces.
std::vector<std::string> Wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string_view word : Split(text, ' ')) {
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
  }
  return lines;
}

}  // namespace

FlagSet::FlagSet(std::string command, std::string usage, std::string about, std::vector<std::string> examples)
    : command_(std::move(command)),
      usage_(std::move(usage)),
      about_(std::move(about)),
      examples_(std::move(examples)) {}

void FlagSet::Add(std::string name, std::string placeholder, std::string help, std::string fallback, bool needs_value,
                  bool is_bool, std::function<Status(std::string_view)> set) {
  flags_.push_back({std::move(name), std::move(placeholder), group_, std::move(help), std::move(fallback), needs_value,
                    is_bool, false, std::move(set)});
}

template <class T>
void FlagSet::AddBool(const std::string& name, T* value, std::string fallback, std::string help) {
  Add(name, "", std::move(help), std::move(fallback), false, true, [name, value](std::string_view text) -> Status {
    const std::optional<bool> parsed = ParseBool(text);
    if (!parsed) FAIL(BadValue(name, text, "true or false"));
    const bool is_true = *parsed;
    *value = is_true;
    return {};
  });
}

void FlagSet::Bool(const std::string& name, bool* value, std::string help) {
  AddBool(name, value, *value ? "on" : "", std::move(help));
}

void FlagSet::Bool(const std::string& name, std::optional<bool>* value, std::string help) {
  AddBool(name, value, "", std::move(help));
}

void FlagSet::Int(const std::string& name, int64_t* value, std::string help, int64_t least) {
  Add(name, "N", std::move(help), Str(*value), true, false, [name, value, least](std::string_view text) -> Status {
    const std::optional<int64_t> parsed = ParseCount(text);
    if (!parsed) FAIL(BadValue(name, text, "an integer"));
    if (*parsed < least) FAIL(BadValue(name, text, Str("at least ", least)));
    *value = *parsed;
    return {};
  });
}

void FlagSet::Double(const std::string& name, double* value, std::string help) {
  Add(name, "X", std::move(help), "", true, false, [name, value](std::string_view text) -> Status {
    double parsed = 0;
    if (!ParseDouble(text, &parsed) || !(parsed >= 0)) FAIL(BadValue(name, text, "a number of at least 0"));
    *value = parsed;
    return {};
  });
}

void FlagSet::String(std::string name, std::string* value, std::string placeholder, std::string help) {
  Add(std::move(name), std::move(placeholder), std::move(help), *value, true, false,
      [value](std::string_view text) -> Status {
        *value = text;
        return {};
      });
}

void FlagSet::String(std::string name, std::optional<std::string>* value, std::string placeholder, std::string help) {
  Add(std::move(name), std::move(placeholder), std::move(help), "", true, false,
      [value](std::string_view text) -> Status {
        *value = text;
        return {};
      });
}

void FlagSet::Choice(const std::string& name, std::string* value, std::vector<std::string> words, std::string help) {
  std::string placeholder = Join(words, "|");
  Add(name, std::move(placeholder), std::move(help), *value, true, false,
      [name, value, words = std::move(words)](std::string_view text) -> Status {
        if (std::find(words.begin(), words.end(), text) == words.end()) {
          std::vector<std::string_view> shown(words.begin(), words.end());
          std::erase(shown, "");
          FAIL(BadValue(name, text, Str("one of ", Join(shown, ", "))));
        }
        *value = text;
        return {};
      });
}

void FlagSet::List(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help) {
  Add(std::move(name), std::move(placeholder), std::move(help), Join(*value, ","), true, false,
      [value](std::string_view text) -> Status {
        for (const std::string_view part : Split(text, ',')) {
          if (!part.empty()) value->emplace_back(part);
        }
        return {};
      });
}

void FlagSet::Repeated(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help) {
  Add(std::move(name), std::move(placeholder), std::move(help), "", true, false,
      [value](std::string_view text) -> Status {
        value->emplace_back(text);
        return {};
      });
}

void FlagSet::OptionalString(std::string name, std::optional<std::string>* value, const std::string& placeholder,
                             std::string help) {
  Add(std::move(name), "[=" + placeholder + "]", std::move(help), "", false, false,
      [value](std::string_view text) -> Status {
        *value = std::string(text);
        return {};
      });
}

void FlagSet::Alias(std::string alias, std::string_view name) {
  Flag flag = *Find(name);
  flag.name = std::move(alias);
  flag.hidden = true;
  flags_.push_back(std::move(flag));
}

FlagSet::Flag* FlagSet::Find(std::string_view name) {
  const std::string wanted = Canonical(name);
  for (Flag& flag : flags_) {
    if (Canonical(flag.name) == wanted) return &flag;
  }
  return nullptr;
}

std::vector<std::string_view> FlagSet::Names() const {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

Error FlagSet::Unknown(std::string_view name) const {
  std::string message = Str("unknown flag --", Escaped(name));
  const std::vector<std::string> near = NearNames(Canonical(name), Names());
  if (!near.empty()) message += Str("; did you mean --", Join(near, ", --"), "?");
  Error error = UsageError("F003", std::move(message));
  if (near.empty()) return std::move(error).Hint(Str("'", command_, " --help' lists them"));
  return error;
}

Result<std::vector<std::string>> FlagSet::Parse(std::span<const std::string> args) {
  std::vector<std::string> positionals;
  for (size_t i = 0; i < args.size(); ++i) {
    std::string_view arg = args[i];
    if (arg == "--") {
      positionals.insert(positionals.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (!arg.starts_with('-') || arg == "-") {
      positionals.emplace_back(arg);
      continue;
    }
    arg.remove_prefix(arg.starts_with("--") ? 2 : 1);
    const size_t equals = arg.find('=');
    const std::string_view name = arg.substr(0, equals);
    if (name == "help" || name == "h") {
      help_asked_ = true;
      continue;
    }
    if (name == "flagfile" && equals != std::string_view::npos) {
      const auto file = TRY(ReadSource(std::string(arg.substr(equals + 1))));
      std::vector<std::string> lines;
      for (std::string_view line : Split(file->text(), '\n')) {
        line = Trim(line.substr(0, line.find('#')));
        if (!line.empty()) lines.emplace_back(line);
      }
      for (std::string& positional : TRY(Parse(lines))) positionals.push_back(std::move(positional));
      continue;
    }
    Flag* flag = Find(name);
    if (flag == nullptr && name.starts_with("no")) {
      std::string_view positive = name.substr(2);
      if (positive.starts_with('-') || positive.starts_with('_')) positive.remove_prefix(1);
      Flag* negated = Find(positive);
      if (negated != nullptr && negated->is_bool && equals == std::string_view::npos) {
        TRY(negated->set("false"));
        continue;
      }
    }
    if (flag == nullptr) FAIL(Unknown(name));
    if (equals != std::string_view::npos) {
      TRY(flag->set(arg.substr(equals + 1)));
    } else if (!flag->needs_value) {
      TRY(flag->set(""));
    } else if (i + 1 < args.size()) {
      TRY(flag->set(args[++i]));
    } else {
      FAIL(UsageError("F005", Str("--", name, " wants a value (--", name, "=", flag->placeholder, ")")));
    }
  }
  return positionals;
}

Result<FlagSet::Ignored> FlagSet::ParseEnvironment(std::string_view xla_flags) {
  Ignored ignored;
  for (const std::string& word : SplitXlaFlags(xla_flags)) {
    if (!word.starts_with("--")) {
      ignored.unknown.push_back(word);
      continue;
    }
    const std::string_view name = std::string_view(word).substr(2, word.find('=') - 2);
    if (Find(name) != nullptr) {
      const std::string args[] = {word};
      TRY(Parse(args));
    } else {
      (name.starts_with("xla_") ? ignored.known_to_xla : ignored.unknown).emplace_back(name);
    }
  }
  return ignored;
}

std::string FlagSet::Help() const {
  std::string out = Str(command_, " ", usage_, "\n", about_, "\n");
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const std::string& example : examples_) out += Str("  ", example, "\n");
  std::string group;
  for (const Flag& flag : flags_) {
    if (flag.hidden) continue;
    if (flag.group != group) {
      group = flag.group;
      out += Str("\n", group, ":\n");
    }
    std::string head = Str("  --", flag.name);
    if (!flag.placeholder.empty())
      head += flag.placeholder.starts_with('[') ? flag.placeholder : Str("=", flag.placeholder);
    std::string help = flag.help;
    if (!flag.fallback.empty()) help += Str(" [", flag.fallback, "]");
    constexpr size_t kColumn = 38;
    if (head.size() + 2 > kColumn) {
      out += head + "\n";
      head.clear();
    }
    for (const std::string& line : Wrap(help, 120 - kColumn)) {
      out += head + std::string(kColumn - head.size(), ' ') + line + "\n";
      head.clear();
    }
  }
  return out;
}

std::vector<std::string> SplitXlaFlags(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  bool inside = false;
  char quote = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else if (quote == '"' && c == '\\' && i + 1 < text.size()) {
        word += text[++i];
      } else {
        word += c;
      }
    } else if (c == '\'' || c == '"') {
      quote = c;
      inside = true;
    } else if (c == ' ' || c == '\t' || c == '\n') {
      if (inside) words.push_back(std::move(word));
      word.clear();
      inside = false;
    } else {
      word += c;
      inside = true;
    }
  }
  if (inside) words.push_back(std::move(word));
  return words;
}

}  // namespace hlo
