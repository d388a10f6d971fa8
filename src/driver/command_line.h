// Commands that a report proposes, as a shell takes them.
#ifndef HLO_DRIVER_COMMAND_LINE_H_
#define HLO_DRIVER_COMMAND_LINE_H_

#include <span>
#include <string>
#include <string_view>

namespace hlo {

// A word of a command for a POSIX shell; quoted where it must be.
std::string ShellWord(std::string_view word);

// `hlo-run` with the flags of last time, and `more` ("--a=1 --b") instead of those of the same names.
std::string RunAgain(std::span<const std::string> flags, std::string_view more, std::string_view path);

}  // namespace hlo

#endif  // HLO_DRIVER_COMMAND_LINE_H_
