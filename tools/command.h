// The commands of the program. `hlo run ...` and a link `hlo-run ...` are equivalent.
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

// The caller prints an Error under the command's name.
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

// Printed if the user interrupts the command.
void SetInterruptionNote(std::string_view line);

// The file of --json=FILE, "" for stdout, nullopt without --json. Other flags may be invalid.
std::optional<std::string> JsonDestination(Args args);

// Explains a code or word, or prints a list or page. Suggests names for an unknown topic, also of `commands`.
Result<ExitCode> HelpOnTopic(const std::string& asked, std::span<const std::string_view> commands);
std::string HelpOnWord(std::string_view asked);
std::vector<std::string_view> HelpTopics();
// Prints a note if a page has this name too.
void PointToPage(std::string_view asked);

}  // namespace hlo

#endif  // HLO_TOOLS_COMMAND_H_
