#include "driver/lsp/server.h"

#include <unistd.h>

#include <cstdio>

#include "base/text.h"
#include "tools/command.h"
#include "tools/module_flags.h"

namespace hlo {

Result<ExitCode> LspCommand(Args args) {
  ServerOptions options{.load = {.max_input = int64_t{1} << 30}};
  bool lines = false, stdio = true;
  FlagSet flags("hlo-lsp", "[flags]",
                "Runs a language server (LSP 3.17) on stdin and stdout. It has diagnostics, hover (shape, bytes, "
                "FLOP), definition, references, rename, symbols, formatting and completion. editors/README.md shows "
                "how editors start it.",
                {"hlo lsp", "hlo lsp --lines <testdata/lsp/hover.session"});
  flags.Bool("stdio", &stdio, "accepted because editors pass it; messages always go through stdin and stdout");
  flags.Bool("lines", &lines,
             "read one message per line without headers, and skip empty lines and // comments, for trying it by hand");
  AddLoadFlags(flags, &options.load);
  AddSplitFlag(flags, &options.load);
  const std::vector<std::string> positionals = TRY(ParseAll(flags, args));
  if (flags.help_asked()) {
    std::fputs(flags.Help().c_str(), stdout);
    return ExitCode::kOk;
  }
  if (!positionals.empty())
    FAIL(UsageError("F002", Str("hlo lsp takes no file, found '", Escaped(positionals[0]), "'")));
  if (!stdio) FAIL(UsageError("F002", "--nostdio: the server works only through stdin and stdout"));
  if (lines) options.form = MessageForm::kLines;
  return ServeLanguage(options, STDIN_FILENO, stdout);
}

}  // namespace hlo
