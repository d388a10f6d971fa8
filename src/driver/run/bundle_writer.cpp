#include "driver/run/bundle_writer.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/run/error_report.h"
#include "driver/run/saved_run.h"
#include "gpu/runtime/tuning/tuner.h"
#include "interp/arguments/argument_files.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

struct FileRow {
  std::string_view name, what;
};
constexpr FileRow kFiles[] = {
    {"module.hlo", "the module, as it was read"},
    {"module.pb", "the module, as it was read"},
    {"module.opt.hlo", "the module as it was compiled"},
    {"args.npz", "the arguments of the run"},
    {"expected.npz", "the expected results"},
    {"actual.npz", "the actual results"},
    {"values.npz", "the value of each instruction, for --reference"},
    {"autotune.lock", "the measured plans that the run used"},
    {"report.json", "the report as JSON, for programs"},
    {"cmd.sh", "the command that repeats the run"},
};

// Copies the module's file, or prints the module if it came from stdin or is one of several in a file.
Status WriteModule(const std::string& folder, Experiment& experiment) {
  const auto input = experiment.Input();
  const std::string path = ModuleFile(experiment.path());
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    if (!input) return {};
    return WriteFile(folder + "/module.hlo", Print(*(*input)->module));
  }
  const auto source = ReadSource(path, experiment.options().load.max_input);
  if (!source) return {};
  const bool is_text = !input || (*input)->module->source != nullptr;
  return WriteFile(Str(folder, is_text ? "/module.hlo" : "/module.pb"), (*source)->text());
}

Status WriteValues(const std::string& folder, Experiment& experiment, const RunReport& report,
                   std::vector<std::string>* flags) {
  const RunArguments& arguments = *TRY(experiment.Arguments());
  const int64_t partitions = TRY(experiment.Input())->module->header.num_partitions;
  const std::string args = folder + "/args.npz";
  if (!TRY(experiment.Input())->module->entry().parameters().empty()) {
    TRY(arguments.by_device.empty() ? WriteNpz(args, "arg", arguments.values)
                                    : WriteArgumentsByDevice(args, arguments.by_device, partitions));
    flags->emplace_back("--args={bundle}/args.npz");
  }
  if (const auto results = experiment.Results()) TRY(WriteOutputs(folder + "/actual.npz", (*results)->outputs));
  if (!experiment.options().save_run.empty() && !experiment.IsInterpreted())
    TRY(SaveValues(experiment, folder + "/values.npz"));
  if (!report.outputs) return {};
  const Expected* const expected = TRY(experiment.Reference());
  if (expected == nullptr) return {};
  TRY(WriteOutputs(folder + "/expected.npz", expected->outputs));
  if (experiment.options().recorded_result == Recorded::kTaken)
    flags->emplace_back("--reference={bundle}/expected.npz");
  return {};
}

// The fence has four characters, because the text may contain fences of three.
std::string Fenced(std::string_view text) { return Str("````\n", text, text.ends_with('\n') ? "" : "\n", "````\n"); }

std::string ReadmeOf(const std::string& folder, const std::string& title, std::string_view report) {
  std::string out =
      Str("# ", title, "\n\n`hlo-run .` in this folder, or `sh cmd.sh` from anywhere, repeats the run; flags ",
          "at the end override flags of the bundle. Other commands take the folder in place of a module, too.\n\n",
          "| file | |\n|---|---|\n");
  for (const FileRow& row : kFiles) {
    std::error_code error;
    if (std::filesystem::exists(Str(folder, "/", row.name), error)) out += Str("| ", row.name, " | ", row.what, " |\n");
  }
  return Str(out, "| manifest.json | flags, versions, size and hash of each file |\n\n## Report\n\n", Fenced(report));
}

Status Fill(const std::string& folder, Experiment& experiment, const Result<RunReport>& report) {
  const RunOptions& options = experiment.options();
  std::vector<std::string> flags = options.bundle.flags;
  TRY(WriteModule(folder, experiment));
  for (const BundleOptions::File& file : options.bundle.files) TRY(WriteFile(Str(folder, "/", file.name), file.bytes));
  if (report) {
    TRY(WriteFile(folder + "/module.opt.hlo", Print(*TRY(experiment.Planned())->module)));
    TRY(WriteValues(folder, experiment, *report, &flags));
    if (const auto& tuning = TRY(experiment.Planned())->tuning; tuning && tuning->used.size() > 0) {
      TRY(WriteFile(folder + "/autotune.lock", tuning->used.ToString()));
      std::erase_if(flags, [](const std::string& flag) { return flag.starts_with("--xla_gpu_load_autotune_results"); });
      flags.emplace_back("--xla_gpu_load_autotune_results_from={bundle}/autotune.lock");
    }
  }
  const std::string verdict = report ? report->verdict : VerdictOf(report.error());
  const ExitCode exit = report ? report->exit : report.error().exit;
  TRY(WriteFile(folder + "/report.json", report ? ReportJson(*report)
                                                : ErrorJson("hlo.run/1", experiment.path(), report.error(),
                                                            NextOf(report.error(), options, experiment.path()))));
  TRY(WriteFile(folder + "/cmd.sh",
                Str("#!/bin/sh\n# ", verdict, ": exit ", static_cast<int>(exit),
                    "\ncd \"$(dirname \"$0\")\" || exit\nunset XLA_FLAGS HLO_FLAGS\n", "exec hlo-run . \"$@\"\n")));
  const auto input = experiment.Input();
  const std::string name = input ? (*input)->module->name() : std::filesystem::path(experiment.path()).stem().string();
  TRY(WriteFile(folder + "/REPORT.md", ReadmeOf(folder, Str(name, ": ", verdict),
                                                report ? ReportText(*report) : Render(report.error(), "hlo-run"))));
  return WriteManifest(folder, flags, [&](JsonWriter& json) {
    json.Key("name").Value(name).Key("version").Value(HLO_VERSION);
    json.Key("verdict").Value(verdict).Key("exit").Value(static_cast<int>(exit));
    if (report) json.Key("platform").Value(report->platform).Key("device").Value(report->device);
    json.Key("environment").Open('{');
    for (const char* variable : {"XLA_FLAGS", "HLO_FLAGS", "TF_CPP_VMODULE"}) {
      if (const char* value = std::getenv(variable)) json.Key(variable).Value(value);
    }
    json.Close('}');
  });
}

}  // namespace

Result<std::string> WriteBundle(Experiment& experiment, const Result<RunReport>& report) {
  return MakeFolder(experiment.options().bundle.directory, /*numbered=*/false,
                    [&](const std::string& folder) { return Fill(folder, experiment, report); });
}

}  // namespace hlo
