// The commands of the one program. `hlo run ...` and a link called `hlo-run ...` are the same thing.
#ifndef HLO_TOOLS_COMMAND_H_
#define HLO_TOOLS_COMMAND_H_

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

using Args = std::span<const std::string>;

// Each returns the exit code; an Error is shown by the caller under the command's name.
Result<ExitCode> RunCommand(Args args);
Result<ExitCode> OptCommand(Args args);
Result<ExitCode> InspectCommand(Args args);
Result<ExitCode> DebugCommand(Args args);
Result<ExitCode> FmtCommand(Args args);
Result<ExitCode> CheckCommand(Args args);
Result<ExitCode> LspCommand(Args args);
Result<ExitCode> DiffCommand(Args args);
Result<ExitCode> BisectCommand(Args args);
Result<ExitCode> ReduceCommand(Args args);
Result<ExitCode> FuzzCommand(Args args);
Result<ExitCode> OpsCommand(Args args);
Result<ExitCode> DoctorCommand(Args args);

// What a user who interrupts the command is told besides; "": nothing.
void SetInterruptionNote(std::string_view line);

// Where --json asks for JSON: "" for stdout, else a file. It counts also when other flags cannot be read.
std::optional<std::string> JsonDestination(Args args);

// `hlo help P031`, `hlo help vacuous`, a list (`codes`, `words`, ...), a page. `commands` are what else may have been
// meant.
Result<ExitCode> HelpOnTopic(const std::string& asked, std::span<const std::string_view> commands);
// What a word of a report means; "" when it is none.
std::string HelpOnWord(std::string_view asked);
// The lists and the pages.
std::vector<std::string_view> HelpTopics();
// A word, a command or a list may have the name of a page: a line that says so.
void PointToPage(std::string_view asked);

}  // namespace hlo

#endif  // HLO_TOOLS_COMMAND_H_
