// A language server for HLO text: JSON-RPC 2.0, Language Server Protocol 3.17.
//
// Diagnostics are published when no message is waiting, so a series of edits is checked once. Everything runs on one
// thread.
#ifndef HLO_DRIVER_LSP_SERVER_H_
#define HLO_DRIVER_LSP_SERVER_H_

#include <cstdio>

#include "driver/lsp/document.h"
#include "driver/lsp/messages.h"

namespace hlo {

struct ServerOptions {
  LoadOptions load;  // max_input also limits messages.
  MessageForm form = MessageForm::kFrames;
};

// Ends at the message `exit`, the end of the input, or a failed write. Returns kOk if `shutdown` preceded `exit`,
// otherwise kNo, as LSP requires.
ExitCode ServeLanguage(const ServerOptions& options, int input, std::FILE* output);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SERVER_H_
