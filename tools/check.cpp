#include <chrono>
#include <cstdio>
#include <map>

#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/load.h"
#include "driver/run/error_report.h"
#include "ir/verifier/verifier.h"
#include "parser/read_proto.h"
#include "tools/command.h"
#include "tools/flags.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

struct LoadTimes {
  double parse_ms = 0, verify_ms = 0;  // Best of several repetitions. Parsing includes freeing the module.
  int64_t bytes = 0;
};

Result<LoadTimes> TimeLoading(const std::string& path, const LoadOptions& options) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); };
  const auto source = TRY(ReadSource(ModuleFile(path), options.max_input));
  LoadTimes best{1e300, 1e300, static_cast<int64_t>(source->text().size())};
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < 5 || Clock::now() - start < std::chrono::milliseconds(500); ++i) {
    const Clock::time_point begin = Clock::now();
    auto module = TRY(ReadModule(source, ParseOptionsOf(options)));
    const Clock::time_point parsed = Clock::now();
    TRY(Verify(*module, options.verify));
    const Clock::time_point verified = Clock::now();
    module.reset();
    best.parse_ms = std::min(best.parse_ms, ms(parsed - begin + (Clock::now() - verified)));
    best.verify_ms = std::min(best.verify_ms, ms(verified - parsed));
  }
  return best;
}

double MegabytesPerSecond(int64_t bytes, double ms) { return static_cast<double>(bytes) / ms * 1e-3; }

// The first warning of each code, and the number of its warnings.
using WarningKinds = std::map<std::string, std::pair<Diagnostic, int64_t>>;
WarningKinds KindsOf(std::span<const Diagnostic> warnings) {
  WarningKinds kinds;
  for (const Diagnostic& warning : warnings) ++kinds.try_emplace(warning.code, warning, 0).first->second.second;
  return kinds;
}

std::string WarningsText(const SourceText* source, std::span<const Diagnostic> warnings) {
  std::string out;
  for (auto& [code, kind] : KindsOf(warnings)) {
    auto [first, count] = kind;
    if (count > 1) first.message += Str(" (and ", count - 1, " more like this)");
    out += Render(source, first, "warning", "hlo-check");
  }
  return out;
}

void WriteWarnings(JsonWriter& report, const SourceText* source, std::span<const Diagnostic> warnings) {
  report.Key("warnings").Open('[');
  for (const auto& [code, kind] : KindsOf(warnings)) {
    report.Open('{');
    WriteJson(report, source, kind.first);
    report.Key("count").Value(kind.second).Close('}');
  }
  report.Close(']');
}

}  // namespace

Result<ExitCode> CheckCommand(Args args) {
  LoadOptions load{.text_only = true};
  bool json = false;
  bool quiet = false;
  bool bench = false;
  FlagSet flags("hlo-check", "[flags] FILE|DIRECTORY|@LIST...",
                "Parses and verifies files, and all files below a directory. Prints `ok` or the diagnostics of each "
                "file. The exit code is 0 if every file is ok, 3 if one was rejected, and 5 if one exceeds a limit.",
                {"hlo check model.hlo", "hlo check --verify=off --json dumps/"});
  AddLoadFlags(flags, &load);
  AddDeviceFlags(flags, &load);
  AddSplitFlag(flags, &load);
  flags.Group("Report");
  flags.Int("max_errors", &load.max_errors, "largest number of errors that are reported for one file", 1);
  flags.Bool("json", &json,
             "print an array of {file, verdict}, with {code, line, column, message} of the first error, or of the "
             "first warning of each kind with its count");
  flags.Bool("bench", &bench, "print how fast each file is parsed and verified on one thread");
  flags.Bool("q", &quiet, "do not list valid files and warnings");
  load.subdirectories = true;
  const std::vector<std::string> positionals = TRY(ParseArgs(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty())
    FAIL(flags.WrongFiles("no file given", positionals).Hint("hlo check model.hlo; '-' is stdin"));

  ExitCode worst = ExitCode::kOk;
  JsonWriter report;
  report.Open('[');
  const std::vector<std::string> paths = TRY(ExpandPaths(positionals, load));
  size_t fine = 0;
  for (const std::string& path : paths) {
    if (bench) {
      const auto times = TimeLoading(path, load);
      if (times) {
        const LoadTimes& t = *times;
        std::printf("%s: %.3f MB  parse %.2f ms, %.0f MB/s  verify %.2f ms  both %.0f MB/s\n", path.c_str(),
                    static_cast<double>(t.bytes) * 1e-6, t.parse_ms, MegabytesPerSecond(t.bytes, t.parse_ms),
                    t.verify_ms, MegabytesPerSecond(t.bytes, t.parse_ms + t.verify_ms));
        continue;
      }
    }
    std::vector<Diagnostic> warnings;
    const auto module = LoadModule(path, load, quiet ? nullptr : &warnings);
    if (module) ++fine;
    else worst = WorseOf(worst, module.error().exit);
    if (json) {
      report.Open('{').Key("file").Value(path).Key("verdict").Value(module ? "ok" : "error");
      if (!module) {
        WriteJson(report, module.error().source.get(), module.error().diagnostics.front());
      } else {
        WriteWarnings(report, (*module)->source.get(), warnings);
      }
      report.Close('}');
      continue;
    }
    if (module) {
      if (quiet) continue;
      std::printf("%s: ok\n", path.c_str());
      std::fflush(stdout);
      std::fputs(WarningsText((*module)->source.get(), warnings).c_str(), stderr);
      continue;
    }
    std::fflush(stdout);
    std::fputs(Render(module.error(), "hlo-check").c_str(), stderr);
    const size_t count = module.error().diagnostics.size();
    std::fprintf(stderr, "%zu error%s in %s\n", count, count == 1 ? "" : "s",
                 path == "-" ? "<stdin>" : Escaped(path).c_str());
  }
  report.Close(']');
  if (json) std::printf("%s\n", report.text().c_str());
  else if (!quiet && !bench && !load.split_input_file && paths.size() > 1)
    std::fprintf(stderr, "%zu files: %zu ok, %zu rejected\n", paths.size(), fine, paths.size() - fine);
  return worst;
}

}  // namespace hlo
