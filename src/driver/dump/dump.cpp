#include "driver/dump/dump.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "driver/inspect/graph.h"
#include "parser/write_proto.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

// Several processes may dump into one directory: while this lives, no other chooses a number there or writes the index.
// The lock is on the directory and leaves no file. A file system without locks gives none; names are taken exclusively
// there too.
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

// Names of what lies in a directory, in no order.
Result<std::vector<std::string>> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error) FAIL(DeviceError("A012", Str("cannot list directory '", Escaped(directory), "': ", error.message())));
  return names;
}

// N of module_N.*, or -1.
int64_t ModuleNumber(std::string_view name) {
  constexpr std::string_view kPrefix = "module_";
  constexpr int64_t kMost = int64_t{1} << 53;  // Larger ones are not exact in JSON.
  int64_t number = 0;
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  return ParseInt(name.substr(0, name.find('.')), &number) && number < kMost ? number : -1;
}

constexpr std::string_view kText = ".txt", kFirstState = "before_optimizations";

// module_N.NAME, with N above those that are there. It is nobody else's: the file of its first state is there, empty.
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
    if (errno != EEXIST) FAIL(DeviceError("A011", Str("cannot write '", Escaped(path), "': ", std::strerror(errno))));
  }
}

// What a file of a dump is, from its name.
struct DumpFile {
  std::string name, module, stage;
  std::string pipeline, pass;  // Of a state after a pass.
  int64_t number = 0;          // Of the module.
  int64_t instance = -1;       // Of the pass: all instances of a run are numbered.
  int64_t bytes = 0;
  std::string parent;      // What it was made from.
  bool is_beside = false;  // A picture of a state, or its proto: beside its text.
};

// What a state of the module is written as, beside its text.
constexpr std::string_view kBesideText[] = {".dot", ".html", ".hlo.pb"};

// "0017.simplification.after_algsimp.before_cse.txt"
void ReadPassState(std::string_view suffix, DumpFile* file) {
  constexpr std::string_view kAfter = ".after_", kBefore = ".before_";
  const size_t dot = suffix.find('.'), before = suffix.rfind(kBefore);
  if (before == suffix.npos || !suffix.ends_with(kText)) return;
  const size_t after = suffix.substr(0, before).rfind(kAfter);
  int64_t instance = 0;
  if (after == suffix.npos || after <= dot || !ParseInt(suffix.substr(0, dot), &instance)) return;
  file->stage = "after_pass";
  file->instance = instance;
  file->pipeline = suffix.substr(dot + 1, after - dot - 1);
  file->pass = suffix.substr(after + kAfter.size(), before - after - kAfter.size());
}

std::string_view StageOf(std::string_view suffix) {
  for (const std::string_view stage : std::initializer_list<std::string_view>{
           "before_optimizations.txt", "after_optimizations.txt", "buffer-assignment.txt", "thunk_sequence.txt",
           "passes.json", "kernels.json", "ir-no-opt.ll", "ir-with-opt.ll", "host.ll", "ptx"}) {
    if (suffix.ends_with(stage)) return stage.substr(0, stage.find('.'));
  }
  return "other";
}

// module_NUMBER.MODULE.SUFFIX: the module's name may have dots, so it is taken from the file that each module has.
Result<std::vector<DumpFile>> FilesOf(const std::string& directory) {
  std::vector<DumpFile> files;
  std::map<int64_t, std::string> module_by_number;
  for (const std::string& name : TRY(NamesIn(directory))) {
    DumpFile file{.name = name, .number = ModuleNumber(name)};
    const size_t dot = file.name.find('.');
    if (file.number < 0 || dot == std::string::npos) continue;
    std::error_code error;
    file.bytes = static_cast<int64_t>(fs::file_size(directory + "/" + name, error));
    if (error) continue;  // No file, or one that somebody has removed.
    const std::string first = Str(".", kFirstState, kText);
    if (file.name.ends_with(first))
      module_by_number[file.number] = file.name.substr(dot + 1, file.name.size() - first.size() - dot - 1);
    files.push_back(std::move(file));
  }
  std::sort(files.begin(), files.end(), [](const DumpFile& a, const DumpFile& b) { return a.name < b.name; });
  for (DumpFile& file : files) {
    const size_t dot = file.name.find('.');
    const auto known = module_by_number.find(file.number);
    file.module = known != module_by_number.end() ? known->second
                                                  : file.name.substr(dot + 1, file.name.find('.', dot + 1) - dot - 1);
    if (file.name.size() <= dot + 2 + file.module.size()) continue;
    std::string suffix = file.name.substr(dot + 2 + file.module.size());
    for (const std::string_view extension : kBesideText) {
      if (!suffix.ends_with(extension)) continue;
      suffix.replace(suffix.size() - extension.size(), extension.size(), kText);
      file.is_beside = true;
    }
    file.stage = StageOf(suffix);
    ReadPassState(suffix, &file);
  }
  return files;
}

// The state before each state, and for what was made from the last state, that one.
void SetParents(std::vector<DumpFile>& files) {
  const auto rank = [](const DumpFile& file) {
    return file.stage == "before_optimizations"  ? 0
           : file.stage == "after_pass"          ? 1
           : file.stage == "after_optimizations" ? 2
                                                 : 3;
  };
  std::stable_sort(files.begin(), files.end(), [&](const DumpFile& a, const DumpFile& b) {
    return std::tuple(a.number, rank(a), a.instance, a.is_beside) <
           std::tuple(b.number, rank(b), b.instance, b.is_beside);
  });
  const DumpFile* state = nullptr;
  for (DumpFile& file : files) {
    if (state != nullptr && state->number != file.number) state = nullptr;
    if (state != nullptr) file.parent = state->name;
    if (rank(file) < 3 && !file.is_beside) state = &file;
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
                                       Str("the module is '", module.name(), "', and is not dumped")));
    return dumper;
  }
  TRY(MakeDirectories(options.directory));
  if (!options.large_constants) dumper.print_.constants = Constants::kSmall;
  dumper.print_.metadata = !options.disable_metadata;
  dumper.directory_ = options.directory;
  dumper.prefix_ = TRY(TakePrefix(options.directory, FileNamePart(module.name())));
  dumper.pass_pattern_ = options.pass_pattern;
  dumper.as_proto_ = options.as_proto;
  dumper.as_dot_ = options.as_dot;
  dumper.as_html_ = options.as_html;
  if (std::ranges::none_of(kEmitters, [&](std::string_view emitter) { return dumper.WantsEmitter(emitter); })) {
    dumper.notes_.push_back(
        MetNothing("xla_dump_emitter_re", options.emitter_pattern, Str("none of ", Join(kEmitters, ", "))));
  }
  return dumper;
}

std::vector<std::string> Dumper::TakeNotes() {
  std::vector<std::string> notes = std::exchange(notes_, {});
  if (any_pass_ && !met_pass_)
    notes.push_back(MetNothing("xla_dump_hlo_pass_re", pass_pattern_, "no pass that ran has such a name"));
  any_pass_ = false;
  const std::lock_guard lock(failure_->mutex);
  if (const std::string message = std::exchange(failure_->message, ""); !message.empty()) {
    notes.push_back(Str("the dump ends there: ", message, "; the files that are there are whole, and the run goes on"));
  }
  return notes;
}

bool Dumper::active() const { return !prefix_.empty() && !failure_->is_there; }

Status Dumper::Before(const Module& module) {
  TRY(Write(kFirstState, StateFiles(module)));
  // The name was taken with an empty file, which says nothing where the state did not fit.
  const std::string first = Str(directory_, "/", FileName(kFirstState), kText);
  std::error_code error;
  if (!prefix_.empty() && !active() && fs::is_empty(first, error)) fs::remove(first, error);
  return {};
}

Status Dumper::AfterPass(int number, std::string_view pipeline, std::string_view pass, bool changed,
                         const Module& module) {
  if (!active() || !passes_) return {};
  TRY(Flush(pass));
  const bool met = passes_->FoundIn(pass);
  any_pass_ = true;
  met_pass_ |= met;
  if (changed && met) {
    pending_ = Pending{number, FileNamePart(pipeline), FileNamePart(pass), StateFiles(module)};
  }
  return {};
}

Status Dumper::After(std::string_view platform, const Module& module) {
  TRY(Flush("end"));
  TRY(Write(Str(platform, "_after_optimizations"), StateFiles(module)));
  return WriteIndex();
}

Status Dumper::Flush(std::string_view next_pass) {
  if (!pending_) return {};
  const Pending state = std::move(*pending_);
  pending_.reset();
  return Write(Str(Format("%04d", state.number), ".", state.pipeline, ".after_", state.pass, ".before_",
                   FileNamePart(next_pass)),
               state.files);
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
  const Graph graph = GraphOf(module.entry(), {});
  const std::string title = Str(module.name(), ": ", module.entry().name());
  if (as_dot_) files.emplace_back(".dot", GraphDot(graph, title));
  if (!as_html_) return files;
  auto html = GraphHtml(graph, title);
  if (html) files.emplace_back(".html", std::move(*html));
  else NoteMissing("xla_dump_hlo_as_html", html.error());
  return files;
}

// The first state that could not be written so stands for the others.
void Dumper::NoteMissing(std::string_view flag, const Error& error) {
  if (missing_.insert(std::string(flag)).second)
    notes_.push_back(Str("--", flag, ": ", error.message(), "; the text is there"));
}

Status Dumper::Write(std::string_view suffix, const Files& files) {
  for (const auto& [extension, bytes] : files) TRY(Write(Str(suffix, extension), bytes));
  return {};
}

Status Dumper::Write(std::string_view suffix, std::string_view bytes) {
  if (active()) Put(FileName(suffix), bytes);
  return {};
}

void Dumper::Put(std::string_view name, std::string_view bytes) const {
  const auto written = WriteFile(Str(directory_, "/", name), bytes);
  if (written) return;
  const std::lock_guard lock(failure_->mutex);
  if (!failure_->is_there.exchange(true)) failure_->message = written.error().message();
}

std::string Dumper::FileName(std::string_view suffix) const { return Str(prefix_, ".", suffix); }

bool Dumper::WantsEmitter(std::string_view emitter) const {
  return active() && (!emitters_ || emitters_->FoundIn(emitter));
}

Status Dumper::Passes(const PipelineReport& report) {
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.passes/1").Key("passes").Open('[');
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
  return Write("passes.json", json.text() + "\n");
}

Status Dumper::WriteIndex() const {
  if (prefix_.empty()) return {};
  const DirectoryLock lock(directory_);
  std::vector<DumpFile> files = TRY(FilesOf(directory_));
  SetParents(files);
  JsonWriter json;
  json.Open('{').Key("schema").Value("hlo.dump/1").Key("files").Open('[');
  for (const DumpFile& file : files) {
    json.Open('{').Key("file").Value(file.name).Key("number").Value(file.number).Key("module").Value(file.module);
    json.Key("stage").Value(file.stage);
    if (file.instance >= 0)
      json.Key("pipeline").Value(file.pipeline).Key("pass").Value(file.pass).Key("pass_number").Value(file.instance);
    json.Key("bytes").Value(file.bytes);
    if (!file.parent.empty()) json.Key("parent").Value(file.parent);
    json.Close('}');
  }
  json.Close(']').Close('}');
  Put("index.json", json.text() + "\n");  // In a folder that is full it may fit or not.
  return {};
}

}  // namespace hlo
