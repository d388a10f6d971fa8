#include "tools/flags.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/check.h"
#include "base/source_text.h"
#include "base/text.h"
#include "tools/man_page.h"

namespace hlo {
namespace {

constexpr std::string_view kEndOfFlags = "--";
// Stands for a flag's missing value, because CLI11 does not report empty values. No argument can have a NUL.
constexpr std::string_view kNoValue("\0", 1);

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

// Also reads 2e9, as users write large limits.
std::optional<int64_t> ParseCount(std::string_view text) {
  int64_t count = 0;
  double number = 0;
  if (ParseInt(text, &count)) return count;
  constexpr double kMost = 9.2e18;
  if (!ParseDouble(text, &number) || !(std::fabs(number) < kMost) || number != std::trunc(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

std::optional<int64_t> ParseBytes(std::string_view text) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr Unit kUnits[] = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40},
                             {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},     {"GB", 1e9},
                             {"TB", 1e12},    {"B", 1}};  // Last, because other units end in B, too.
  constexpr double kMost = 9.2e18;
  for (const Unit& unit : kUnits) {
    std::string_view digits = text;
    double number = 0;
    if (!digits.ends_with(unit.name)) continue;
    digits.remove_suffix(unit.name.size());
    if (digits.ends_with(' ')) digits.remove_suffix(1);
    const bool fits = ParseDouble(digits, &number) && std::fabs(number) * unit.bytes < kMost;
    return fits ? std::optional(static_cast<int64_t>(number * unit.bytes)) : std::nullopt;
  }
  return ParseCount(text);
}

constexpr size_t kColumns = 100;

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
  flags_.push_back({.name = name,
                    .placeholder = std::move(placeholder),
                    .group = group_,
                    .help = std::move(help),
                    .fallback = std::move(fallback),
                    .meant = std::move(name),
                    .needs_value = needs_value,
                    .is_bool = is_bool,
                    .hidden = false,
                    .set = std::move(set)});
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

void FlagSet::Int(const std::string& name, int64_t* value, std::string help, int64_t least, int64_t most) {
  least = std::min(least, *value);  // The default is always allowed.
  Add(name, "N", std::move(help), Str(*value), true, false,
      [name, value, least, most](std::string_view text) -> Status {
        const std::optional<int64_t> parsed = ParseCount(text);
        if (!parsed) FAIL(BadValue(name, text, "an integer"));
        if (*parsed < least) FAIL(BadValue(name, text, Str("at least ", least)));
        if (*parsed > most) FAIL(BadValue(name, text, Str("at most ", most)));
        *value = *parsed;
        return {};
      });
}

void FlagSet::Bytes(const std::string& name, int64_t* value, std::string help, int64_t least) {
  Add(name, "BYTES", std::move(help), *value == 0 ? "0" : HumanBytes(static_cast<double>(*value)), true, false,
      [name, value, least](std::string_view text) -> Status {
        const std::optional<int64_t> parsed = ParseBytes(text);
        if (!parsed) FAIL(BadValue(name, text, "a number of bytes, as 2e9, 512MiB or 2GB"));
        if (*parsed < least) FAIL(BadValue(name, text, Str("at least ", least)));
        *value = *parsed;
        return {};
      });
}

void FlagSet::Double(const std::string& name, double* value, std::string help, bool may_be_infinite) {
  Add(name, "X", std::move(help), *value > 0 ? Format("%g", *value) : "", true, false,
      [name, value, may_be_infinite](std::string_view text) -> Status {
        double parsed = 0;
        if (!ParseDouble(text, &parsed) || !(parsed >= 0)) FAIL(BadValue(name, text, "a number of at least 0"));
        if (std::isinf(parsed) && !may_be_infinite) FAIL(BadValue(name, text, "a number"));
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
  AddChoice(name, std::move(words), *value, std::move(help), [value](std::string_view word) { *value = word; });
}

void FlagSet::AddChoice(const std::string& name, std::vector<std::string> words, std::string fallback, std::string help,
                        std::function<void(std::string_view)> set) {
  std::string placeholder = Join(words, "|");
  Add(name, std::move(placeholder), std::move(help), std::move(fallback), true, false,
      [name, set = std::move(set), words = std::move(words)](std::string_view text) -> Status {
        if (std::find(words.begin(), words.end(), text) == words.end()) {
          std::vector<std::string_view> shown(words.begin(), words.end());
          std::erase(shown, "");
          FAIL(BadValue(name, text, Str("one of ", Join(shown, ", "))));
        }
        set(text);
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

void FlagSet::Complete(std::string_view name, std::function<std::vector<std::string>()> words) {
  const auto found = std::ranges::find(flags_, name, &Flag::name);
  CHECK(found != flags_.end(), "no such flag: ", name);
  found->completions = std::move(words);
}

const FlagSet::Flag* FlagSet::Find(std::string_view name) const {
  const std::string wanted = Canonical(name);
  const auto found = std::ranges::find_if(flags_, [&](const Flag& flag) { return Canonical(flag.name) == wanted; });
  return found != flags_.end() ? &*found : nullptr;
}

const FlagSet::Flag* FlagSet::FindNegated(std::string_view name) const {
  if (!name.starts_with("no")) return nullptr;
  name.remove_prefix(name.starts_with("no-") || name.starts_with("no_") ? 3 : 2);
  const Flag* flag = Find(name);
  return flag != nullptr && flag->is_bool ? flag : nullptr;
}

std::vector<std::string_view> FlagSet::Names() const {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags_) names.push_back(flag.name);
  return names;
}

std::vector<std::string> FlagSet::GivenOf(std::span<const std::string_view> groups,
                                          std::span<const std::string_view> names) const {
  std::vector<std::string> found;
  for (const std::string& given : given_) {
    const std::string_view name = std::string_view(given).substr(2, given.find('=') - 2);
    const Flag* const flag = Find(name);
    if (flag == nullptr) continue;
    if (std::ranges::find(groups, flag->group) != groups.end() || std::ranges::find(names, name) != names.end())
      found.push_back(given);
  }
  return found;
}

std::vector<std::string> FlagSet::FilesAmong(std::span<const std::string> args) const {
  std::vector<std::string> files;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == kEndOfFlags) {
      files.insert(files.end(), args.begin() + i + 1, args.end());
      break;
    }
    if (!arg.starts_with('-') || arg == "-") {
      files.emplace_back(arg);
      continue;
    }
    const Flag* const flag = Find(arg.substr(arg.starts_with("--") ? 2 : 1));
    if (flag != nullptr && flag->needs_value) ++i;
  }
  return files;
}

// The words of a placeholder such as "local|all". Words in upper case, as in NAME|FILE, describe the value and are left
// out.
std::vector<std::string_view> FlagSet::Flag::Words() const {
  if (!placeholder.contains('|')) return {};
  std::vector<std::string_view> words = Split(placeholder, '|');
  std::erase(words, "");
  const bool is_any =
      std::ranges::any_of(words, [](std::string_view word) { return word[0] >= 'A' && word[0] <= 'Z'; });
  return is_any ? std::vector<std::string_view>() : words;
}

bool FlagSet::Takes(std::string_view name, std::string_view value) const {
  const Flag* const flag = Find(name);
  if (flag == nullptr) return false;
  const std::vector<std::string_view> words = flag->Words();
  return words.empty() || std::ranges::find(words, value) != words.end();
}

std::vector<std::string> FlagSet::Completions(std::span<const std::string> args, std::string_view word) const {
  const auto name_in = [](std::string_view text) {
    const std::string_view name = text.substr(0, text.find('='));
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
  };
  std::vector<std::string> found;
  const auto add_values = [&](const Flag* flag, std::string_view before) {
    if (flag == nullptr) return;
    if (flag->completions) {
      const size_t comma = flag->placeholder == "LIST" ? word.rfind(',') : word.npos;
      const std::string_view begin = comma == word.npos ? before : word.substr(0, comma + 1);
      for (const std::string& value : flag->completions()) found.push_back(Str(begin, value));
      return;
    }
    for (const std::string_view value : flag->Words()) found.push_back(Str(before, value));
  };
  const bool follows_flag = !args.empty() && args.back().starts_with("-") && !args.back().contains('=');
  const Flag* const before = follows_flag ? Find(name_in(args.back())) : nullptr;
  if (before != nullptr && before->needs_value) {
    add_values(before, "");
  } else if (const size_t equals = word.find('='); word.starts_with("-") && equals != word.npos) {
    add_values(Find(name_in(word)), word.substr(0, equals + 1));
  } else if (word.starts_with("-")) {
    for (const Flag& flag : flags_) {
      if (!flag.hidden) found.push_back(Str("--", flag.name, flag.needs_value ? "=" : ""));
    }
    found.emplace_back("--help");
  }
  return found;
}

Error FlagSet::Unknown(std::string_view name) const {
  std::string message = Str("unknown flag --", Escaped(name));
  const std::vector<std::string> near =
      name.size() < 2 ? std::vector<std::string>() : NearNames(Canonical(name), Names());
  if (!near.empty()) message += Str("; did you mean --", Join(near, ", --"), "?");
  Error error = UsageError("F003", std::move(message));
  if (near.empty()) return std::move(error).Hint(Str("'", command_, " --help' lists them"));
  return error;
}

Error FlagSet::WrongFiles(std::string message, std::span<const std::string> files) const {
  const auto may_be_a_file = [](const Taken& taken) {
    double number = 0;
    return !ParseDouble(taken.value, &number);
  };
  const auto last = std::find_if(taken_.rbegin(), taken_.rend(), may_be_a_file);
  if (files.empty() && last != taken_.rend()) message += Str("; '", last->typed, "' took '", Escaped(last->value), "'");
  return UsageError("F002", std::move(message));
}

Status FlagSet::CheckIsValue(std::string_view typed, std::string_view next) const {
  if (!next.starts_with("--")) return {};
  const std::string_view name = next.substr(2, next.find('=') - 2);
  if (Find(name) == nullptr && FindNegated(name) == nullptr) return {};
  FAIL(UsageError("F005", Str("'", typed, "' needs a value, and '", Escaped(next), "' is the next flag"))
           .Hint(Str("if it is the value: ", typed, "=", Escaped(next))));
}

Result<std::vector<std::string>> FlagSet::Parse(std::span<const std::string> args) {
  std::vector<std::string> positionals;
  Line line;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string_view arg = args[i];
    if (arg == kEndOfFlags) {
      line.words.insert(line.words.end(), args.begin() + i, args.end());
      break;
    }
    if (!arg.starts_with('-') || arg == "-") {
      line.words.emplace_back(arg);
      continue;
    }
    const std::string_view typed = arg.substr(0, arg.find('='));
    const std::string_view name = typed.substr(typed.starts_with("--") ? 2 : 1);
    const bool has_value = typed.size() < arg.size();
    const std::string value(has_value ? arg.substr(typed.size() + 1) : "");
    if (name == "help" || name == "h") {
      help_asked_ = true;
      man_asked_ |= value == "man";
    } else if (name == "flagfile" && has_value) {
      TRY(Read(std::exchange(line, {}), &positionals));
      TRY(ReadFile(value, &positionals));
    } else if (const Flag* flag = Find(name); flag != nullptr && flag->needs_value) {
      AddFlag(*flag, Str("--", flag->name), &line);
      if (has_value) line.words.push_back(value);
      if (has_value || i + 1 == args.size()) continue;
      TRY(CheckIsValue(typed, args[i + 1]));
      line.words.push_back(args[++i]);
      taken_.push_back({flag, std::string(typed), args[i]});
    } else if (flag != nullptr) {
      AddFlag(*flag, Str("--", flag->name, has_value ? "=" + value : ""), &line);
    } else if (const Flag* negated = FindNegated(name); negated != nullptr && !has_value) {
      AddFlag(*negated, Str("--no", negated->name), &line);
    } else {
      TRY(Read(std::move(line), &positionals));
      FAIL(Unknown(name));
    }
  }
  TRY(Read(std::move(line), &positionals));
  return positionals;
}

void FlagSet::AddFlag(const Flag& flag, std::string word, Line* line) const {
  line->words.push_back(std::move(word));
  std::erase(line->flags, &flag);
  line->flags.push_back(&flag);
}

Status FlagSet::Read(Line line, std::vector<std::string>* positionals) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::optional<Error> bad_value;
  // CLI11 compares each option with all others, so only the line's flags are added.
  for (const Flag* flag : line.flags) {
    const std::string name = Str("--", flag->name);
    CLI::Option* const option = flag->needs_value ? app.add_option(name)
                                : flag->is_bool   ? app.add_flag(Str(name, ",!--no", flag->name))
                                                  : app.add_flag(Str(name, "{", kNoValue, "}"));
    option->trigger_on_parse();  // Sets flags in the order of the words, up to the first error.
    option->each([this, flag, &bad_value](const std::string& value) {
      Status status = flag->set(value == kNoValue ? "" : value);
      if (status) given_.push_back(Str("--", flag->meant, value == kNoValue ? "" : "=" + value));
      if (status) return;
      bad_value = std::move(status).error();
      const auto taken =
          std::ranges::find_if(taken_, [&](const Taken& taken) { return taken.flag == flag && taken.value == value; });
      if (taken != taken_.end())
        std::move(*bad_value)
            .Hint(Str("'", taken->typed, "' took '", Escaped(value), "', the next word, as its value"));
      throw CLI::ValidationError(flag->name, bad_value->message());
    });
  }
  std::reverse(line.words.begin(), line.words.end());  // CLI11 takes words from the end.
  try {
    app.parse(line.words);
  } catch (const CLI::ArgumentMismatch&) {
    const Flag* flag = line.flags.back();
    FAIL(UsageError("F005", Str("--", flag->name, " wants a value (--", flag->name, "=", flag->placeholder, ")")));
  } catch (const CLI::ValidationError&) {
    FAIL(*std::move(bad_value));
  }
  std::vector<std::string> rest = app.remaining();
  if (const auto end = std::ranges::find(rest, kEndOfFlags); end != rest.end()) rest.erase(end);
  positionals->insert(positionals->end(), rest.begin(), rest.end());
  return {};
}

// Each line has one flag. A # begins a comment only at the start of a word, because algsimp#2 is a value.
Status FlagSet::ReadFile(const std::string& path, std::vector<std::string>* positionals) {
  constexpr int kMostFiles = 100;
  if (++files_read_ > kMostFiles)
    FAIL(UsageError("F004", Str("--flagfile: more than ", kMostFiles, " files of flags; does '", Escaped(path),
                                "' lead to itself?")));
  const auto file = TRY(ReadSource(path));
  for (std::string_view text : Split(file->text(), '\n')) {
    size_t comment = text.find('#');
    while (comment != text.npos && comment > 0 && text[comment - 1] != ' ' && text[comment - 1] != '\t')
      comment = text.find('#', comment + 1);
    text = Trim(text.substr(0, comment));
    if (text.empty()) continue;
    const auto begin = static_cast<uint32_t>(text.data() - file->text().data());
    const std::string arg(text);
    auto found =
        arg.contains('\0') ? std::unexpected(UsageError("F004", "no flag holds a NUL byte")) : Parse({&arg, 1});
    if (!found) {
      if (found.error().source == nullptr) {
        found.error().source = file;
        found.error().diagnostics.front().range = {begin, begin + static_cast<uint32_t>(text.size())};
      }
      FAIL(std::move(found).error());
    }
    positionals->insert(positionals->end(), found->begin(), found->end());
  }
  return {};
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

std::string FlagSet::Flag::Head() const {
  return Str("--", name, placeholder.empty() || placeholder.starts_with('[') ? "" : "=", placeholder);
}

std::string FlagSet::Flag::Text() const {
  return Str(hidden ? Str("--", meant, ": ") : "", help, fallback.empty() ? "" : Str(" [", fallback, "]"));
}

std::string FlagSet::Flag::HelpLines() const {
  constexpr size_t kColumn = 36;
  std::string head = Str("  ", Head()), out;
  if (head.size() + 2 > kColumn) {
    out += head + "\n";
    head.clear();
  }
  for (const std::string& line : Wrap(Text(), kColumns - kColumn)) {
    out += head + std::string(kColumn - head.size(), ' ') + line + "\n";
    head.clear();
  }
  return out;
}

std::vector<std::pair<std::string_view, std::vector<const FlagSet::Flag*>>> FlagSet::Sections() const {
  std::vector<std::pair<std::string_view, std::vector<const Flag*>>> sections;
  if (!common_.empty()) sections.emplace_back("Common flags", std::vector<const Flag*>());
  for (const std::string& name : common_) {
    const Flag* const flag = Find(name);
    CHECK(flag != nullptr, "no such flag: ", name);
    sections.front().second.push_back(flag);
  }
  std::string_view group;
  for (const Flag& flag : flags_) {
    if (flag.hidden || std::ranges::find(common_, flag.name) != common_.end()) continue;
    if (std::exchange(group, flag.group) != flag.group) sections.emplace_back(flag.group, std::vector<const Flag*>());
    sections.back().second.push_back(&flag);
  }
  return sections;
}

std::string FlagSet::HelpPage() const {
  ManPage page = {.command = command_,
                  .usage = usage_,
                  .about = about_,
                  .examples = examples_,
                  .flags_title = "Options",
                  .sections = {}};
  std::ranges::replace(page.command, '-', ' ');
  for (const auto& [title, flags] : Sections()) {
    page.sections.push_back({std::string(title), {}});
    for (const Flag* flag : flags) page.sections.back().entries.push_back({flag->Head(), flag->Text()});
  }
  return Roff(page);
}

std::string FlagSet::Help() const {
  if (man_asked_) return HelpPage();
  std::string out = Str(command_, " ", usage_, "\n", Join(Wrap(about_, kColumns), "\n"), "\n");
  if (!examples_.empty()) out += "\nExamples:\n";
  for (const std::string& example : examples_) out += Str("  ", example, "\n");
  for (const auto& [title, flags] : Sections()) {
    out += Str("\n", title, ":\n");
    for (const Flag* flag : flags) out += flag->HelpLines();
  }
  return out;
}

std::string FlagSet::HelpOn(std::string_view prefix) const {
  std::string out;
  for (const Flag& flag : flags_) {
    if (flag.name.starts_with(prefix)) out += flag.HelpLines();
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
