// A shell runs the incomplete command line with the word to complete in HLO_COMPLETE, and the command prints the
// completions.
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

// The word to complete, or nullopt without a request.
std::optional<std::string> WordToComplete();
void PrintCompletions(std::span<const std::string_view> names, std::string_view word);
[[noreturn]] void CompleteFlags(const FlagSet& flags, std::span<const std::string> args, std::string_view word);

Result<ExitCode> PrintCompletionScript(Args args, std::span<const std::string> programs);

}  // namespace hlo

#endif  // HLO_TOOLS_COMPLETION_H_
