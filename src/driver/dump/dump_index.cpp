#include "driver/dump/dump_index.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBesideText[] = {".diff", ".dot", ".html", ".hlo.pb"};

// "0017.simplification.after_algsimp.before_cse.txt".
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
  if (suffix.starts_with(kRecordedGraph)) return kRecordedGraph;
  for (const std::string_view stage : std::initializer_list<std::string_view>{
           "before_optimizations.txt", "after_optimizations.txt", "buffer-assignment.txt", "thunk_sequence.txt",
           "left_out.txt", "passes.json", "kernels.json", "hlo_snapshot.pb", "ir-no-opt.ll", "ir-with-opt.ll",
           "host.ll", "ptx"}) {
    if (suffix.ends_with(stage)) return stage.substr(0, stage.find('.'));
  }
  return "other";
}

// Files are named module_NUMBER.MODULE.SUFFIX. MODULE may have dots, so the name of the first state's file gives it.
Result<std::vector<DumpFile>> FilesOf(const std::string& directory) {
  std::vector<DumpFile> files;
  std::map<int64_t, std::string> module_by_number;
  for (const std::string& name : TRY(NamesIn(directory))) {
    DumpFile file{.name = name, .number = ModuleNumber(name)};
    const size_t dot = file.name.find('.');
    if (file.number < 0 || dot == std::string::npos) continue;
    std::error_code error;
    file.bytes = static_cast<int64_t>(fs::file_size(directory + "/" + name, error));
    if (error) continue;  // Not a file, or removed meanwhile.
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
    file.suffix = file.name.substr(dot + 2 + file.module.size());
    std::string state = file.suffix;
    for (const std::string_view extension : kBesideText) {
      if (!state.ends_with(extension)) continue;
      state.replace(state.size() - extension.size(), extension.size(), kText);
      file.is_beside = true;
    }
    file.stage = StageOf(state);
    ReadPassState(state, &file);
  }
  return files;
}

// The parent is the previous state, or for other files the last state.
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

Result<std::vector<std::string>> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename().string());
  if (error) FAIL(DeviceError("A012", Str("cannot list directory '", Escaped(directory), "': ", error.message())));
  return names;
}

int64_t ModuleNumber(std::string_view name) {
  constexpr std::string_view kPrefix = "module_";
  constexpr int64_t kMost = int64_t{1} << 53;  // Larger numbers are inexact in JSON.
  int64_t number = 0;
  if (!name.starts_with(kPrefix)) return -1;
  name.remove_prefix(kPrefix.size());
  return ParseInt(name.substr(0, name.find('.')), &number) && number < kMost ? number : -1;
}

Result<std::vector<DumpFile>> DumpFilesOf(const std::string& directory) {
  std::vector<DumpFile> files = TRY(FilesOf(directory));
  SetParents(files);
  return files;
}

std::string DumpIndexJson(std::span<const DumpFile> files) {
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
  return json.Close(']').Close('}').text() + "\n";
}

}  // namespace hlo
