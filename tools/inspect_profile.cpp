#include <cstdio>
#include <map>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/text.h"
#include "driver/profile/profile_page.h"
#include "driver/profile/summary.h"
#include "driver/run/experiment.h"
#include "tools/inspect.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

// Bytes held at the peak, by source line.
std::vector<std::pair<std::string, int64_t>> BytesBySource(const MemoryProfile& memory) {
  std::map<std::string, int64_t> by_source;
  for (const HeldValue& held : memory.at_peak)
    by_source[!held.source.empty() ? held.source : !held.op_name.empty() ? held.op_name : "(unknown)"] += held.bytes;
  std::vector<std::pair<std::string, int64_t>> rows(by_source.begin(), by_source.end());
  std::ranges::stable_sort(rows, std::greater<>(), &std::pair<std::string, int64_t>::second);
  return rows;
}

std::string MemoryReportText(const Profile& profile, size_t top) {
  const MemoryProfile& memory = profile.memory;
  const auto bytes = [](int64_t count) { return HumanBytes(static_cast<double>(count)); };
  std::string out = Str(profile.path, ": ", profile.module_name, " on ", profile.platform, ", planned for ",
                        profile.target, "\n  during the whole run: arguments ", bytes(memory.parameter_bytes),
                        ", constants ", bytes(memory.constant_bytes));
  if (memory.kept_bytes > 0) out += Str(", packed weights ", bytes(memory.kept_bytes));
  out +=
      Str("\n  planned: ", bytes(memory.planned_bytes), " in all\n  live at once: at most ", bytes(memory.peak_bytes),
          " of temporaries and outputs, at '", memory.peak_at, "':\n", HeldTable(memory, top));
  const auto by_source = BytesBySource(memory);
  if (by_source.empty() || (by_source.size() == 1 && by_source[0].first == "(unknown)")) return out;
  TextTable table({">bytes", "source, or op_name if the source is not known"});
  for (size_t i = 0; i < std::min(top, by_source.size()); ++i)
    table.Row({bytes(by_source[i].second), by_source[i].first});
  return out + table.Text("    ");
}

std::string MemoryReportJson(const Profile& profile) {
  const MemoryProfile& memory = profile.memory;
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.memory/1").Key("path").Value(profile.path);
  json.Key("module").Value(profile.module_name).Key("target").Value(profile.target);
  json.Key("parameter_bytes").Value(memory.parameter_bytes).Key("constant_bytes").Value(memory.constant_bytes);
  json.Key("kept_bytes").Value(memory.kept_bytes).Key("planned_bytes").Value(memory.planned_bytes);
  json.Key("peak_bytes").Value(memory.peak_bytes).Key("peak_at").Value(memory.peak_at).Key("at_peak").Open('[');
  for (const HeldValue& held : memory.at_peak) {
    json.Open('{').Key("name").Value(held.name).Key("shape").Value(held.shape).Key("bytes").Value(held.bytes);
    json.Key("is_output").Value(held.is_output).Key("from").Value(held.from).Key("to").Value(held.to);
    json.Key("op_name").Value(held.op_name).Key("source").Value(held.source).Close('}');
  }
  json.Close(']').Key("by_source").Open('[');
  for (const auto& [source, bytes] : BytesBySource(memory))
    json.Open('{').Key("source").Value(source).Key("bytes").Value(bytes).Close('}');
  json.Close(']').Key("live_bytes").Open('[');
  for (const ProfiledStep& step : profile.steps)
    json.Open('{').Key("step").Value(step.name).Key("bytes").Value(step.live_bytes).Close('}');
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace

Result<ExitCode> InspectProfile(Args args) {
  std::string html;
  bool full = false;
  FlagSet flags("hlo-inspect profile", "[flags] PROFILE.json",
                "Shows a profile of 'hlo-run --profile_json' as the tables of --profile, or as a page for a browser. "
                "The page has the timeline of a run, its memory and the roofline, and needs no network.",
                {"hlo-run --platform=cpu --profile_json=p.json model.hlo", "hlo-inspect profile --full p.json",
                 "hlo-inspect profile --html=p.html p.json"});
  flags.Bool("full", &full, "print the tables of --profile=full");
  flags.String("html", &html, "FILE", "write the profile as a page instead");
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one profile, got ", positionals.size()), positionals));
  const ProfileSummary summary = TRY(ReadProfileSummary(positionals[0]));
  if (!html.empty()) TRY(WriteFile(html, ProfileHtml(summary)));
  else TRY(WriteFile("-", Str(summary.path, ": ", summary.module_name, "\n", ProfileText(summary, full))));
  return ExitCode::kOk;
}

Result<ExitCode> InspectMemory(Args args) {
  RunOptions options;
  PassFlags passes;
  std::optional<std::string> json;
  int64_t top = 20;
  FlagSet flags("hlo-inspect memory", "[flags] MODULE",
                "Shows the memory that the buffer plan needs for a run on the host: the most memory that is live at "
                "once, the values in it with their first and last steps, and the source lines of these values. The "
                "module is optimized and compiled as by hlo-run, but does not run.",
                {"hlo-inspect memory model.hlo", "hlo-inspect memory --target=host --top=0 --json=m.json model.hlo"});
  flags.Int("top", &top, "number of rows; 0: all");
  flags.OptionalString("json", &json, "FILE",
                       "print JSON instead of text, or write it to FILE as well, with the live values at each step");
  AddPassFlags(flags, &passes);
  AddLoadFlags(flags, &options.load,
               {ElidedValues::kRandom, ElidedValues::kZeros, ElidedValues::kIota, ElidedValues::kError});
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one module, got ", positionals.size()), positionals));
  TRY(ReadTargetFlag(&passes));
  options.pipeline = TRY(PipelineOf(passes, {}));
  options.platform = "cpu";
  Progress progress;
  Experiment experiment(positionals[0], options, progress);
  const Code& code = *TRY(experiment.Compiled());
  Profile profile = DescribeProgram(*code.executable, *options.pipeline.device, options.allow_tf32);
  profile.path = positionals[0] == "-" ? "<stdin>" : positionals[0];
  profile.module_name = TRY(experiment.Input())->module->name();
  progress.Clear();
  TRY(WriteReport(json, MemoryReportText(profile, top > 0 ? static_cast<size_t>(top) : SIZE_MAX),
                  MemoryReportJson(profile)));
  return ExitCode::kOk;
}

}  // namespace hlo
