#include "driver/command_line.h"

#include <algorithm>

#include "base/text.h"

namespace hlo {

std::string ShellWord(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string RunAgain(std::span<const std::string> flags, std::string_view more, std::string_view path) {
  // Without "no", so that --nofallback replaces --fallback.
  const auto name_of = [](std::string_view flag) {
    flag = flag.substr(0, flag.find('='));
    if (!flag.starts_with("--")) return flag;
    return flag.substr(flag.starts_with("--no") ? 4 : 2);
  };
  std::string command = "hlo-run";
  for (const std::string& flag : flags) {
    const auto replaces = [&](std::string_view other) { return name_of(other) == name_of(flag); };
    if (std::ranges::none_of(Split(more, ' '), replaces)) command += " " + ShellWord(flag);
  }
  return Str(command, " ", more, " ", ShellWord(path == "<stdin>" ? "-" : path));
}

}  // namespace hlo
