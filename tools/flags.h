// Flags as every command takes them. A command declares each flag once, with where its value goes, its group and its
// help line; parsing, --help and suggestions follow from the declarations.
//
// CLI11 reads the words. What it cannot do is done before it sees them: `-` and `_` are the same in names, -name is
// --name, --name= gives an empty value, --flagfile, the quotes and the unknown names of
// XLA_FLAGS.
#ifndef HLO_TOOLS_FLAGS_H_
#define HLO_TOOLS_FLAGS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace hlo {

class FlagSet {
 public:
  // `usage` is the line after the command's name: "[flags] MODULE...". `examples` are shown by --help.
  FlagSet(std::string command, std::string usage, std::string about, std::vector<std::string> examples);

  void Group(std::string title) { group_ = std::move(title); }
  void Bool(const std::string& name, bool* value, std::string help);
  // For flags whose absence is neither.
  void Bool(const std::string& name, std::optional<bool>* value, std::string help);
  // From `least` to `most`.
  void Int(const std::string& name, int64_t* value, std::string help, int64_t least = 0, int64_t most = INT64_MAX);
  // 1073741824, 1GiB.
  void Bytes(const std::string& name, int64_t* value, std::string help, int64_t least = 0);
  // At least 0; infinity only where `may_be_infinite`.
  void Double(const std::string& name, double* value, std::string help, bool may_be_infinite = false);
  void String(std::string name, std::string* value, std::string placeholder, std::string help);
  // For values whose absence is not the same as "".
  void String(std::string name, std::optional<std::string>* value, std::string placeholder, std::string help);
  // One of `words`.
  void Choice(const std::string& name, std::string* value, std::vector<std::string> words, std::string help);
  // Comma separated, accumulating over repetitions.
  void List(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help);
  // Accumulating, commas are part of the value.
  void Repeated(std::string name, std::vector<std::string>* value, std::string placeholder, std::string help);
  // --name gives "", --name=X gives X.
  void OptionalString(std::string name, std::optional<std::string>* value, const std::string& placeholder,
                      std::string help);
  void Alias(std::string alias, std::string_view name);
  // The flags that help shows first, in this order, as "Common flags"; the groups have the others.
  void Common(std::vector<std::string> names) { common_ = std::move(names); }
  // Gives the values that a shell offers for a flag whose placeholder does not list them. `words` is called only when a
  // shell asks. A flag with the placeholder LIST takes several values, separated by commas.
  void Complete(std::string_view name, std::function<std::vector<std::string>()> words);

  // Sets values from arguments; what is no flag is returned, in order. `--` ends flags; "-" is no flag.
  Result<std::vector<std::string>> Parse(std::span<const std::string> args);

  // [F002]. Where there is no file, a flag may have taken it: "no module given; '--args' took 'm.hlo'".
  Error WrongFiles(std::string message, std::span<const std::string> files) const;

  // The flags of XLA_FLAGS that are ours take effect; the others are collected: those that XLA knows (by their prefix)
  // and those that nobody knows.
  struct Ignored {
    std::vector<std::string> known_to_xla, unknown;
  };
  Result<Ignored> ParseEnvironment(std::string_view xla_flags);

  bool help_asked() const { return help_asked_; }
  // For people; of --help=man as a manual page.
  std::string Help() const;
  std::vector<std::string_view> Names() const;
  // Of each name that begins with `prefix`, those of aliases too, the line of --help: of an alias what it stands for.
  std::string HelpOn(std::string_view prefix) const;
  bool Knows(std::string_view name) const { return Find(name) != nullptr; }
  // There is such a flag, and if it takes one of several words, this is one of them.
  bool Takes(std::string_view name, std::string_view value) const;

  // What was set, wherever it stood, in that order: "--random_seed=3", of --seed=3 too, "--libraries=false", "--json".
  const std::vector<std::string>& Given() const { return given_; }
  // Those of them that stand in one of these groups, or have one of these names, as they were given, in that order.
  std::vector<std::string> GivenOf(std::span<const std::string_view> groups,
                                   std::span<const std::string_view> names) const;
  // What a word behind these may become: names of flags, the words of one that takes one of several.
  std::vector<std::string> Completions(std::span<const std::string> args, std::string_view word) const;
  // Of words that are not parsed yet: what is no flag, nor a flag's value. Files of flags are not looked into.
  std::vector<std::string> FilesAmong(std::span<const std::string> args) const;

 private:
  struct Flag {
    std::string name, placeholder, group, help, fallback;
    std::string meant;  // Of an alias the flag that it stands for; of others the name.
    bool needs_value;   // `--name value` is allowed; else only `--name=value`.
    bool is_bool;
    bool hidden;  // Aliases.
    std::function<Status(std::string_view value)> set;
    std::function<std::vector<std::string>()> completions = {};  // Empty: the words of the placeholder.

    // The words that the placeholder lists, if the value must be one of them.
    std::vector<std::string_view> Words() const;
    // --name=VALUE, --name[=VALUE]; what it does, and its default.
    std::string Head() const;
    std::string Text() const;
    std::string HelpLines() const;
  };
  std::string HelpPage() const;
  // Groups and flags in the order of help.
  std::vector<std::pair<std::string_view, std::vector<const Flag*>>> Sections() const;
  void Add(std::string name, std::string placeholder, std::string help, std::string fallback, bool needs_value,
           bool is_bool, std::function<Status(std::string_view)> set);
  template <class T>
  void AddBool(const std::string& name, T* value, std::string fallback, std::string help);
  const Flag* Find(std::string_view name) const;
  const Flag* FindNegated(std::string_view name) const;
  // Error if `next`, the word behind the flag `typed`, is a flag and cannot be its value.
  Status CheckIsValue(std::string_view typed, std::string_view next) const;
  Error Unknown(std::string_view name) const;
  // Words as CLI11 reads them, and the flags that stand among them, the last one last.
  struct Line {
    std::vector<std::string> words;
    std::vector<const Flag*> flags;
  };
  void AddFlag(const Flag& flag, std::string word, Line* line) const;
  // Sets values; adds what is no flag to `positionals`.
  Status Read(Line line, std::vector<std::string>* positionals);
  Status ReadFile(const std::string& path, std::vector<std::string>* positionals);

  std::string command_, usage_, about_, group_ = "Flags";
  std::vector<std::string> examples_;
  std::vector<Flag> flags_;
  std::vector<std::string> common_;
  std::vector<std::string> given_;
  bool help_asked_ = false, man_asked_ = false;
  int files_read_ = 0;
  // A value that was the word behind its flag, and may have been meant otherwise.
  struct Taken {
    const Flag* flag;
    std::string typed, value;
  };
  std::vector<Taken> taken_;
};

// The words of an XLA_FLAGS value: separated by space, single quotes as is, double quotes with backslash escapes.
std::vector<std::string> SplitXlaFlags(std::string_view text);

}  // namespace hlo

#endif  // HLO_TOOLS_FLAGS_H_
