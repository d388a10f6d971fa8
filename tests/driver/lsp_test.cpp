// Tests that sessions under testdata/lsp/ cannot express: messages in pieces, and positions in texts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "driver/lsp/document.h"
#include "driver/lsp/messages.h"

namespace hlo {
namespace {

using Kind = IncomingMessage::Kind;

// All messages in the bytes if `piece` bytes arrive at a time. An error is "!" and its message.
std::vector<std::string> ReadAll(std::string_view bytes, size_t piece, MessageForm form = MessageForm::kFrames) {
  int ends[2];
  if (pipe(ends) != 0) return {"no pipe"};
  MessageReader reader(ends[0], form, 1000);
  std::vector<std::string> all;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const std::string_view part = bytes.substr(at, piece);
    if (write(ends[1], part.data(), part.size()) != static_cast<ssize_t>(part.size())) return {"no bytes"};
    while (reader.HasNext()) {
      const IncomingMessage message = reader.Next();
      all.push_back(message.kind == Kind::kBad ? "!" + message.text : message.text);
    }
  }
  close(ends[1]);
  EXPECT_FALSE(reader.HasNext() && reader.Next().kind == Kind::kEnd);
  for (IncomingMessage message; (message = reader.Next()).kind != Kind::kEnd;)
    all.push_back(message.kind == Kind::kBad ? "!" + message.text : message.text);
  EXPECT_EQ(reader.Next().kind, Kind::kEnd);
  close(ends[0]);
  return all;
}

std::vector<std::string> ReadFrames(std::string_view bytes) {
  const std::vector<std::string> at_once = ReadAll(bytes, bytes.size() + 1);
  for (const size_t piece : {1, 2, 3, 7}) EXPECT_EQ(ReadAll(bytes, piece), at_once) << "in pieces of " << piece;
  return at_once;
}

using Messages = std::vector<std::string>;

TEST(LspMessages, FramesAreReadInAnyPieces) {
  EXPECT_EQ(ReadFrames(""), Messages());
  EXPECT_EQ(ReadFrames("Content-Length: 2\r\n\r\n{}Content-Length: 3\r\n\r\n[1]"), (Messages{"{}", "[1]"}));
  EXPECT_EQ(ReadFrames("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\ncontent-length:2\r\n\r\n{}"),
            Messages{"{}"});
  EXPECT_EQ(ReadFrames("Content-Length: 2\n\n{}\n\n"), Messages{"{}"});
  EXPECT_EQ(ReadFrames("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}"), (Messages{"", "{}"}));
}

TEST(LspMessages, BadFramesAreSkipped) {
  const std::string good = "Content-Length: 2\r\n\r\n{}";
  EXPECT_EQ(ReadFrames("hello\r\nyou\r\n" + good),
            (Messages{"!expected the header 'Content-Length: N', found 'hello'", "{}"}));
  // The length is one too small, so the rest is where a header should be.
  EXPECT_EQ(ReadFrames("Content-Length: 1\r\n\r\n{}" + good), (Messages{"{", "!expected a header, found '}'", "{}"}));
  // The length is three too large, so the next message lacks its beginning.
  EXPECT_EQ(ReadFrames("Content-Length: 5\r\n\r\n{}" + good + good),
            (Messages{"{}Con", "!expected a header, found '{}'", "{}"}));
  EXPECT_EQ(ReadFrames("Content-Length: -1\r\n\r\n" + good),
            (Messages{"!Content-Length is a number of bytes, not '-1'", "{}"}));
  EXPECT_EQ(ReadFrames("Content-Length: 99999999999999999999\r\n\r\n" + good),
            (Messages{"!Content-Length is a number of bytes, not '99999999999999999999'", "{}"}));
  EXPECT_EQ(ReadFrames("Content-Length: 1001\r\n\r\n" + std::string(1001, 'x') + good),
            (Messages{"!a message of 1001 bytes is longer than the limit of 1000 (--max_input)", "{}"}));
  EXPECT_EQ(ReadFrames(std::string(10'000, 'x') + "\r\n" + good),
            (Messages{Str("!expected the header 'Content-Length: N', found '", std::string(40, 'x'), "'"), "{}"}));
}

TEST(LspMessages, InputMayEndInsideAMessage) {
  for (const char* cut : {"Content-Le", "Content-Length: 5", "Content-Length: 5\r\n", "Content-Length: 5\r\n\r\n",
                          "Content-Length: 5\r\n\r\n{\"a\""})
    EXPECT_EQ(ReadFrames(cut), Messages{"!the input ends inside a message"}) << cut;
  // The reader neither waits nor allocates memory for announced bytes after the end of the input.
  EXPECT_EQ(ReadFrames("Content-Length: 900\r\n\r\n{}"), Messages{"!the input ends inside a message"});
}

TEST(LspMessages, LinesAreMessages) {
  EXPECT_EQ(ReadAll("// comment\n\n{}\r\n[1]", 3, MessageForm::kLines), (Messages{"{}", "[1]"}));
}

// ---- Places ------------------------------------------------------------------------------------------------------

TEST(LspPositions, EveryOffsetRoundTrips) {
  // Characters of one to four bytes, with one or two UTF-16 units, and the three kinds of line ends.
  std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80z\r\n\n\xF0\x9F\x98\x80\xF0\x9F\x98\x80\rlast";
  // The text is longer than one step of the position table.
  for (int i = 0; i < 5000; ++i) text += "x\xF0\x9F\x98\x80";
  for (const PositionEncoding encoding : {PositionEncoding::kUtf8, PositionEncoding::kUtf16}) {
    const PositionMap positions(text, encoding);
    for (size_t offset = 0; offset <= text.size(); ++offset) {
      const bool inside = offset < text.size() && (static_cast<unsigned char>(text[offset]) & 0xC0) == 0x80;
      const bool between = offset > 0 && offset < text.size() && text[offset] == '\n' && text[offset - 1] == '\r';
      if (inside || between) continue;
      EXPECT_EQ(positions.OffsetOf(positions.PositionOf(offset)), offset);
    }
  }
}

TEST(LspPositions, CountUtf16Units) {
  // The first line has the letter a, a character of two units, and the letter z.
  const std::string text = "a\xF0\x9F\x98\x80z\r\nb";
  const PositionMap utf16(text, PositionEncoding::kUtf16), utf8(text, PositionEncoding::kUtf8);
  EXPECT_EQ(utf16.PositionOf(5).character, 3);
  EXPECT_EQ(utf8.PositionOf(5).character, 5);
  EXPECT_EQ(utf16.OffsetOf({0, 3}), 5u);
  EXPECT_EQ(utf16.OffsetOf({0, 2}), 1u);  // The position is inside the pair.
  EXPECT_EQ(utf8.OffsetOf({0, 3}), 1u);
  EXPECT_EQ(utf16.OffsetOf({0, 99}), 6u);  // The end of the line is before CR LF.
  EXPECT_EQ(utf16.OffsetOf({1, 0}), 8u);
  EXPECT_EQ(utf16.OffsetOf({9, 0}), text.size());
  EXPECT_EQ(utf16.PositionOf(7).character, 4);  // The offset is between CR and LF.
}

TEST(LspDocument, ChangesLikeAString) {
  const std::string pieces[] = {"\r\n", "\n", "\r", "abc", "\xC3\xA9", "\xF0\x9F\x98\x80", "", "x = f32[] add(a, b)\n"};
  const DocumentOptions options;
  std::string expected;
  Document document("file:///d.hlo", "", options);
  uint32_t seed = 1;
  const auto random = [&](size_t limit) { return (seed = seed * 1664525 + 1013904223) / 65536 % limit; };
  for (int i = 0; i < 2000; ++i) {
    size_t ends[] = {random(expected.size() + 1), random(expected.size() + 1)};
    std::sort(std::begin(ends), std::end(ends));
    ends[1] = std::min(ends[1], ends[0] + random(4));
    const PositionMap before(expected, PositionEncoding::kUtf16);
    const Position begin = before.PositionOf(ends[0]), end = before.PositionOf(ends[1]);
    const std::string& piece = pieces[random(std::size(pieces))];
    const size_t from = before.OffsetOf(begin);
    expected.replace(from, before.OffsetOf(end) - from, piece);
    document.Replace(begin, end, piece);
    ASSERT_EQ(document.text(), expected);
  }
  EXPECT_GT(expected.size(), 50u);
}

}  // namespace
}  // namespace hlo
