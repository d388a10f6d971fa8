#include "driver/dump.h"

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "ir/printer.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

Result<std::regex> CompileRegex(const std::string& pattern, std::string_view flag) {
  try {
    return std::regex(pattern, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    FAIL(UsageError("F007", Str("--", flag, ": '", Escaped(pattern), "' is no regular expression: ", error.what())));
  }
}

// Names from strangers become part of a path: keep it one component, of sane length.
std::string Sanitized(std::string_view name) {
  std::string out(name.substr(0, 100));
  std::replace_if(
      out.begin(), out.end(),
      [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != '.'; }, '_');
  return out.empty() || out.front() == '.' ? "_" + out : out;
}

// One more than the highest N of the files module_N.* that are there.
int NextModuleNumber(const std::string& directory) {
  int next = 0;
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    int64_t number = 0;
    if (name.starts_with("module_") && ParseInt(std::string_view(name).substr(7, name.find('.') - 7), &number)) {
      next = std::max(next, static_cast<int>(number) + 1);
    }
  }
  return next;
}

}  // namespace

Result<Dumper> Dumper::Make(const DumpOptions& options, const Module& module) {
  Dumper dumper;
  std::optional<std::regex> modules;
  if (!options.pass_pattern.empty()) dumper.passes_ = TRY(CompileRegex(options.pass_pattern, "xla_dump_hlo_pass_re"));
  if (!options.module_pattern.empty()) modules = TRY(CompileRegex(options.module_pattern, "xla_dump_hlo_module_re"));
  if (options.directory.empty() || (modules && !std::regex_search(module.name(), *modules))) return dumper;
  TRY(MakeDirectories(options.directory));
  dumper.prefix_ = Str(options.directory, "/module_", Format("%04d", NextModuleNumber(options.directory)), ".",
                       Sanitized(module.name()));
  return dumper;
}

Status Dumper::AfterPass(int number, std::string_view pipeline, std::string_view pass, bool changed,
                         const Module& module) {
  if (!active() || !passes_) return {};
  TRY(Flush(pass));
  if (changed && std::regex_search(std::string(pass), *passes_)) {
    pending_ = Pending{number, Sanitized(pipeline), Sanitized(pass), Print(module)};
  }
  return {};
}

Status Dumper::After(std::string_view platform, const Module& module) {
  TRY(Flush("end"));
  return Write(Str(platform, "_after_optimizations.txt"), module);
}

Status Dumper::Flush(std::string_view next_pass) {
  if (!pending_) return {};
  const Pending state = std::move(*pending_);
  pending_.reset();
  return Write(Str(Format("%04d", state.number), ".", state.pipeline, ".after_", state.pass, ".before_",
                   Sanitized(next_pass), ".txt"),
               state.text);
}

Status Dumper::Write(std::string_view suffix, const Module& module) {
  return active() ? Write(suffix, Print(module)) : Status();
}

Status Dumper::Write(std::string_view suffix, std::string_view bytes) {
  if (!active()) return {};
  return WriteFile(Str(prefix_, ".", suffix), bytes);
}

}  // namespace hlo
