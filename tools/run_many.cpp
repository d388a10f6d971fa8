#include "tools/run_many.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>

#include "base/crash.h"
#include "base/files.h"
#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "driver/run/error_report.h"
#include "driver/run/report_page.h"

namespace hlo {
namespace {

struct Row {
  std::string verdict, error = "-", run = "-", detail, json;
  ExitCode exit = ExitCode::kOk;
};

std::string WorstError(const RunReport& report) {
  if (!report.outputs) return "-";
  double worst = 0;
  for (const TensorComparison& output : report.outputs->outputs) worst = std::max(worst, output.norm_rel);
  return worst == 0 ? "0" : Format("%.1e", worst);
}

std::string FirstLineOf(const std::string& text) { return text.substr(0, text.find('\n')); }

// Moves a long reason from the verdict to the details, so that columns stay aligned.
Row RowOf(const RunReport& report) {
  Row row;
  const size_t reason = report.verdict.find('(');
  row.verdict = report.verdict.substr(0, reason);
  if (reason != std::string::npos)
    row.detail = report.verdict.substr(reason + 1, report.verdict.size() - reason - 2) + "; ";
  row.detail += report.culprit.kind == Culprit::Kind::kNone ? report.detail : FirstLineOf(report.culprit.text);
  row.error = WorstError(report);
  if (report.times.runs > 0) row.run = HumanMilliseconds(report.times.run);
  row.json = ReportJson(report);
  row.exit = report.exit;
  return row;
}

Row FailedRow(const std::string& path, std::string verdict, std::string detail, ExitCode exit) {
  Row row{.verdict = std::move(verdict), .detail = std::move(detail), .exit = exit};
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.run/1").Key("path").Value(path).Key("verdict").Value(row.verdict);
  json.Key("exit").Value(static_cast<int>(exit)).Key("detail").Value(row.detail).Close('}');
  row.json = json.text();
  return row;
}

Row RowOf(const std::string& path, const Error& error, const RunOptions& options) {
  const std::string verdict = VerdictOf(error);
  const bool is_word = error.exit == ExitCode::kUnsupported || error.exit == ExitCode::kLimit;
  return {.verdict = is_word ? verdict.substr(0, verdict.find('(')) : verdict,
          .detail = DetailOf(error),
          .json = ErrorJson("hlo.run/1", path, error, NextOf(error, options, path)),
          .exit = error.exit};
}

// The parts are separated by NUL, which reports and diagnostics escape.
std::string Packed(const Row& row) {
  return Join(std::array{row.verdict, row.error, row.run, row.detail, row.json}, std::string(1, '\0'));
}

// Uses a child process, so that a crash becomes a row of the table.
Row RunInChild(const std::string& path, const RunFlags& f, const std::string& title) {
  int ends[2];
  if (pipe(ends) != 0) return FailedRow(path, "FAILED(pipe)", std::strerror(errno), ExitCode::kDevice);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // A child must not outlive its parent.
    close(ends[0]);
    LeaveCrashesToParent(ends[1]);
    Progress progress(f.quiet, title);
    const auto report = RunModuleWithPage(path, f.run, f.html, progress);
    progress.Clear();
    const Row row = report ? RowOf(*report) : RowOf(path, report.error(), f.run);
    const std::string bytes = Packed(row);
    FILE* const out = fdopen(ends[1], "w");
    std::fwrite(bytes.data(), 1, bytes.size(), out);
    std::fflush(out);
    std::_Exit(static_cast<int>(row.exit));
  }
  close(ends[1]);
  std::string bytes;
  char chunk[4096];
  for (ssize_t count; (count = read(ends[0], chunk, sizeof chunk)) > 0;) bytes.append(chunk, count);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  const std::vector<std::string_view> parts = Split(bytes, '\0');
  if (child < 0 || WIFSIGNALED(status) || parts.size() != 5) {
    const bool says_where = parts.size() == 1 && !bytes.empty();
    return FailedRow(path, "FAILED(crash)",
                     says_where            ? bytes
                     : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                                           : "the process that ran the module ended without a report",
                     ExitCode::kInternal);
  }
  return {std::string(parts[0]), std::string(parts[1]), std::string(parts[2]),
          std::string(parts[3]), std::string(parts[4]), static_cast<ExitCode>(WEXITSTATUS(status))};
}

// The file's name, or for a dump directory, the name of module and execution.
std::string TitleOf(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const auto state = DumpedStateOf(name);
  return state ? state->title : name;
}

using F = const RunFlags&;
constexpr FlagRule kOfSeveralRuns[] = {
    {[](F f) { return !f.run.args.empty(); },
     "--iterations and lists of --input_profile generate arguments, but --args gives them"},
    {[](F f) { return !f.run.save_args.empty() || !f.run.save_outputs.empty(); },
     "--save_args and --save_outputs keep one run, but there are several"},
};
constexpr FlagRule kOfSeveralJobs[] = {
    {[](F f) { return !f.run.bundle.directory.empty(); }, "--bundle keeps one run, but there are several"},
    {[](F f) { return !f.run.profile.trace.empty() || !f.run.profile.json.empty(); },
     "--trace and --profile_json keep one run, but there are several"},
    {[](F f) { return !f.html.empty(); }, "--html is the page of one run, but there are several"},
};

}  // namespace

Result<std::vector<Job>> JobsOf(const std::vector<std::string>& paths, const RunFlags& f) {
  const auto folder_of = [](const std::string& path) { return std::filesystem::path(path).parent_path(); };
  const bool is_one_folder =
      std::ranges::all_of(paths, [&](const std::string& path) { return folder_of(path) == folder_of(paths[0]); });
  std::vector<Job> jobs;
  for (const std::string& path : paths) {
    for (const InputProfile profile : f.input_profiles) {
      for (int64_t i = 0; i < f.iterations; ++i) {
        std::vector<std::string> what;
        if (f.input_profiles.size() > 1) what.emplace_back(ToString(profile));
        const auto seed = static_cast<int64_t>(static_cast<uint64_t>(f.run.seed) + static_cast<uint64_t>(i));
        if (f.iterations > 1) what.push_back(Str("seed ", seed));
        const std::string title = is_one_folder ? TitleOf(path) : path;
        jobs.push_back({path, what.empty() ? title : Str(title, " (", Join(what, ", "), ")"), profile, seed});
      }
    }
  }
  if (jobs.size() > paths.size()) TRY(CheckRules(kOfSeveralRuns, f));
  if (jobs.size() > 1) TRY(CheckRules(kOfSeveralJobs, f));
  return jobs;
}

Result<ExitCode> RunMany(const std::vector<Job>& jobs, const RunFlags& f) {
  const bool table = !f.silent && (!f.json || !f.json->empty());
  constexpr size_t kColumns = 100, kOthers = 42, kMostOfName = 32;  // Widths of a row, its other fields, and a name.
  size_t width = 6;
  for (const Job& job : jobs) width = std::max(width, job.title.size());
  width = std::min(width, kMostOfName);
  std::string in_full;  // Details that are too long for a row.
  const auto print = [&](const std::string& number, const std::string& title, const Row& row) {
    if (!table) return;
    const size_t left = kColumns - kOthers - width;
    const bool fits = row.detail.size() <= left;
    std::printf("%3s  %-*s  %-14s %8s %9s  %s\n", number.c_str(), static_cast<int>(width), CutTo(title, width).c_str(),
                row.verdict.c_str(), row.error.c_str(), row.run.c_str(),
                fits ? row.detail.c_str() : Str(row.detail.substr(0, left - 3), "...").c_str());
    std::fflush(stdout);
    if (!fits && row.exit != ExitCode::kOk) in_full += Format("%3s  ", number.c_str()) + row.detail + "\n";
  };
  print("#", "module", {.verdict = "verdict", .error = "error", .run = "run", .detail = "detail"});
  ExitCode worst = ExitCode::kOk;
  std::map<std::string, int> counts;
  JsonWriter json;
  json.Open('[');
  for (size_t i = 0; i < jobs.size(); ++i) {
    RunFlags one = f;
    one.run.input_profile = jobs[i].profile;
    one.run.seed = jobs[i].seed;
    const Row row = RunInChild(jobs[i].path, one, Str("[", i + 1, " of ", jobs.size(), "] ", jobs[i].title, ": "));
    print(Str(i + 1), jobs[i].title, row);
    json.Raw(Trim(row.json));
    worst = WorseOf(worst, row.exit);
    std::string word = row.verdict.substr(0, row.verdict.find('('));
    std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) { return std::tolower(c); });
    ++counts[word];
  }
  json.Close(']');
  if (f.json) TRY(WriteFile(f.json->empty() ? "-" : *f.json, json.text() + "\n"));
  const bool runs = jobs.size() > 1 && jobs[0].path == jobs[1].path;
  std::string summary;
  for (const auto& [word, count] : counts) summary += Str(summary.empty() ? "" : ", ", count, " ", word);
  if (table)
    std::printf("%s%zu %s: %s   exit %d\n", in_full.c_str(), jobs.size(), runs ? "runs" : "modules", summary.c_str(),
                static_cast<int>(worst));
  return worst;
}

}  // namespace hlo
