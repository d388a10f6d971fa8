// A language server for HLO text: JSON-RPC 2.0 in, JSON-RPC 2.0 out. Source: Language Server Protocol 3.17.
//
// Documents are what the client says they are; nothing is read from files. Diagnostics are published when nothing else
// waits to be done, so that a burst of changes is judged once. Everything runs on one thread, in the order it came.
#ifndef HLO_DRIVER_LSP_SERVER_H_
#define HLO_DRIVER_LSP_SERVER_H_

#include <cstdio>

#include "driver/lsp/document.h"
#include "driver/lsp/messages.h"

namespace hlo {

struct ServerOptions {
  LoadOptions load;  // max_input bounds a message, too.
  MessageForm form = MessageForm::kFrames;
};

// Until the client says exit, or the input ends, or the output cannot be written. kOk when the client had said shutdown
// and exit, else kNo, as LSP has it.
ExitCode ServeLanguage(const ServerOptions& options, int input, std::FILE* output);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SERVER_H_
