// Fuzzes sessions of the language server: for any input, the output consists of messages.
#include <sys/mman.h>
#include <unistd.h>

#include "base/json_reader.h"
#include "base/text.h"
#include "driver/lsp/server.h"
#include "tests/fuzz/target.h"

namespace hlo {
namespace {

constexpr int64_t kInternalError = -32603;  // The code of JSON-RPC for an internal error.

// A file in memory that contains `bytes`, positioned at its beginning.
int FileOf(std::string_view bytes) {
  const int file = memfd_create("session", 0);
  CHECK(file >= 0 && write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()), "no memory file");
  lseek(file, 0, SEEK_SET);
  return file;
}

// A session that begins like a frame has frames. Any other session has one message per line.
std::string BrokenBySession(std::string_view session) {
  ServerOptions options;
  options.form = session.starts_with("Content-") ? MessageForm::kFrames : MessageForm::kLines;
  char* written = nullptr;
  size_t size = 0;
  std::FILE* output = open_memstream(&written, &size);
  const int input = FileOf(session);
  ServeLanguage(options, input, output);
  std::fclose(output);
  lseek(input, 0, SEEK_SET);
  ftruncate(input, 0);
  CHECK(write(input, written, size) == static_cast<ssize_t>(size), "no memory file");
  std::free(written);
  lseek(input, 0, SEEK_SET);
  std::string broken;
  MessageReader reader(input, options.form, size + 1);
  for (IncomingMessage message; (message = reader.Next()).kind != IncomingMessage::Kind::kEnd && broken.empty();) {
    if (message.kind == IncomingMessage::Kind::kBad) broken = Str("what went out is no message: ", message.text);
    else if (const auto json = ReadJson(message.text); !json) broken = Str("no JSON went out: ", message.text);
    else if ((*json)["jsonrpc"].String() == nullptr) broken = Str("no JSON-RPC went out: ", message.text);
    else if ((*json)["error"]["code"].Int() == kInternalError) broken = Str("an error of ours: ", message.text);
  }
  close(input);
  return broken;
}

}  // namespace
}  // namespace hlo

HLO_FUZZ_TARGET(hlo::BrokenBySession)
