#include "driver/dump/dump.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "driver/dump/dump_index.h"
#include "driver/inspect/graph.h"
#include "driver/line_diff.h"
#include "parser/write_proto.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kStdout = "-";

// Needs no lock file. On file systems without locks, names are still created exclusively.
class DirectoryLock {
 public:
  explicit DirectoryLock(const std::string& directory)
      : file_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~DirectoryLock() {
    if (file_ >= 0) close(file_);
  }
  DirectoryLock(const DirectoryLock&) = delete;
  DirectoryLock& operator=(const DirectoryLock&) = delete;

 private:
  int file_;
};

// Reserves the first free number with an empty file.
Result<std::string> TakePrefix(const std::string& directory, const std::string& module) {
  const DirectoryLock lock(directory);
  int64_t number = 0;
  for (const std::string& name : TRY(NamesIn(directory))) number = std::max(number, ModuleNumber(name) + 1);
  for (;; ++number) {
    std::string prefix = Str("module_", Format("%04lld", static_cast<long long>(number)), ".", module);
    const std::string path = Str(directory, "/", prefix, ".", kFirstState, kText);
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0) {
      close(file);
      return prefix;
    }
    if (errno != EEXIST) FAIL(CannotWrite(path));
  }
}

}  // namespace

std::string FileNamePart(std::string_view name) {
  std::string out(name.substr(0, 100));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.'; }, '_');
  return out.empty() || out.front() == '.' ? "_" + out : out;
}

Result<Dumper> Dumper::Make(const DumpOptions& options, const Module& module) {
  Dumper dumper;
  std::optional<Pattern> modules;
  if (!options.pass_pattern.empty())
    dumper.passes_ = TRY(Pattern::Compile(options.pass_pattern, "xla_dump_hlo_pass_re"));
  if (!options.emitter_pattern.empty())
    dumper.emitters_ = TRY(Pattern::Compile(options.emitter_pattern, "xla_dump_emitter_re"));
  if (!options.module_pattern.empty())
    modules = TRY(Pattern::Compile(options.module_pattern, "xla_dump_hlo_module_re"));
  if (options.directory.empty()) return dumper;
  if (modules && !modules->FoundIn(module.name())) {
    dumper.notes_.push_back(MetNothing("xla_dump_hlo_module_re", options.module_pattern,
                                       Str("the module is '", module.name(), "', so it is not dumped")));
    return dumper;
  }
  dumper.to_stdout_ = options.directory == kStdout;
  if (!dumper.to_stdout_) TRY(MakeDirectories(options.directory));
  if (!options.large_constants) dumper.print_.constants = Constants::kSmall;
  dumper.print_.metadata = !options.disable_metadata;
  dumper.directory_ = options.directory;
  const std::string name = FileNamePart(module.name());
  dumper.prefix_ = dumper.to_stdout_ ? Str("module_0000.", name) : TRY(TakePrefix(options.directory, name));
  dumper.pass_pattern_ = options.pass_pattern;
  dumper.diff_ = options.diff;
  dumper.as_proto_ = options.as_proto;
  dumper.as_dot_ = options.as_dot;
  dumper.as_html_ = options.as_html;
  dumper.snapshots_ = options.snapshots;
  dumper.limit_mib_ = options.limit_mib;
  if (dumper.to_stdout_) {
    if (dumper.as_proto_ || dumper.as_html_ || dumper.snapshots_)
      dumper.notes_.emplace_back("--xla_dump_to=- writes only texts and .dot to stdout; other formats are left out");
    dumper.as_proto_ = dumper.as_html_ = dumper.snapshots_ = false;
    if (!dumper.emitters_) return dumper;
  }
  if (std::ranges::none_of(kEmitters, [&](std::string_view emitter) { return dumper.WantsEmitter(emitter); })) {
    dumper.notes_.push_back(MetNothing("xla_dump_emitter_re", options.emitter_pattern,
                                       Str("the expression matches none of ", Join(kEmitters, ", "))));
  }
  return dumper;
}

std::vector<std::string> Dumper::TakeNotes() {
  std::vector<std::string> notes = std::exchange(notes_, {});
  if (any_pass_ && !met_pass_)
    notes.push_back(MetNothing("xla_dump_hlo_pass_re", pass_pattern_, "no pass that ran has such a name"));
  any_pass_ = false;
  const std::lock_guard lock(end_->mutex);
  if (const std::string message = std::exchange(end_->message, ""); !message.empty()) {
    notes.push_back(
        Str("the dump is incomplete: ", message, "; the existing files are complete, and the run continues"));
  }
  return notes;
}

bool Dumper::active() const { return !prefix_.empty() && !end_->is_there; }

Status Dumper::Before(const Module& module) {
  first_count_ = module.InstructionCount();
  TRY(WriteState(kFirstState, StateFiles(module)));
  // Removes the file that reserved the prefix, if it is empty.
  const std::string first = Str(directory_, "/", FileName(kFirstState), kText);
  std::error_code error;
  if (!prefix_.empty() && !to_stdout_ && !active() && fs::is_empty(first, error)) fs::remove(first, error);
  return {};
}

void Dumper::BeforePass(const PassRun& run, const Module& module) {
  if (!active() || !passes_ || diff_ != DumpDiff::kInstructions || lines_ || !passes_->FoundIn(run.pass->name)) return;
  lines_ = LinesOf(module);
}

Status Dumper::AfterPass(const PassRun& run, const Module& module) {
  if (!active() || !passes_) return {};
  const std::string_view pass = run.pass->name;
  TRY(Flush(pass));
  const bool met = passes_->FoundIn(pass);
  any_pass_ = true;
  met_pass_ |= met;
  if (!run.changed) return {};
  const auto before = std::exchange(lines_, std::nullopt);
  if (!met) return {};
  pending_ = Pending{run.number, FileNamePart(run.pipeline), FileNamePart(pass), StateFiles(module)};
  if (!before) return {};
  lines_ = LinesOf(module);
  pending_->files.emplace_back(".diff", ChangeText(run, *before, *lines_, /*color=*/false));
  return {};
}

Status Dumper::After(std::string_view platform, const Module& module) {
  TRY(Flush("end"));
  TRY(WriteState(Str(platform, "_after_optimizations"), StateFiles(module)));
  return WriteIndex();
}

Status Dumper::Flush(std::string_view next_pass) {
  if (!pending_) return {};
  Pending state = std::move(*pending_);
  pending_.reset();
  return WriteState(Str(Format("%04d", state.number), ".", state.pipeline, ".after_", state.pass, ".before_",
                        FileNamePart(next_pass)),
                    std::move(state.files));
}

Status Dumper::WriteState(std::string_view suffix, Files files) {
  if (active() && diff_ == DumpDiff::kUnified && !files.empty()) {
    std::string name = Str(FileName(suffix), kText), text = files.front().second;
    std::string diff = last_name_.empty() ? "" : UnifiedDiff(last_name_, last_text_, name, text);
    if (!diff.empty()) files.emplace_back(".diff", std::move(diff));
    last_name_ = std::move(name);
    last_text_ = std::move(text);
  }
  return Write(suffix, files);
}

Dumper::Files Dumper::StateFiles(const Module& module) {
  if (!active()) return {};
  Files files = {{kText, Print(module, print_)}};
  if (as_proto_) {
    auto proto = WriteProto(module);
    if (proto) files.emplace_back(".hlo.pb", std::move(*proto));
    else NoteMissing("xla_dump_hlo_as_proto", proto.error());
  }
  if (!as_dot_ && !as_html_) return files;
  const std::string title = Str(module.name(), ": ", module.entry().name());
  if (as_dot_) files.emplace_back(".dot", GraphDot(GraphOf(module.entry(), {}), title));
  if (!as_html_) return files;
  auto html = GraphHtml(module.entry(), {}, title);
  if (html) files.emplace_back(".html", std::move(*html));
  else NoteMissing("xla_dump_hlo_as_html", html.error());
  return files;
}

void Dumper::NoteMissing(std::string_view flag, const Error& error) {
  if (missing_.insert(std::string(flag)).second)
    notes_.push_back(Str("--", flag, ": ", error.message(), "; the text was written"));
}

Status Dumper::Write(std::string_view suffix, const Files& files) {
  for (const auto& [extension, bytes] : files) TRY(Write(Str(suffix, extension), bytes));
  return {};
}

Status Dumper::Write(std::string_view suffix, std::string_view bytes) {
  if (active()) AddFile(FileName(suffix), bytes);
  return {};
}

void Dumper::AddFile(std::string_view name, std::string_view bytes) const {
  const int64_t limit = limit_mib_ << 20, size = std::ssize(bytes);
  bool fits = false;
  {
    const std::lock_guard lock(end_->mutex);
    if (end_->is_there) return;
    const int64_t left = limit - end_->bytes;
    fits = size <= left;
    if (!fits) {
      end_->is_there = end_->by_limit = true;
      end_->message = Str("--dump_limit_mib=", limit_mib_, ": '", name, "' has ", HumanBytes(static_cast<double>(size)),
                          ", but only ", HumanBytes(static_cast<double>(left)),
                          " are left; this file and all later files are left out");
    } else {
      end_->bytes += size;
    }
  }
  if (!fits) AddFileInAnyCase(FileName("left_out.txt"), Str("The dump ends here: ", end_->message, ".\n"));
  else AddFileInAnyCase(name, bytes);
}

void Dumper::AddFileInAnyCase(std::string_view name, std::string_view bytes) const {
  if (to_stdout_) {
    // XLA writes no files of these kinds.
    if (name.ends_with(".json") || name.ends_with(".html") || name.ends_with(".diff")) return;
    const std::string text = Str("*** Begin ", name, " ***\n", bytes, "\n*** End ", name, " ***\n");
    const std::lock_guard lock(end_->mutex);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    return;
  }
  const auto written = WriteFile(Str(directory_, "/", name), bytes);
  if (written) return;
  const std::lock_guard lock(end_->mutex);
  if (!end_->is_there.exchange(true)) end_->message = written.error().message();
}

std::string Dumper::FileName(std::string_view suffix) const { return Str(prefix_, ".", suffix); }

bool Dumper::WantsEmitter(std::string_view emitter) const {
  return active() && (emitters_ ? emitters_->FoundIn(emitter) : !to_stdout_);
}

Status Dumper::Snapshot(const Module& module, std::span<const Literal> arguments, const Literal& result) {
  if (!active() || !snapshots_) return {};
  const auto proto = WriteSnapshot(module, arguments, result);
  if (proto) AddFile(FileName("execution_0000.hlo_snapshot.pb"), *proto);
  else notes_.push_back(Str("--xla_dump_hlo_snapshots: ", proto.error().message()));
  return WriteIndex();
}

Status Dumper::Passes(const PipelineReport& report) {
  if (prefix_.empty()) return {};
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.passes/1").Key("instructions").Value(first_count_);
  json.Key("passes").Open('[');
  for (const PassRun& run : report.runs) {
    json.Open('{').Key("number").Value(run.number).Key("pass").Value(run.pass->name);
    json.Key("instance").Value(run.instance).Key("pipeline").Value(run.pipeline).Key("skipped").Value(run.skipped);
    json.Key("changed").Value(run.changed).Key("instructions").Value(run.instructions);
    json.Key("ms").Value(run.milliseconds).Key("after_ms").Value(run.after_milliseconds);
    json.Key("processor_ms").Value(run.processor_milliseconds);
    json.Key("after_processor_ms").Value(run.after_processor_milliseconds).Close('}');
  }
  json.Close(']').Key("rules").Open('[');
  for (const auto& [rule, rewrites] : report.rewrites)
    json.Open('{').Key("rule").Value(rule).Key("rewrites").Value(rewrites).Close('}');
  json.Close(']').Close('}');
  if (active() || end_->by_limit) AddFileInAnyCase(FileName("passes.json"), json.text() + "\n");
  return WriteIndex();
}

Status Dumper::WriteIndex() const {
  if (prefix_.empty() || to_stdout_) return {};
  const DirectoryLock lock(directory_);
  const std::vector<DumpFile> files = TRY(DumpFilesOf(directory_));
  // The index lists the files of the dump, so it is written even beyond --dump_limit_mib.
  AddFileInAnyCase("index.json", DumpIndexJson(files));
  AddFileInAnyCase("index.html", DumpIndexHtml(directory_, files));
  return {};
}

}  // namespace hlo
