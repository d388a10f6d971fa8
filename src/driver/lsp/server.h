// A language server for HLO text, with JSON-RPC 2.0. Source: Language Server Protocol 3.17.
//
// The client provides all documents; no files are read. Diagnostics are published when no message is waiting, so that a
// series of edits is checked once. Everything runs on one thread, in order.
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

// Runs until the client sends exit, the input ends, or the output fails. Returns kOk if the client sent shutdown and
// exit, else kNo, as LSP requires.
ExitCode ServeLanguage(const ServerOptions& options, int input, std::FILE* output);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_SERVER_H_
