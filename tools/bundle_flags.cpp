#include "tools/bundle_flags.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string_view>

#include "base/source_text.h"
#include "base/text.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

struct Row {
  std::string_view flag;
  bool kept;
  std::string_view file;  // The copy's name, or "" if values are not files.
};
constexpr Row kRows[] = {
#define KEPT(flag) {flag, true, ""},
#define KEPT_FILE(flag, file) {flag, true, file},
#define LEFT_OUT(flag) {flag, false, ""},
#include "tools/bundle_flags.def"
#undef KEPT
#undef KEPT_FILE
#undef LEFT_OUT
};

const Row* RowOf(std::string_view flag) {
  const auto row = std::ranges::find(kRows, flag, &Row::flag);
  return row != std::end(kRows) && row->kept ? &*row : nullptr;
}

std::string_view NameOf(std::string_view flag) { return flag.substr(2, flag.find('=') - 2); }

bool IsFile(std::string_view value) {
  std::error_code error;
  return fs::is_regular_file(value, error);
}

std::string FreeName(std::string_view wanted, const std::vector<BundleOptions::File>& files) {
  const fs::path path(wanted);
  std::string name(wanted);
  for (int number = 2; std::ranges::find(files, name, &BundleOptions::File::name) != files.end(); ++number)
    name = Str(path.stem().string(), "-", number, path.extension().string());
  return name;
}

// Copies the file of a value: FILE, TARGET=FILE or TARGET=FILE:COMPUTATION.
Result<std::string> WithCopy(std::string_view value, const Row& row, std::vector<BundleOptions::File>* files) {
  const size_t begin = row.flag == "custom_call" ? value.find('=') + 1 : 0;
  const std::string_view given = value.substr(begin);
  const size_t colon = given.rfind(':');
  const std::string_view path = IsFile(given) || colon == given.npos ? given : given.substr(0, colon);
  if (!IsFile(path)) return std::string(value);
  const auto bytes = TRY(ReadSource(std::string(path), int64_t{1} << 40));
  files->push_back({FreeName(row.file, *files), std::string(bytes->text())});
  return Str(value.substr(0, begin), "{bundle}/", files->back().name, given.substr(path.size()));
}

}  // namespace

Status ResolveBundle(const FlagSet& flags, std::string_view flag, BundleOptions* bundle) {
  if (bundle->directory.empty()) return {};
  while (bundle->directory.size() > 1 && bundle->directory.ends_with('/')) bundle->directory.pop_back();
  std::error_code error;
  if (fs::exists(bundle->directory, error) && !fs::is_empty(bundle->directory, error))
    FAIL(UsageError("F004", Str(flag, ": '", Escaped(bundle->directory), "' exists already and is not empty")));
  for (const std::string& given : flags.Given()) {
    const Row* const row = RowOf(NameOf(given));
    if (row == nullptr) continue;
    const size_t equals = given.find('=');
    if (row->file.empty() || equals == given.npos) {
      bundle->flags.push_back(given);
      continue;
    }
    const std::string_view value = std::string_view(given).substr(equals + 1);
    bundle->flags.push_back(Str("--", row->flag, "=", TRY(WithCopy(value, *row, &bundle->files))));
  }
  return {};
}

Result<std::vector<std::string>> WithFlagsOfBundle(const FlagSet& flags, std::span<const std::string> args) {
  std::vector<std::string> words;
  const std::vector<std::string> files = flags.FilesAmong(args);
  if (files.size() == 1 && IsBundle(files[0])) {
    const Bundle bundle = TRY(ReadBundle(files[0]));
    for (const std::string& note : bundle.notes) std::fprintf(stderr, "note: %s\n", note.c_str());
    const auto is_replaced = [&](std::string_view name) {
      constexpr std::string_view kEither[] = {"passes", "pipeline"};
      const auto is_either = [&](std::string_view one) { return std::ranges::find(kEither, one) != std::end(kEither); };
      return is_either(name) && std::ranges::any_of(args, [&](const std::string& arg) {
               return arg.starts_with("--") && is_either(NameOf(arg));
             });
    };
    // A command may have another flag of this name, as hlo-opt has --platform.
    const auto is_taken = [&](std::string_view flag) {
      const size_t equals = flag.find('=');
      return equals == flag.npos ? flags.Knows(NameOf(flag)) : flags.Takes(NameOf(flag), flag.substr(equals + 1));
    };
    for (const std::string& flag : bundle.flags) {
      // The writer of a bundle adds --args.
      const bool is_known = NameOf(flag) == "args" || RowOf(NameOf(flag)) != nullptr;
      if (!is_known)
        std::fprintf(stderr, "note: a flag that bundles do not have is ignored: %s\n", Escaped(flag).c_str());
      else if (!is_replaced(NameOf(flag)) && is_taken(flag)) words.push_back(flag);
    }
  }
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

}  // namespace hlo
