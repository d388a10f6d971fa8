#ifndef HLO_TOOLS_INSPECT_H_
#define HLO_TOOLS_INSPECT_H_

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "driver/load.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace hlo {

Result<ExitCode> InspectStats(Args args);
Result<ExitCode> InspectCost(Args args);
Result<ExitCode> InspectGraph(Args args);
Result<ExitCode> InspectExtract(Args args);
Result<ExitCode> InspectSlice(Args args);
Result<ExitCode> InspectLiterals(Args args);
Result<ExitCode> InspectShardings(Args args);
Result<ExitCode> InspectCollectives(Args args);
Result<ExitCode> InspectSchedule(Args args);
Result<ExitCode> InspectFlags(Args args);
Result<ExitCode> InspectMemory(Args args);
Result<ExitCode> InspectProfile(Args args);

// What a sub-command shows, or "" if there is none of this name.
std::string_view AboutInspect(std::string_view name);

// Reads the flags and one module. Returns null after printing help.
Result<std::unique_ptr<Module>> InspectedModule(FlagSet& flags, Args args, LoadOptions* load);

// --json writes only the JSON, to stdout. --json=FILE writes the text to stdout and the JSON to FILE.
Status WriteReport(const std::optional<std::string>& json_flag, const std::string& text, const std::string& json);

}  // namespace hlo

#endif  // HLO_TOOLS_INSPECT_H_
