// hlo fmt: lay HLO text out anew.
#include <cstdio>

#include "base/files.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/format.h"
#include "driver/load.h"
#include "tools/command.h"
#include "tools/module_flags.h"

namespace hlo {

Result<ExitCode> FmtCommand(Args args) {
  LoadOptions load{.fill_elided_constants = "zeros"};
  bool in_place = false, check = false;
  FlagSet flags("hlo-fmt", "[flags] FILE|DIRECTORY|@LIST...",
                "Lay HLO text out anew: an instruction a line, comments kept. Words do not change, and a text with "
                "errors is not touched.",
                {"hlo fmt model.hlo", "hlo fmt -i testdata/", "hlo fmt --check @files", "hlo fmt - <model.hlo"});
  flags.Bool("i", &in_place, "rewrite the files instead of printing");
  flags.Bool("check", &check, "list the files that would change; exit 1 when there are any");
  AddLoadFlags(flags, &load);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty()) FAIL(UsageError("F002", "no file given").Hint("hlo fmt model.hlo; '-' is stdin"));
  const std::vector<std::string> paths = TRY(ExpandPaths(positionals));
  if (paths.size() > 1 && !in_place && !check)
    FAIL(UsageError("F002", Str("cannot print ", paths.size(), " files at once")).Hint("-i rewrites them"));

  ExitCode worst = ExitCode::kOk;
  for (const std::string& path : paths) {
    if (in_place && path == "-") FAIL(UsageError("F002", "-i: stdin is no file"));
    const auto module = LoadModule(path, load);
    const Result<std::string> text =
        module ? FormatText(**module) : Result<std::string>(std::unexpected(module.error()));
    if (!text) {
      std::fputs(Render(text.error(), "hlo-fmt").c_str(), stderr);
      worst = WorseOf(worst, text.error().exit);
      continue;
    }
    const bool changes = *text != (*module)->source->text();
    if (check) {
      if (changes) std::printf("%s\n", path.c_str());
      worst = WorseOf(worst, changes ? ExitCode::kNo : ExitCode::kOk);
    } else if (!in_place) {
      TRY(WriteFile("-", *text));
    } else if (changes) {
      TRY(WriteFile(path, *text));
    }
  }
  return worst;
}

}  // namespace hlo
