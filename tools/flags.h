// Flags of all commands. Parsing, --help and suggestions follow from one declaration of each flag.
//
// Forms that CLI11 does not know are handled before it reads the words: `-` for `_` in names, -name for --name, --name=
// for an empty value, --flagfile, and the quotes and unknown names of XLA_FLAGS.
#ifndef HLO_TOOLS_FLAGS_H_
#define HLO_TOOLS_FLAGS_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/enum_words.h"
#include "base/result.h"

namespace hlo {

class FlagSet {
 public:
  // `usage` follows the command's name: "[flags] MODULE...".
  FlagSet(std::string command, std::string usage, std::string about, std::vector<std::string> examples);

  void Group(std::string title) { group_ = std::move(title); }
  void Bool(const std::string& name, bool* value, std::string help);
  // Leaves `value` empty if the flag is absent.
  void Bool(const std::string& name, std::optional<bool>* value, std::string help);
  void Int(const std::string& name, int64_t* value, std::string help, int64_t least = 0, int64_t most = INT64_MAX);
  // Accepts 1073741824 or 1GiB.
  void Bytes(const std::string& name, int64_t* value, std::string help, int64_t least = 0);
  // Accepts numbers of at least 0.
  void Double(const std::string& name, double* value, std::string help, bool may_be_infinite = false);
  void String(std::string name, std::string* value, std::string placeholder, std::string help);
  void String(std::string name, std::optional<std::string>* value, std::string placeholder, std::string help);
  void Choice(const std::string& name, std::string* value, std::vector<std::string> words, std::string help);
  // The words of `choices`, or if it is empty, of all enumerators.
  template <HasWords Enum>
  void Choice(const std::string& name, Enum* value, std::string help, std::initializer_list<Enum> choices = {}) {
    AddChoice(name, WordsOf(choices), std::string(ToString(*value)), std::move(help),
              [value](std::string_view word) { *value = *FromText<Enum>(word); });
  }
  template <HasWords Enum>
  void Choice(const std::string& name, std::optional<Enum>* value, std::string help) {
    AddChoice(name, WordsOf<Enum>({}), "", std::move(help),
              [value](std::string_view word) { *value = FromText<Enum>(word); });
  }
  // A flag whose value `set` parses.
  void Parsed(std::string name, std::string placeholder, std::string fallback, std::string help,
              std::function<Status(std::string_view value)> set) {
    Add(std::move(name), std::move(placeholder), std::move(help), std::move(fallback), true, false, std::move(set));
  }
  // Values are separated by commas. A repeated flag appends its values.
  void List(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help);
  void Repeated(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help);
  // --name gives "", --name=X gives X.
  void OptionalString(std::string name, std::optional<std::string>* value, const std::string& placeholder,
                      std::string help);
  void Alias(std::string alias, std::string_view name);
  // Help shows these flags first.
  void Common(std::vector<std::string> names) { common_ = std::move(names); }
  // For a placeholder that does not list its values. LIST means several values, separated by commas.
  void Complete(std::string_view name, std::function<std::vector<std::string>()> words);

  // Returns the other arguments, in order. `--` ends the flags, and "-" is not a flag.
  Result<std::vector<std::string>> Parse(std::span<const std::string> args);

  // F002 for wrong files. It may name a flag that took a file as its value: "no module given; '--args' took 'm.hlo'".
  Error WrongFiles(std::string message, std::span<const std::string> files) const;

  // Sets the flags of XLA_FLAGS that this command has, and returns the others. XLA's flags are recognised by their
  // prefix.
  struct Ignored {
    std::vector<std::string> known_to_xla, unknown;
  };
  Result<Ignored> ParseEnvironment(std::string_view xla_flags);

  bool help_asked() const { return help_asked_; }
  // --help=man gives a manual page.
  std::string Help() const;
  std::vector<std::string_view> Names() const;
  // Help lines of all flags that begin with `prefix`.
  std::string HelpOn(std::string_view prefix) const;
  bool Knows(std::string_view name) const { return Find(name) != nullptr; }
  // Whether the flag exists and accepts the value. A flag that lists none accepts all.
  bool Takes(std::string_view name, std::string_view value) const;

  // Names of the flags that were set, from any source, in order. Aliases have their flag's name.
  const std::vector<std::string>& Given() const { return given_; }
  std::vector<std::string> GivenOf(std::span<const std::string_view> groups,
                                   std::span<const std::string_view> names) const;
  // Names of flags, or values of the flag that `word` belongs to.
  std::vector<std::string> Completions(std::span<const std::string> args, std::string_view word) const;
  // Words that are neither flags nor their values. Does not read --flagfile.
  std::vector<std::string> FilesAmong(std::span<const std::string> args) const;

 private:
  struct Flag {
    std::string name, placeholder, group, help, fallback;
    std::string meant;  // The name of the flag, also for an alias.
    bool needs_value;   // `--name value` is allowed besides `--name=value`.
    bool is_bool;
    bool hidden;
    std::function<Status(std::string_view value)> set;
    std::function<std::vector<std::string>()> completions = {};  // If empty, the placeholder's words are used.

    std::vector<std::string_view> Words() const;
    std::string Head() const;
    std::string Text() const;
    std::string HelpLines() const;
  };
  std::string HelpPage() const;
  std::vector<std::pair<std::string_view, std::vector<const Flag*>>> Sections() const;
  void Add(std::string name, std::string placeholder, std::string help, std::string fallback, bool needs_value,
           bool is_bool, std::function<Status(std::string_view)> set);
  void AddChoice(const std::string& name, std::vector<std::string> words, std::string fallback, std::string help,
                 std::function<void(std::string_view)> set);
  template <HasWords Enum>
  static std::vector<std::string> WordsOf(std::initializer_list<Enum> choices) {
    const auto& all = EnumWords<Enum>::kWords;
    std::vector<std::string> words;
    for (const Enum choice : choices) words.emplace_back(ToString(choice));
    return choices.size() > 0 ? words : std::vector<std::string>(std::begin(all), std::end(all));
  }
  template <class T>
  void AddBool(const std::string& name, T* value, std::string fallback, std::string help);
  const Flag* Find(std::string_view name) const;
  const Flag* FindNegated(std::string_view name) const;
  // Fails if `next`, the word after `typed`, is a flag.
  Status CheckIsValue(std::string_view typed, std::string_view next) const;
  Error Unknown(std::string_view name) const;
  struct Line {
    std::vector<std::string> words;
    std::vector<const Flag*> flags;
  };
  void AddFlag(const Flag& flag, std::string word, Line* line) const;
  Status Read(Line line, std::vector<std::string>* positionals);
  Status ReadFile(const std::string& path, std::vector<std::string>* positionals);

  std::string command_, usage_, about_, group_ = "Flags";
  std::vector<std::string> examples_;
  std::vector<Flag> flags_;
  std::vector<std::string> common_;
  std::vector<std::string> given_;
  bool help_asked_ = false, man_asked_ = false;
  int files_read_ = 0;
  // A separate word that became the value of the flag before it, but may have been meant as a file.
  struct Taken {
    const Flag* flag;
    std::string typed, value;
  };
  std::vector<Taken> taken_;
};

// Splits at spaces. Single quotes keep text unchanged. Double quotes allow backslash escapes.
std::vector<std::string> SplitXlaFlags(std::string_view text);

}  // namespace hlo

#endif  // HLO_TOOLS_FLAGS_H_
