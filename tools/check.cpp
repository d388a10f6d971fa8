// hlo check: parse and verify only.
#include <cstdio>
#include <filesystem>

#include "base/json.h"
#include "base/source_text.h"
#include "driver/load.h"
#include "tools/command.h"
#include "tools/flags.h"

namespace hlo {

Result<ExitCode> CheckCommand(Args args) {
  LoadOptions load;
  bool json = false;
  bool quiet = false;
  FlagSet flags("hlo-check", "[flags] FILE|DIRECTORY|@LIST...",
                "Parse and verify: one line a file, `ok` or its diagnostics. Exit 0, or 3 when one was rejected.",
                {"hlo check model.hlo", "hlo check --verify=off --json dumps/"});
  flags.Choice("verify", &load.verify, {"strict", "default", "off"}, "how much is verified; off: parse only");
  flags.Int("max_input", &load.max_input, "largest file in bytes");
  flags.Int("max_depth", &load.max_depth, "deepest nesting");
  flags.Bool("json", &json, "an array of {file, verdict, code, line, column, message}");
  flags.Bool("q", &quiet, "do not list the files that are fine");
  const std::vector<std::string> positionals = TRY(flags.Parse(args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty()) FAIL(UsageError("F002", "no file given").Hint("hlo check model.hlo; '-' is stdin"));

  ExitCode worst = ExitCode::kOk;
  JsonWriter report;
  report.Open('[');
  for (const std::string& path : TRY(ExpandPaths(positionals))) {
    const auto module = LoadModule(path, load);
    if (!module) worst = WorseOf(worst, module.error().exit);
    if (json) {
      report.Open('{').Key("file").Value(path).Key("verdict").Value(module ? "ok" : "error");
      if (!module) {
        const Diagnostic& first = module.error().diagnostics.front();
        const bool placed = module.error().source != nullptr && first.range != SourceRange{};
        const SourceText::Place place =
            placed ? module.error().source->PlaceOf(first.range.begin) : SourceText::Place{0, 0};
        report.Key("code")
            .Value(first.code)
            .Key("line")
            .Value(place.line)
            .Key("column")
            .Value(place.column)
            .Key("message")
            .Value(first.message);
      }
      report.Close('}');
      continue;
    }
    if (module) {
      if (!quiet) std::printf("%s: ok\n", path.c_str());
      continue;
    }
    std::fflush(stdout);
    std::fputs(Render(module.error(), "hlo-check").c_str(), stderr);
    const size_t count = module.error().diagnostics.size();
    std::fprintf(stderr, "%zu error%s in %s\n", count, count == 1 ? "" : "s", path == "-" ? "<stdin>" : path.c_str());
  }
  report.Close(']');
  if (json) std::printf("%s\n", report.text().c_str());
  return worst;
}

}  // namespace hlo
