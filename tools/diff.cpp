#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/files.h"
#include "base/text.h"
#include "driver/diff/diff.h"
#include "driver/target.h"
#include "tools/command.h"
#include "tools/run_flags.h"

namespace hlo {
namespace {

struct DiffFlags {
  RunFlags run;
  DiffMode mode = DiffMode::kAuto;
  DiffFormat format = DiffFormat::kSummary;
  DumpPairing pair = DumpPairing::kByPass;
  std::string output = "-";
  std::vector<std::string> ignore;
  std::optional<std::string> ignored;
  int64_t top = 10, rounds = 21, most = StructureOptions().most_instructions;
  double significance = 0.05;
};

FlagSet MakeFlags(DiffFlags* f) {
  FlagSet flags(
      "hlo-diff", "[flags] LEFT RIGHT",
      "Shows the differences between two modules, two dump directories (from the first differing pass), two profiles "
      "(which steps became slower), two autotune locks or two files of arrays. Instructions are matched by their "
      "operands and users, whatever their names. The command accepts all flags of hlo-run. The exit code is 0 if the "
      "two are "
      "equal, 1 if they differ, and 7 if nothing could be matched.",
      {"hlo-diff old.hlo new.hlo", "hlo-diff --format=html -o=diff.html old.hlo new.hlo",
       "hlo-diff dumps/old dumps/new      the first differing pass",
       "hlo-diff old.json new.json        profiles of hlo-run --profile_json, or directories of several each",
       "hlo-diff --tolerance=xla expected.npz actual.npz", "hlo-diff --mode=values --platform=cpu old.hlo new.hlo"});
  flags.Group("Comparison");
  flags.Choice(
      "mode", &f->mode,
      "text: compare the texts line by line; structure: instructions and fusions; values: the results on the same "
      "arguments; perf: times, measured in turns, or the times in profiles; all: all except text; auto: structure, "
      "values or perf, by the kind of file");
  flags.String("ignore", &f->ignored, "LIST",
               Str("differences that are ignored: ", Join(DiffIgnoreWords(), ", "),
                   "; order: the order of instructions. Default: names,metadata,order; --ignore= ignores none"));
  flags.Choice("pair", &f->pair,
               "which modules of two dump directories are compared; by-pass: modules of the same name, in their order, "
               "pass by pass; by-name: files of the same name; by-size: the largest texts first");
  flags.Double("significance", &f->significance,
               "for perf and profiles: a difference is significant if its p is at most X (Mann-Whitney test)");
  flags.Int("rounds", &f->rounds, "for perf: number of runs of each module", 2, 100'000);
  flags.Int("max_instructions", &f->most, "most instructions of a module that is matched, with those in fusions", 1);
  flags.Group("Output");
  flags.Choice("format", &f->format,
               "text: like diff -u, with the left names for matched instructions; html: one page; json: hlo.diff/1");
  flags.String("output", &f->output, "FILE", "file for the result; '-' is stdout");
  flags.Alias("o", "output");
  flags.Int("top", &f->top, "number of rows of each list; 0: all");
  AddRunFlags(flags, &f->run);
  return flags;
}

Result<DiffFilesOptions> OptionsOf(const DiffFlags& f) {
  DiffFilesOptions options{.run = f.run.run, .structure = {}};
  options.mode = f.mode;
  options.format = f.format;
  options.pairing = f.pair;
  options.significance = f.significance;
  options.rounds = f.rounds;
  options.top = f.top;
  options.structure.most_instructions = f.most;
  options.structure.device = f.run.passes.device != nullptr ? &f.run.passes.device->device : &DefaultDevice();
  if (f.ignored) {
    std::vector<std::string> words;
    for (const std::string_view word : Split(*f.ignored, ',')) words.emplace_back(word);
    options.structure.ignore = TRY(DiffIgnoreFromWords(words));
  }
  return options;
}

}  // namespace

Result<ExitCode> DiffCommand(Args args) {
  DiffFlags f;
  FlagSet flags = MakeFlags(&f);
  const std::vector<std::string> files = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (files.size() != 2) FAIL(flags.WrongFiles(Str("expected two files or directories, got ", files.size()), files));
  if (files[0] == "-" && files[1] == "-") FAIL(UsageError("F004", "only one of the two files can be stdin"));
  TRY(ResolveRunFlags(&f.run));
  DiffFilesOptions options = TRY(OptionsOf(f));
  Progress progress(f.run.quiet);
  const std::optional<std::string>& json = f.run.json;
  if (json && json->empty()) options.format = DiffFormat::kJson;
  options.with_json = json.has_value();
  const auto report = Diff(files[0], files[1], options, progress);
  progress.Clear();
  if (!report) FAIL(report.error());
  const auto write = [&](DiffFormat format, const std::string& path) {
    return WriteFile(path, Rendered(*report, files[0], files[1], format));
  };
  if (json && !json->empty()) TRY(write(DiffFormat::kJson, *json));
  if (!f.run.silent || f.output != "-") TRY(write(options.format, f.output));
  return report->exit;
}

}  // namespace hlo
