// hlo-inspect: each of its commands has a row here and a report in src/driver.
#include "tools/inspect.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "driver/inspect/cost.h"
#include "driver/inspect/extract.h"
#include "driver/inspect/literals.h"
#include "driver/inspect/stats.h"
#include "driver/optimize.h"
#include "driver/profile/summary.h"
#include "driver/target.h"
#include "ir/text/printer.h"
#include "tools/completion.h"
#include "tools/man_page.h"
#include "tools/module_flags.h"
#include "tools/run_flags.h"

namespace hlo {
namespace {

struct SubcommandRow {
  const char* name;
  Result<ExitCode> (*run)(Args args);
  const char* about;
};

constexpr SubcommandRow kSubcommands[] = {
    {"stats", InspectStats,
     "counts of opcodes and types, the largest values, and the arithmetic and memory traffic of one run"},
    {"cost", InspectCost, "the estimated time of each instruction or fusion on a device, also in loops"},
    {"graph", InspectGraph, "a computation as a graph, in dot, svg or one html file"},
    {"extract", InspectExtract, "one instruction with its producers, or one computation, as a module"},
    {"slice", InspectSlice, "the part of a module that one result needs, as a module"},
    {"literals", InspectLiterals,
     "the sizes of constants and the ranges of their values, or all values of one constant"},
    {"shardings", InspectShardings, "the split of each value over devices, and the shape and bytes of the parts"},
    {"collectives", InspectCollectives,
     "the calls, groups and bytes of the collectives, also compared with another module"},
    {"schedule", InspectSchedule,
     "the estimated time of a step on several devices: kernels, collectives and their overlap"},
    {"flags", InspectFlags, "the flags of XLA_FLAGS that have an effect here"},
    {"memory", InspectMemory, "the values that are in memory when a run needs the most, with instructions and sources"},
    {"profile", InspectProfile, "a profile of 'hlo-run --profile_json', as tables or as a page for a browser"},
    {"ops", OpsCommand, "the supported opcodes ('hlo ops')"},
};

std::string Overview() {
  std::string out = "hlo-inspect COMMAND MODULE: shows properties of a module and changes nothing\n\n";
  for (const SubcommandRow& row : kSubcommands) out += Format("  %-9s %s\n", row.name, row.about);
  return out + "\n'hlo-inspect COMMAND --help' lists the flags of a command and examples. '-' is stdin.\n";
}

ManPage OverviewPage() {
  ManPage page = {.command = "hlo inspect",
                  .usage = "COMMAND [flags] MODULE",
                  .about =
                      "Shows properties of a module and changes nothing. Each command has a page of its own: "
                      "hlo-inspect-stats(1) and so on.",
                  .examples = {"hlo-inspect stats model.hlo", "hlo-opt model.hlo | hlo-inspect cost -"},
                  .flags_title = "",
                  .sections = {{"Commands", {}}}};
  for (const SubcommandRow& row : kSubcommands) page.sections[0].entries.push_back({row.name, row.about});
  return page;
}

}  // namespace

std::string_view AboutInspect(std::string_view name) {
  const auto* row = std::ranges::find(kSubcommands, name, &SubcommandRow::name);
  return row == std::end(kSubcommands) ? "" : row->about;
}

Result<std::unique_ptr<Module>> InspectedModule(FlagSet& flags, Args args, LoadOptions* load) {
  AddLoadFlags(flags, load);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return nullptr;
  }
  if (positionals.size() != 1)
    FAIL(flags.WrongFiles(Str("expected one module, got ", positionals.size()), positionals)
             .Hint("a file, or '-' for stdin"));
  return LoadModule(positionals[0], *load);
}

Status WriteReport(const std::optional<std::string>& json_flag, const std::string& text, const std::string& json) {
  if (!json_flag || !json_flag->empty()) TRY(WriteFile("-", text));
  if (json_flag) TRY(WriteFile(json_flag->empty() ? "-" : *json_flag, json));
  return {};
}

Result<ExitCode> InspectStats(Args args) {
  LoadOptions load;
  std::optional<std::string> json;
  int64_t largest = 10;
  FlagSet flags(
      "hlo-inspect stats", "[flags] MODULE",
      "Counts the parts of a module. Arithmetic and memory traffic are computed from shapes. Ops without a formula are "
      "named.",
      {"hlo-inspect stats model.hlo", "hlo-inspect stats --json dumps/module_0001.f.before_optimizations.txt"});
  flags.Int("top", &largest, "number of rows; 0: all");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const ModuleStats stats = StatsOf(*module, largest);
  TRY(WriteReport(json, StatsText(stats), StatsJson(stats)));
  return ExitCode::kOk;
}

namespace {

// The module is the input of the profiled run, or the result of its passes. Errors: A025.
Status AddMeasured(const std::string& path, const Module& module, CostReport* report) {
  const ProfileSummary profile = TRY(ReadProfileSummary(path));
  const auto fail = [&](const std::string& why) {
    return Error(ExitCode::kRejected, "A025", Str("'", Escaped(path), "' ", why))
        .Hint(
            "hlo-opt model.hlo -o opt.hlo; hlo-run --passes= --profile_json=p.json opt.hlo   profiles a module as it "
            "is");
  };
  const uint64_t own = Fingerprint(module);
  if (own != profile.input && own != profile.code)
    FAIL(fail(
        Str("is a profile of '", Escaped(profile.path), "' (", Escaped(profile.module_name), "), not of this module")));
  std::map<std::string_view, double> us;
  for (const StepRow& row : profile.steps) us[row.step.name] = 1000 * row.figures.ms;
  for (const LoopRow& row : profile.loops) us[row.loop.name] = 1000 * row.figures.ms;
  bool any = false;
  for (CostRow& row : report->rows) {
    if (const auto known = us.find(row.inst->name()); known != us.end()) row.measured_us = known->second, any = true;
  }
  if (!any) FAIL(fail("is a profile of this module after passes that kept none of its instructions"));
  return {};
}

}  // namespace

Result<ExitCode> InspectCost(Args args) {
  LoadOptions load;
  std::string profile, computation;
  std::string target(DefaultDevice().name);
  std::optional<std::string> json;
  int64_t top = 30;
  bool csv = false;
  CostOptions options;
  FlagSet flags(
      "hlo-inspect cost", "[flags] MODULE",
      "Estimates the time of each instruction or fusion by a roofline model. The estimate is the time of the memory "
      "traffic, the dots or the other arithmetic on the described device, whichever is longest, plus the time of a "
      "launch. An instruction in a loop counts once for each trip if the number of trips is known.",
      {"hlo-inspect cost model.hlo", "hlo-opt model.hlo | hlo-inspect cost --top=10 -",
       "hlo-inspect cost --by=op_name model.hlo", "hlo-inspect cost --computation=body.3 model.hlo",
       "hlo-inspect cost --target=host --csv model.hlo",
       "hlo-opt model.hlo -o opt.hlo; hlo-run --platform=cpu --passes= --profile_json=p.json opt.hlo",
       "hlo-inspect cost --profile=p.json opt.hlo"});
  flags.String(
      "target", &target, "DEVICE",
      Str("device whose description is used: ", TargetNames(), ", sm_NN, or a file of XLA's target configurations"));
  flags.Alias("device", "target");
  flags.Int("top", &top, "number of rows; 0: all");
  flags.Choice("by", &options.by, CostKeyWords(),
               "print sums instead of instructions; op_name: by scope, with the inner scopes");
  flags.String("computation", &computation, "NAME", "computation that is inspected; default: the entry");
  flags.Bool("expand_loops", &options.expand_loops,
             "off: print one row for a loop or call, instead of rows for the instructions inside");
  flags.Bool("csv", &csv, "print all rows as comma-separated values");
  flags.String("profile", &profile, "P.json",
               "add the times that 'hlo-run --profile_json' measured for this module with --passes=");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  const auto device = TRY(FindTarget(target));
  // Otherwise library calls would be custom calls of unknown cost.
  if (const std::string note = TRY(TakeLibraryCalls(*module, device->device)); !note.empty())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  if (!computation.empty() && !profile.empty())
    FAIL(UsageError("F004", "--profile has times of runs of the entry, but --computation names another computation"));
  if (!computation.empty()) options.computation = TRY(FindComputation(*module, computation));
  CostReport report = CostReportOf(*module, device->device, options);
  if (!profile.empty()) TRY(AddMeasured(profile, *module, &report));
  TRY(WriteReport(json, csv ? CostCsv(report) : CostText(report, top), CostJson(report)));
  return ExitCode::kOk;
}

Result<ExitCode> InspectFlags(Args args) {
  FlagSet own("hlo-inspect flags", "", "The flags of XLA_FLAGS that have an effect here, as hlo-run takes them.",
              {"hlo-inspect flags"});
  if (!TRY(ParseAll(own, args)).empty()) FAIL(UsageError("F002", "hlo-inspect flags takes no module"));
  RunFlags run;
  FlagSet flags("hlo-run", "", "", {});
  AddRunFlags(flags, &run, /*with_searches=*/true);
  const std::string text = own.help_asked() ? own.Help()
                                            : Str(flags.HelpOn("xla_"),
                                                  "Other flags that begin with xla_ are accepted and named in a note. "
                                                  "All other words are named in a warning.\n");
  TRY(WriteFile("-", text));
  return ExitCode::kOk;
}

Result<ExitCode> InspectLiterals(Args args) {
  LoadOptions load{.text_only = true};
  std::optional<std::string> json;
  std::string name, computation;
  int64_t top = 30;
  FlagSet flags("hlo-inspect literals", "[flags] MODULE",
                "Lists the constants of a module, the largest first, or prints one of them.",
                {"hlo-inspect literals model.hlo", "hlo-inspect literals --name=constant.4 model.hlo"});
  flags.Int("top", &top, "number of rows; 0: all");
  flags.String("name", &name, "NAME", "print this constant with all its values");
  flags.String("computation", &computation, "NAME", "computation that holds --name");
  flags.OptionalString("json", &json, "FILE", "print JSON instead of text, or write it to FILE as well");
  const auto module = TRY(InspectedModule(flags, args, &load));
  if (module == nullptr) return ExitCode::kOk;
  if (name.empty()) {
    const std::vector<LiteralStats> literals = LiteralsOf(*module);
    TRY(WriteReport(json, LiteralsText(literals, top), LiteralsJson(literals)));
    return ExitCode::kOk;
  }
  const Computation* place = computation.empty() ? nullptr : TRY(FindComputation(*module, computation));
  const Instruction& inst = *TRY(FindInstruction(*module, name, place));
  if (inst.Is(Opcode::kElidedConstant))
    FAIL(ErrorAt(inst, "P040", Str("constant '", inst.name(), "' was elided in the text")));
  if (!inst.Is(Opcode::kConstant))
    FAIL(UsageError("F004", Str("--name: '", inst.name(), "' is not a constant but '", inst.opcode(), "'")));
  TRY(WriteFile("-", Str(inst.shape(), " ", Print(inst.literal()), "\n")));
  return ExitCode::kOk;
}

Result<ExitCode> InspectCommand(Args args) {
  if (const auto word = WordToComplete(); word && args.empty()) {
    std::vector<std::string_view> names;
    for (const SubcommandRow& row : kSubcommands) names.emplace_back(row.name);
    return PrintCompletions(names, *word), ExitCode::kOk;
  }
  if (args.empty() || args[0] == "--help") {
    std::fputs(Overview().c_str(), args.empty() ? stderr : stdout);
    return args.empty() ? ExitCode::kUsage : ExitCode::kOk;
  }
  if (args[0] == "--help=man") return std::fputs(Roff(OverviewPage()).c_str(), stdout), ExitCode::kOk;
  std::vector<std::string_view> known;
  for (const SubcommandRow& row : kSubcommands) {
    if (args[0] == row.name) return row.run(args.subspan(1));
    known.emplace_back(row.name);
  }
  const std::vector<std::string> near = NearNames(args[0], known);
  FAIL(UsageError("F001", Str("unknown command '", Escaped(args[0]), "'",
                              near.empty() ? "" : Str("; did you mean '", Join(near, "', '"), "'?")))
           .Hint("'hlo-inspect --help' lists the commands"));
}

}  // namespace hlo
