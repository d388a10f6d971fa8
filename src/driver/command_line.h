// Command lines that reports propose.
#ifndef HLO_DRIVER_COMMAND_LINE_H_
#define HLO_DRIVER_COMMAND_LINE_H_

#include <span>
#include <string>
#include <string_view>

namespace hlo {

std::string ShellWord(std::string_view word);

// Returns an `hlo-run` command. Flags in `more` ("--a=1 --b") replace flags of the same names.
std::string RunAgain(std::span<const std::string> flags, std::string_view more, std::string_view path);

}  // namespace hlo

#endif  // HLO_DRIVER_COMMAND_LINE_H_
