// Completion in shells. A shell runs the command as it stands so far with HLO_COMPLETE set to the word that is being
// typed: where flags would be parsed, what the word may become is printed instead, and that is all. So it always knows
// what the flags know.
#ifndef HLO_TOOLS_COMPLETION_H_
#define HLO_TOOLS_COMPLETION_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace hlo {

// The word, when a shell asks.
std::optional<std::string> WordToComplete();
// Those that begin with the word, a line each.
void PrintCompletions(std::span<const std::string_view> names, std::string_view word);
// Of the flags of a command that has these arguments so far. Ends the process.
[[noreturn]] void CompleteFlags(const FlagSet& flags, std::span<const std::string> args, std::string_view word);

// hlo completion bash|zsh|fish: the script. `programs` are the names that the program goes by.
Result<ExitCode> PrintCompletionScript(Args args, std::span<const std::string> programs);

}  // namespace hlo

#endif  // HLO_TOOLS_COMPLETION_H_
