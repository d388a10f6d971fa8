#include <cstdio>

#include "base/files.h"
#include "base/source_text.h"
#include "base/text.h"
#include "driver/format.h"
#include "driver/load.h"
#include "parser/input_format.h"
#include "parser/parser.h"
#include "tools/command.h"
#include "tools/module_flags.h"

namespace hlo {
namespace {

struct Formatted {
  std::string before, after;
};

Result<Formatted> Format(const std::string& path, const LoadOptions& load) {
  const std::vector<std::string> names = TRY(ExpandPaths(std::span(&path, 1), load));
  if (names.size() <= 1) {
    const auto source = TRY(ReadSource(path, load.max_input));
    if (const InputFormat format = InputFormatOf(source->text()); format != InputFormat::kHloText) {
      FAIL(UsageError("F002", Str("'", Escaped(path), "' is ", IsProto(format) ? "a protocol buffer" : "MLIR text",
                                  ", but only HLO text can be formatted"))
               .Hint("as text: hlo opt --passes= FILE"));
    }
    const auto module = TRY(LoadModule(source, load));
    return Formatted{std::string(module->source->text()), TRY(FormatText(*module))};
  }
  for (const std::string& name : names) TRY(LoadModule(name, load));
  const auto source = TRY(ReadSource(path, load.max_input));
  Formatted formatted{std::string(source->text()), ""};
  // Text between modules is kept, with empty lines around it.
  size_t at = 0;
  for (const SourceRange& piece : SplitInput(*source)) {
    const std::string_view border = Trim(source->text().substr(at, piece.begin - at));
    if (!border.empty()) formatted.after += Str(at > 0 ? "\n" : "", border, "\n\n");
    std::string text(source->text().substr(piece.begin, piece.end - piece.begin));
    const auto module = TRY(Parse(std::make_shared<const SourceText>(path, std::move(text)), ParseOptionsOf(load)));
    formatted.after += TRY(FormatText(*module));
    at = piece.end;
  }
  const std::string_view rest = Trim(source->text().substr(at));
  if (!rest.empty()) formatted.after += Str("\n", rest, "\n");
  return formatted;
}

}  // namespace

Result<ExitCode> FmtCommand(Args args) {
  LoadOptions load{.text_only = true};
  bool in_place = false, check = false;
  FlagSet flags("hlo-fmt", "[flags] FILE|DIRECTORY|@LIST...",
                "Formats HLO text: one instruction a line, with its comments. Only blanks and line breaks "
                "change. A text with errors stays as it is.",
                {"hlo fmt model.hlo", "hlo fmt -i testdata/", "hlo fmt --check @files", "hlo fmt - <model.hlo"});
  flags.Bool("i", &in_place, "rewrite the files instead of printing them");
  flags.Bool("check", &check, "list the files that would change, and exit with 1 if there are any");
  AddLoadFlags(flags, &load);
  AddSplitFlag(flags, &load);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (positionals.empty()) FAIL(flags.WrongFiles("no file given", positionals).Hint("hlo fmt model.hlo; '-' is stdin"));
  const std::vector<std::string> paths = TRY(ExpandPaths(positionals));
  if (paths.size() > 1 && !in_place && !check)
    FAIL(UsageError("F002", Str("cannot print ", paths.size(), " files at once")).Hint("-i rewrites them"));

  ExitCode worst = ExitCode::kOk;
  for (const std::string& path : paths) {
    if (in_place && path == "-") FAIL(UsageError("F002", "-i rewrites files, but stdin is not a file"));
    const auto text = Format(path, load);
    if (!text) {
      std::fputs(Render(text.error(), "hlo-fmt").c_str(), stderr);
      worst = WorseOf(worst, text.error().exit);
      continue;
    }
    const bool changes = text->before != text->after;
    if (check) {
      if (changes) std::printf("%s\n", path.c_str());
      worst = WorseOf(worst, changes ? ExitCode::kNo : ExitCode::kOk);
    } else if (!in_place) {
      TRY(WriteFile("-", text->after));
    } else if (changes) {
      TRY(WriteFile(path, text->after));
    }
  }
  return worst;
}

}  // namespace hlo
