// Messages of a language server: JSON-RPC in frames of "Content-Length: N\r\n\r\n" and N bytes, or one message a line.
#ifndef HLO_DRIVER_LSP_MESSAGES_H_
#define HLO_DRIVER_LSP_MESSAGES_H_

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

namespace hlo {

enum class MessageForm : uint8_t {
  kFrames,
  kLines,  // Skips empty lines and lines that start with "//".
};

struct IncomingMessage {
  enum class Kind : uint8_t {
    kMessage,
    kBad,  // `text` has the reason. More messages may follow.
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
};

// Skips invalid bytes up to the next "Content-Length:", so a wrong length does not end the session. Allocates only for
// received bytes.
class MessageReader {
 public:
  MessageReader(int file, MessageForm form, size_t max_bytes) : file_(file), form_(form), max_bytes_(max_bytes) {}

  IncomingMessage Next();
  bool HasNext();

 private:
  bool Extract();
  bool ExtractLine();
  bool ExtractFrame();
  bool ReadHeaders();
  void HeaderLine(std::string_view line);
  void BadHeader(std::string_view line);
  void Bad(std::string what) { next_ = {IncomingMessage::Kind::kBad, std::move(what)}; }
  bool Fill(bool wait);  // Returns false at the end, or if nothing is there and `wait` is false.

  std::string_view Rest() const { return std::string_view(buffer_).substr(begin_); }

  int file_;
  MessageForm form_;
  size_t max_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
  size_t scanned_ = 0;  // Bytes after begin_ without a line break.
  bool ended_ = false;
  std::optional<IncomingMessage> next_;

  // State of the frame that is being read:
  std::optional<size_t> length_;
  bool headers_ended_ = false;
  bool skipping_ = false;  // Inside invalid bytes, which were reported.
  size_t discard_ = 0;     // Remaining bytes of a message beyond the limit.
};

bool WriteMessage(std::FILE* file, MessageForm form, std::string_view json);

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_MESSAGES_H_
