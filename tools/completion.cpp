#include "tools/completion.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/text.h"

namespace hlo {
namespace {

// bash may split words at `=`, so its script reads the line.
constexpr std::string_view kBash = R"sh(_hlo() {
  local line="${COMP_LINE:0:COMP_POINT}" word="" one
  local -a words found
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] || { word="${words[-1]}"; unset 'words[-1]'; }
  mapfile -t found < <(HLO_COMPLETE="$word" "${words[@]}" 2>/dev/null </dev/null)
  COMPREPLY=()
  for one in "${found[@]}"; do
    [[ "$word" == *=* && "$COMP_WORDBREAKS" == *=* ]] && one="${one#*=}"
    COMPREPLY+=("$one")
  done
  [[ ${#COMPREPLY[@]} -eq 1 && "${COMPREPLY[0]}" == *= ]] && compopt -o nospace
}
complete -o default -F _hlo PROGRAMS
)sh";
// In zsh's function path, the script first runs when a word is completed, and must complete it.
constexpr std::string_view kZsh = R"sh(#compdef PROGRAMS
_hlo() {
  local -a found
  found=(${(f)"$(HLO_COMPLETE="$PREFIX" ${words[1,CURRENT-1]} 2>/dev/null </dev/null)"})
  (( $#found )) && compadd -S '' -- $found || _files
}
if [[ $funcstack[1] == _hlo ]]; then _hlo "$@"; else compdef _hlo PROGRAMS; fi
)sh";
constexpr std::string_view kFish = R"sh(function __hlo
  set -lx HLO_COMPLETE (commandline -ct)
  set -l words (commandline -opc)
  $words 2>/dev/null </dev/null
end
for program in PROGRAMS
  complete -c $program -a '(__hlo)'
end
)sh";

struct Shell {
  std::string_view name, script;
};
constexpr Shell kShells[] = {{"bash", kBash}, {"zsh", kZsh}, {"fish", kFish}};

}  // namespace

std::optional<std::string> WordToComplete() {
  const char* const word = std::getenv("HLO_COMPLETE");
  return word == nullptr ? std::nullopt : std::optional<std::string>(word);
}

void PrintCompletions(std::span<const std::string_view> names, std::string_view word) {
  for (const std::string_view name : names) {
    if (name.starts_with(word)) std::printf("%s\n", std::string(name).c_str());
  }
}

void CompleteFlags(const FlagSet& flags, std::span<const std::string> args, std::string_view word) {
  const std::vector<std::string> found = flags.Completions(args, word);
  const std::vector<std::string_view> names(found.begin(), found.end());
  PrintCompletions(names, word);
  std::fflush(stdout);
  std::_Exit(0);
}

Result<ExitCode> PrintCompletionScript(Args args, std::span<const std::string> programs) {
  const Shell* const shell =
      args.size() == 1 ? std::ranges::find(kShells, std::string_view(args[0]), &Shell::name) : std::end(kShells);
  if (shell == std::end(kShells))
    FAIL(UsageError("F002", "completion wants a shell: bash, zsh or fish")
             .Hint("hlo completion bash >>~/.bash_completion"));
  std::string script(shell->script);
  constexpr std::string_view kPrograms = "PROGRAMS";
  const std::string names = Join(programs, " ");
  for (size_t at = 0; (at = script.find(kPrograms, at)) != script.npos; at += names.size())
    script.replace(at, kPrograms.size(), names);
  std::fputs(script.c_str(), stdout);
  return ExitCode::kOk;
}

}  // namespace hlo
