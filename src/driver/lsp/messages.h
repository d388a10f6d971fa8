// The messages of a language server on their way: JSON-RPC in frames of "Content-Length: N\r\n\r\n" and N bytes, or, to
// be read and written by people, one a line.
#ifndef HLO_DRIVER_LSP_MESSAGES_H_
#define HLO_DRIVER_LSP_MESSAGES_H_

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace hlo {

enum class MessageForm : uint8_t {
  kFrames,
  kLines,  // Empty lines and lines that begin with "//" are skipped.
};

struct IncomingMessage {
  enum class Kind : uint8_t {
    kMessage,
    kBad,  // Bytes that are no message, a message that is cut off or too long: `text` says which. More may follow.
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
};

// What stands between messages and is none is skipped up to the next "Content-Length:", wherever that begins, so one
// wrong length does not end the conversation. Memory is taken for bytes that came, not for those that were announced.
class MessageReader {
 public:
  MessageReader(int file, MessageForm form, size_t max_bytes) : file_(file), form_(form), max_bytes_(max_bytes) {}

  // Waits for the next one.
  IncomingMessage Next();
  // Whether the next one can be had without waiting. False at the end of the input.
  bool HasNext();

 private:
  bool Extract();  // From what was read, into next_.
  bool ExtractLine();
  bool ExtractFrame();
  bool ReadHeaders();
  void HeaderLine(std::string_view line);
  void BadHeader(std::string_view line);
  void Bad(std::string what) { next_ = {IncomingMessage::Kind::kBad, std::move(what)}; }
  bool Fill(bool wait);  // False at the end, and when there is nothing to be had without waiting.

  std::string_view Rest() const { return std::string_view(buffer_).substr(begin_); }

  int file_;
  MessageForm form_;
  size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // In buffer_: what is not consumed.
  size_t scanned_ = 0;  // Behind begin_: bytes without line end.
  bool ended_ = false;
  std::optional<IncomingMessage> next_;

  // Of the frame that is being read.
  std::optional<size_t> length_;
  bool headers_ended_ = false;
  bool skipping_ = false;  // Over what is no header; that was said.
  size_t discard_ = 0;     // Bytes of a message that is too long.
};

// Writes one, and flushes. False when it could not be written.
bool WriteMessage(std::FILE* file, MessageForm form, std::string_view json);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_MESSAGES_H_
