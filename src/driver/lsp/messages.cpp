#include "driver/lsp/messages.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"

namespace hlo {
namespace {

constexpr size_t kLongestHeader = 4096;
constexpr std::string_view kLength = "content-length:";

// Ignores case. Returns the size of the line if "Content-Length:" is missing.
size_t FindLength(std::string_view line) {
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + 32 : a) == b; };
  return std::search(line.begin(), line.end(), kLength.begin(), kLength.end(), same) - line.begin();
}

bool IsHeader(std::string_view line) {
  const size_t colon = line.find(':');
  return colon != std::string_view::npos && colon > 0 &&
         line.substr(0, colon).find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-") ==
             std::string_view::npos;
}

}  // namespace

IncomingMessage MessageReader::Next() {
  while (!next_ && !Extract()) {
    if (Fill(true) || Extract()) continue;
    const bool inside = headers_ended_ || length_.has_value() || (!skipping_ && !Trim(Rest()).empty());
    begin_ = buffer_.size();
    length_.reset();
    headers_ended_ = false;
    if (inside) Bad("the input ends inside a message");
    else next_.emplace();
  }
  return *std::exchange(next_, std::nullopt);
}

bool MessageReader::HasNext() {
  while (!next_ && !Extract()) {
    if (!Fill(false)) return false;
  }
  return true;
}

bool MessageReader::Fill(bool wait) {
  if (ended_) return false;
  if (!wait) {
    pollfd readable = {file_, POLLIN, 0};
    if (poll(&readable, 1, 0) <= 0) return false;
  }
  if (begin_ > 0 && begin_ >= buffer_.size() / 2) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  constexpr size_t kChunk = 1 << 16;
  const size_t size = buffer_.size();
  buffer_.resize(size + kChunk);
  ssize_t count;
  do count = read(file_, buffer_.data() + size, kChunk);
  while (count < 0 && errno == EINTR);
  buffer_.resize(size + std::max<ssize_t>(count, 0));
  ended_ = count <= 0;
  return !ended_;
}

bool MessageReader::Extract() { return form_ == MessageForm::kLines ? ExtractLine() : ExtractFrame(); }

bool MessageReader::ExtractLine() {
  for (;;) {
    const std::string_view rest = Rest();
    size_t end = rest.find('\n', scanned_);
    if (end == std::string_view::npos) {
      scanned_ = rest.size();
      if (!ended_ || rest.empty()) return false;
      end = rest.size();
    }
    const std::string_view line = Trim(rest.substr(0, end));
    begin_ += std::min(end + 1, rest.size());
    scanned_ = 0;
    if (line.empty() || line.starts_with("//")) continue;
    next_ = {IncomingMessage::Kind::kMessage, std::string(line)};
    return true;
  }
}

bool MessageReader::ExtractFrame() {
  if (discard_ > 0) {
    const size_t count = std::min(discard_, Rest().size());
    begin_ += count;
    discard_ -= count;
    if (discard_ > 0) return false;
  }
  if (!headers_ended_ && !ReadHeaders()) return false;
  if (next_) return true;
  if (*length_ > max_bytes_) {
    Bad(Str("a message of ", *length_, " bytes is longer than the limit of ", max_bytes_, " (--max_input)"));
    discard_ = *length_;
  } else if (Rest().size() < *length_) {
    return false;
  } else {
    next_ = {IncomingMessage::Kind::kMessage, std::string(Rest().substr(0, *length_))};
    begin_ += *length_;
  }
  headers_ended_ = false;
  length_.reset();
  return true;
}

bool MessageReader::ReadHeaders() {
  while (!headers_ended_ && !next_) {
    const std::string_view rest = Rest();
    const size_t end = rest.find('\n', scanned_);
    if (end == std::string_view::npos) {
      scanned_ = rest.size();
      if (rest.size() <= kLongestHeader) return false;
      // The line is too long for a header, but its last bytes may begin one.
      if (!std::exchange(skipping_, true)) BadHeader(rest);
      begin_ += rest.size() - kLength.size();
      scanned_ = 0;
      continue;
    }
    begin_ += end + 1;
    scanned_ = 0;
    HeaderLine(rest.substr(0, end));
  }
  return true;
}

void MessageReader::BadHeader(std::string_view line) {
  Bad(Str("expected the header 'Content-Length: N', found '", Escaped(line.substr(0, 40)), "'"));
}

void MessageReader::HeaderLine(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    headers_ended_ = length_.has_value();
    return;
  }
  const size_t found = FindLength(line);
  if (found == line.size()) {
    if (skipping_ || IsHeader(line)) return;
    skipping_ = true;
    return BadHeader(line);
  }
  const std::string_view number = Trim(line.substr(found + kLength.size()));
  int64_t length = 0;
  if (!ParseInt(number, &length) || length < 0) {
    skipping_ = true;
    return Bad(Str("Content-Length is a number of bytes, not '", Escaped(number.substr(0, 40)), "'"));
  }
  length_ = static_cast<size_t>(length);
  if (found > 0 && !skipping_)
    Bad(Str("expected a header, found '", Escaped(line.substr(0, std::min<size_t>(found, 40))), "'"));
  skipping_ = false;
}

bool WriteMessage(std::FILE* file, MessageForm form, std::string_view json) {
  if (form == MessageForm::kFrames) std::fprintf(file, "Content-Length: %zu\r\n\r\n", json.size());
  std::fwrite(json.data(), 1, json.size(), file);
  if (form == MessageForm::kLines) std::fputc('\n', file);
  return std::fflush(file) == 0 && std::ferror(file) == 0;
}

}  // namespace hlo
