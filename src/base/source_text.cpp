#include "base/source_text.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <sys/stat.h>

#include "base/text.h"
#include "base/utf8.h"

namespace hlo {
namespace {

// Some devices never end, such as /dev/urandom.
constexpr size_t kDeviceBytes = 1 << 20;
constexpr size_t kWindow = 140;  // Bytes of a shown line. Longer lines are cut.

size_t CodePoints(std::string_view text) {
  return text.size() - std::count_if(text.begin(), text.end(), IsContinuation);
}

// Makes `line` safe for a terminal: each code point takes one column.
std::string Shown(std::string_view line) {
  std::string shown;
  for (size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    const size_t length = CodePointLength(rest);
    const auto byte = static_cast<unsigned char>(rest[0]);
    if (length > 0) shown += byte < 0x20 || byte == 0x7F || IsControlOfC1(rest) ? " " : rest.substr(0, length);
    else if (!IsContinuation(rest[0])) shown += '?';
    at += std::max<size_t>(length, 1);
  }
  return shown;
}

std::string Excerpt(const SourceText& source, SourceRange range) {
  const auto place = source.PlaceOf(range.begin);
  std::string_view line = source.Line(place.line);
  size_t begin = range.begin - source.LineBegin(place.line);
  begin = std::min(begin, line.size());
  size_t length = range.end > range.begin ? range.end - range.begin : 1;
  length = std::min(length, std::max<size_t>(1, line.size() - begin));
  const char* before = "";
  const char* after = "";
  if (line.size() > kWindow) {
    // A code point has at most this many continuation bytes. Code points stay whole.
    constexpr int kMost = 3;
    size_t from = begin > kWindow / 2 ? begin - kWindow / 2 : 0;
    for (int i = 0; i < kMost && from > 0 && IsContinuation(line[from]); ++i) --from;
    size_t count = std::min(kWindow, line.size() - from);
    for (int i = 0; i < kMost && from + count < line.size() && IsContinuation(line[from + count]); ++i) ++count;
    if (from > 0) before = "...";
    if (from + count < line.size()) after = "...";
    line = line.substr(from, count);
    begin -= from;
    length = std::min(length, std::max<size_t>(1, line.size() - begin));
  }
  const std::string gutter = Format("%5d | ", place.line);
  const size_t column = std::strlen(before) + CodePoints(line.substr(0, begin));
  const size_t width = std::max<size_t>(1, CodePoints(line.substr(begin, length)));
  return Str(gutter, before, Shown(line), after, "\n", std::string(gutter.size() - 2, ' '), "| ",
             std::string(column, ' '), "^", std::string(width - 1, '~'), "\n");
}

}  // namespace

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_begins_.push_back(0);
  for (const char *p = text_.data(), *end = p + text_.size();
       (p = static_cast<const char*>(std::memchr(p, '\n', end - p)));) {
    line_begins_.push_back(++p - text_.data());
  }
}

SourceText::Place SourceText::PlaceOf(uint32_t offset) const {
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const int line = next - line_begins_.begin();
  const uint32_t begin = line_begins_[line - 1];
  const uint32_t end = std::min<uint32_t>(offset, text_.size());
  return {line, static_cast<int>(CodePoints(std::string_view(text_).substr(begin, end - begin))) + 1};
}

std::string_view SourceText::Line(int line) const {
  const size_t begin = line_begins_[line - 1];
  const size_t end = line < static_cast<int>(line_begins_.size()) ? line_begins_[line] - 1 : text_.size();
  std::string_view text = std::string_view(text_).substr(begin, end - begin);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

Result<std::shared_ptr<const SourceText>> ReadSource(const std::string& path, int64_t max_bytes) {
  const bool is_stdin = path == "-";
  const auto cannot_read = [&] {
    return Rejected("A010", Str("cannot read '", Escaped(path), "': ", std::strerror(errno)));
  };
  std::FILE* file = is_stdin ? stdin : std::fopen(path.c_str(), "rb");
  if (file == nullptr) FAIL(cannot_read());
  struct stat about{};
  const bool is_device = fstat(fileno(file), &about) == 0 && S_ISCHR(about.st_mode);
  const char* refused = nullptr;
  std::string text;
  char chunk[1 << 16];
  bool too_long = false;
  for (size_t count; (count = std::fread(chunk, 1, sizeof chunk, file)) > 0;) {
    text.append(chunk, count);
    too_long = static_cast<int64_t>(text.size()) > max_bytes;
    // No protocol buffer begins with NUL: field numbers begin at 1.
    if (text.front() == '\0') refused = "it begins with a NUL byte, so it is neither text nor a protocol buffer";
    if (is_device && text.size() > kDeviceBytes) refused = "it is a device whose data does not end";
    if (too_long || refused != nullptr) break;
  }
  const bool failed = std::ferror(file) != 0;
  const int reason = errno;
  if (!is_stdin) std::fclose(file);
  errno = reason;
  if (failed) FAIL(cannot_read());
  if (refused != nullptr) FAIL(Rejected("A010", Str("cannot read '", Escaped(path), "': ", refused)));
  if (too_long) {
    FAIL(LimitError("P090", Str("input '", Escaped(path), "' is larger than the limit of ", HumanBytes(max_bytes)))
             .RaisedBy("max_input"));
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
  return std::make_shared<const SourceText>(is_stdin ? "<stdin>" : path, std::move(text));
}

std::string Render(const SourceText* source, const Diagnostic& diagnostic, std::string_view severity,
                   std::string_view tool) {
  const auto head = [&](SourceRange range) {
    if (source == nullptr) return std::string(tool);
    if (range == SourceRange{}) return Escaped(source->name());
    const auto place = source->PlaceOf(range.begin);
    return Str(Escaped(source->name()), ":", place.line, ":", place.column);
  };
  const auto excerpt = [&](SourceRange range) {
    return source == nullptr || range == SourceRange{} ? std::string() : Excerpt(*source, range);
  };
  std::string out = Str(head(diagnostic.range), ": ", severity, ": [", diagnostic.code, "] ", diagnostic.message, "\n",
                        excerpt(diagnostic.range));
  for (const Note& note : diagnostic.notes)
    out += Str(head(note.range), ": note: ", note.message, "\n", excerpt(note.range));
  if (!diagnostic.hint.empty()) out += Str("hint: ", diagnostic.hint, "\n");
  return out;
}

std::string Render(const Error& error, std::string_view tool) {
  std::string out;
  for (const Diagnostic& diagnostic : error.diagnostics) out += Render(error.source.get(), diagnostic, "error", tool);
  return out;
}

}  // namespace hlo
