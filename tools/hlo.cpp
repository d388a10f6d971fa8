// Finds the command in argv[0] or argv[1] and runs it.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "base/crash.h"
#include "base/files.h"
#include "base/host_isa.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/command_line.h"
#include "driver/manual/pages.h"
#include "driver/run/error_report.h"
#include "tools/command.h"
#include "tools/completion.h"
#include "tools/man_page.h"

namespace hlo {
namespace {

struct CommandRow {
  const char* name;
  Result<ExitCode> (*run)(Args args);
  const char* about;
};

Result<ExitCode> HelpCommand(Args args);
Result<ExitCode> VersionCommand(Args args);
Result<ExitCode> CompletionCommand(Args args);

constexpr CommandRow kCommands[] = {
    {"run", RunCommand, "run a module, compare it with the interpreter, name the wrong part, and measure the time"},
    {"opt", OptCommand, "run passes, or the pipeline up to a stage, and print or dump the result"},
    {"inspect", InspectCommand, "show statistics, cost, graph, parts or constants of a module"},
    {"debug", DebugCommand, "run the interpreter with breakpoints, step by step, from a terminal or a pipe"},
    {"fmt", FmtCommand, "format HLO text, with its comments"},
    {"check", CheckCommand, "parse and verify files, and print one line for each"},
    {"lsp", LspCommand, "run a language server for editors"},
    {"diff", DiffCommand, "show the differences between two modules, dump directories, bundles or files of arrays"},
    {"bisect", BisectCommand, "find the pass, rewrite, rule, flag, fusion or library that causes a failure"},
    {"reduce", ReduceCommand, "make a failing module as small as possible"},
    {"fuzz", FuzzCommand, "generate random modules and judge them by every oracle"},
    {"ops", OpsCommand, "list the supported opcodes by element type and platform"},
    {"doctor", DoctorCommand,
     "list the devices and libraries that work on this machine, and say why the others do not"},
    {"help", HelpCommand, "explain a COMMAND, PAGE, CODE, WORD or RULE; help --man [COMMAND] prints a manual page"},
    {"completion", CompletionCommand, "print a script that completes commands and flags in bash, zsh or fish"},
    {"version", VersionCommand, "print the version"},
};

std::string Overview() {
  std::string out = "hlo COMMAND ...: run, compile, compare and debug HLO text\n\n";
  for (const CommandRow& row : kCommands) out += Format("  %-10s %s\n", row.name, row.about);
  out +=
      "\nExamples:\n"
      "  hlo run model.hlo                     parse, optimize, compile, run, compare with the interpreter\n"
      "  hlo run --platform=cpu --bench model.hlo\n"
      "  hlo opt --passes=algsimp,dce model.hlo\n"
      "\n'hlo COMMAND --help' lists the flags of a command. `hlo-run` is `hlo run`, and so on.\n"
      "'hlo help pages' lists the pages of the manual and the guides.\n\n"
      "'hlo help' also explains one thing, or lists all of a kind:\n"
      "  hlo help guides/jax                   show a page\n"
      "  hlo help vacuous                      explain a word of a report; 'hlo help words' lists all\n"
      "  hlo help P036                         explain a diagnostic code; 'hlo help codes' lists all\n"
      "  hlo help A.add.1                      explain a rewrite rule; 'hlo help algebra' lists all\n"
      "  hlo help pipelines                    describe the language of pipelines\n"
      "  hlo help oracles                      list the judges of a run\n"
      "  hlo help advice                       list the advice of profiles\n";
  return out;
}

constexpr std::string_view kManFlag = "--man";

ManPage OverviewPage() {
  ManPage page = {
      .command = "hlo",
      .usage = "COMMAND [flags] ...",
      .about =
          "Run, compile, compare and debug HLO text. HLO is the language of XLA, JAX, TensorFlow and PyTorch/XLA. "
          "Passes optimize and fuse a module, and its kernels run on a GPU or vectorised on the host. The passes and "
          "kernels are compared with an interpreter, so that the report names the wrong part. Each command has a page "
          "of its own: hlo-run(1) and so on. The program hlo-run, if it is installed, is the same as hlo run. Results "
          "go to stdout, and messages to stderr.",
      .examples = {"hlo run model.hlo", "hlo run --platform=cpu --bench model.hlo",
                   "hlo opt --passes=algsimp,dce model.hlo", "hlo help V030"},
      .flags_title = "",
      .sections = {
          {"Commands", {}},
          {"Environment",
           {{"XLA_FLAGS", "flags of XLA; flags on the command line override them"},
            {"HLO_FLAGS", "flags for every command except check, doctor and ops; they override those of XLA_FLAGS"},
            {"HLO_HOST_ISA", "avx2, avx512 or native: the instruction set of host kernels, as with --host_isa"},
            {"HLO_CACHE_DIR", "folder that keeps the code of kernels for later processes, as with --cache_dir"},
            {"TF_CPP_MAX_VLOG_LEVEL", "level of logging, as with --v"},
            {"TF_CPP_VMODULE", "levels of logging by file, as with --vmodule"},
            {"NO_COLOR", "if set, there are no colours on terminals"}}}}};
  for (const CommandRow& row : kCommands) page.sections[0].entries.push_back({row.name, row.about});
  return page;
}

std::vector<std::string_view> CommandNames() {
  std::vector<std::string_view> names;
  for (const CommandRow& row : kCommands) names.emplace_back(row.name);
  return names;
}

const CommandRow* FindCommand(std::string_view name) {
  for (const CommandRow& row : kCommands) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

bool IsModuleFile(std::string_view name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return true;
  constexpr std::string_view kEndings[] = {".hlo", ".txt", ".pb", ".pbtxt", ".hlo.txt"};
  return std::ranges::any_of(kEndings, [&](std::string_view ending) { return name.ends_with(ending); });
}

Error UnknownCommand(std::string_view name) {
  if (IsModuleFile(name))
    return UsageError("F001", Str("'", Escaped(name), "' is the name of a file, not a command"))
        .Hint(Str("'hlo run ", ShellWord(name), "' runs a module and compares; 'hlo help' lists the commands"));
  const std::vector<std::string> near = NearNames(name, CommandNames());
  std::string message = Str("unknown command '", Escaped(name), "'");
  if (!near.empty()) message += Str("; did you mean '", Join(near, "', '"), "'?");
  return UsageError("F001", std::move(message)).Hint("'hlo help' lists the commands");
}

Result<ExitCode> PrintManPage(Args names) {
  if (names.empty()) return std::fputs(Roff(OverviewPage()).c_str(), stdout), ExitCode::kOk;
  const CommandRow* row = FindCommand(names[0]);
  if (row == nullptr) FAIL(UnknownCommand(names[0]));
  if (row->run == HelpCommand || row->run == CompletionCommand || row->run == VersionCommand)
    FAIL(UsageError("F004", Str("'", row->name, "' is on the page of hlo: hlo help --man")));
  std::vector<std::string> args(names.begin() + 1, names.end());
  args.emplace_back("--help=man");
  return row->run(args);
}

constexpr std::string_view kHtml = "--html=";

Result<ExitCode> HelpCommand(Args args) {
  if (!args.empty() && args[0] == kManFlag) return PrintManPage(args.subspan(1));
  if (const auto word = WordToComplete()) {
    std::vector<std::string_view> names = CommandNames();
    for (const std::string_view topic : HelpTopics()) names.push_back(topic);
    return PrintCompletions(names, *word), ExitCode::kOk;
  }
  if (args.size() == 1 && args[0].starts_with(kHtml)) {
    if (args[0].size() == kHtml.size()) FAIL(UsageError("F004", "--html=DIR needs a folder for the pages"));
    TRY(WriteSite(args[0].substr(kHtml.size())));
    return ExitCode::kOk;
  }
  if (args.empty() || args[0] == "--help" || args[0] == "help") {
    std::fputs(Overview().c_str(), stdout);
    return ExitCode::kOk;
  }
  const std::string_view command = args[0].starts_with("hlo-") ? std::string_view(args[0]).substr(4) : args[0];
  if (const CommandRow* row = FindCommand(command); row != nullptr && row->run != HelpCommand) {
    const std::vector<std::string> help = {"--help"};
    // `run` and `check` are commands and also words of reports.
    if (const std::string word = HelpOnWord(args[0]); !word.empty()) {
      std::printf("In a report, %s\n", word.c_str());
      std::fflush(stdout);
    }
    TRY(row->run(help));
    PointToPage(args[0]);
    return ExitCode::kOk;
  }
  return HelpOnTopic(Join(args, " "), CommandNames());
}

Result<ExitCode> VersionCommand(Args) {
  std::printf("hlo %s\n", HLO_VERSION);
  return ExitCode::kOk;
}

Result<ExitCode> CompletionCommand(Args args) {
  std::vector<std::string> programs = {"hlo", "run_hlo_module"};
  for (const CommandRow& row : kCommands) {
    programs.push_back(Str("hlo-", row.name));
  }
  return PrintCompletionScript(args, programs);
}

// In a buffer, because a signal handler may not allocate memory.
char interrupt_advice[512];
std::atomic<size_t> interrupt_advice_size = 0;

// Ctrl-C and SIGTERM end the program at once. Incomplete files have temporary names (base/files.h).
void OnInterrupt(int) {
  constexpr char kMessage[] = "\ninterrupted\n";
  [[maybe_unused]] auto written = write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  if (const size_t size = interrupt_advice_size; size > 0) written = write(STDERR_FILENO, interrupt_advice, size);
  std::_Exit(static_cast<int>(ExitCode::kInterrupted));
}

Result<ExitCode> Run(const CommandRow& command, Args args) {
  try {
    // --host_isa overrides the variable.
    if (const char* isa = std::getenv("HLO_HOST_ISA")) {
      if (const Status chosen = ChooseHostIsa(isa); !chosen)
        FAIL(UsageError("F004", Str("HLO_HOST_ISA: ", chosen.error().message())));
    }
    return command.run(args);
  } catch (const std::bad_alloc&) {
    FAIL(LimitError("R004", "the machine has not enough free memory"));
  }
}

// `hlo run` writes its own JSON, which says more.
void WriteErrorJson(const CommandRow& command, Args args, const Error& error) {
  const std::optional<std::string> json = JsonDestination(args);
  if (!json || command.run == RunCommand) return;
  // The first error is shown even if writing fails.
  std::ignore = WriteFile(json->empty() ? "-" : *json, ErrorJson(Str("hlo.", command.name, "/1"), "", error, ""));
}

CrashOptions CrashesOf(const std::string& command, Args args) {
  std::string line = Str("hlo ", command);
  for (const std::string& arg : args) line += Str(" ", ShellWord(arg));
  const bool has_passes = command == "run" || command == "opt";
  return {
      .tool = Str("hlo-", command),
      .version = HLO_VERSION,
      .command_line = std::move(line),
      .advice = has_passes ? "repeat the command with --reproducer=found, which saves the module before that pass" : "",
      .says_json = JsonDestination(args) == ""};
}

bool ReaderIsGone() {
  pollfd out = {STDOUT_FILENO, POLLOUT, 0};
  return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

}  // namespace

void SetInterruptionNote(std::string_view line) {
  interrupt_advice_size = 0;
  const size_t size = std::min(line.size(), sizeof interrupt_advice - 1);
  std::ranges::copy(line.substr(0, size), interrupt_advice);
  interrupt_advice[size] = '\n';
  interrupt_advice_size = line.empty() ? 0 : size + 1;
}

std::optional<std::string> JsonDestination(Args args) {
  std::optional<std::string> json;
  for (const std::string& arg : args) {
    if (arg == "--json") json = "";
    else if (arg.starts_with("--json=")) json = arg.substr(7);
  }
  return json;
}

namespace {

int Main(int argc, char** argv) {
  std::signal(SIGINT, OnInterrupt);
  std::signal(SIGTERM, OnInterrupt);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // Exceeding the limit of a file's size is an error of writing.
  std::vector<std::string> args(argv + 1, argv + argc);
  std::string_view program = argv[0];
  if (const size_t slash = program.rfind('/'); slash != std::string_view::npos) program.remove_prefix(slash + 1);
  std::string name;
  if (program.starts_with("hlo-")) {
    name = program.substr(4);
  } else if (program == "run_hlo_module") {  // XLA's name of the command, which scripts use.
    name = "run";
  } else if (const auto word = WordToComplete(); word && args.empty()) {
    PrintCompletions(CommandNames(), *word);
    return 0;
  } else if (args.empty()) {
    std::fputs(Overview().c_str(), stderr);
    return static_cast<int>(ExitCode::kUsage);
  } else {
    name = args.front();
    args.erase(args.begin());
  }
  if (name == "--help" || name == "-h") name = "help";
  if (name == "--version" || (!args.empty() && args.front() == "--version")) {
    name = "version";
    args.clear();
  }
  const CommandRow* command = FindCommand(name);
  ReportCrashes(CrashesOf(name, args));
  const Result<ExitCode> outcome =
      command != nullptr ? Run(*command, args) : Result<ExitCode>(std::unexpected(UnknownCommand(name)));
  const std::string tool = command != nullptr ? Str("hlo-", name) : "hlo";
  const bool written = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (!written && !ReaderIsGone()) {
    std::fprintf(stderr, "%s: error: [A011] cannot write the result to stdout\n", tool.c_str());
    return static_cast<int>(ExitCode::kDevice);
  }
  if (outcome) return static_cast<int>(*outcome);
  if (command != nullptr) WriteErrorJson(*command, args, outcome.error());
  std::fputs(Render(outcome.error(), tool).c_str(), stderr);
  return static_cast<int>(outcome.error().exit);
}

// Comparing takes some 12 KiB of stack for each nested computation. The usual 8 MiB are enough for 700 levels.
constexpr size_t kStackBytes = size_t{512} << 20;

struct Invocation {
  int argc;
  char** argv;
  int exit = 0;
};

void* RunInvocation(void* given) {
  auto* invocation = static_cast<Invocation*>(given);
  invocation->exit = Main(invocation->argc, invocation->argv);
  return nullptr;
}

int MainOnLargeStack(int argc, char** argv) {
  Invocation invocation = {argc, argv};
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  const bool runs = pthread_attr_setstacksize(&attributes, kStackBytes) == 0 &&
                    pthread_create(&thread, &attributes, RunInvocation, &invocation) == 0;
  pthread_attr_destroy(&attributes);
  if (!runs) return Main(argc, argv);  // Without memory for the large stack, the first one is enough for most modules.
  pthread_join(thread, nullptr);
  return invocation.exit;
}

}  // namespace
}  // namespace hlo

int main(int argc, char** argv) { return hlo::MainOnLargeStack(argc, argv); }
