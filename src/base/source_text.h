// The text of one input, and the rendering of diagnostics about it.
#ifndef HLO_BASE_SOURCE_TEXT_H_
#define HLO_BASE_SOURCE_TEXT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hlo {

class SourceText {
 public:
  SourceText(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }

  // Line and column count from 1. Columns count UTF-8 code points, and a tab is one.
  struct Place {
    int line;
    int column;
  };
  Place PlaceOf(uint32_t offset) const;

  // Excludes the line break.
  std::string_view Line(int line) const;
  uint32_t LineBegin(int line) const { return line_begins_[line - 1]; }

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_begins_;
};

// The path "-" is stdin. Errors: kRejected (A010) for an unreadable file, a directory, an endless device or a leading
// NUL; kLimit (P090) beyond `max_bytes`.
Result<std::shared_ptr<const SourceText>> ReadSource(const std::string& path, int64_t max_bytes = int64_t{2} << 30);

// Renders diagnostics as in docs/reports.md#diagnostics. `tool` precedes messages of an error without a source.
std::string Render(const Error& error, std::string_view tool);
std::string Render(const SourceText* source, const Diagnostic& diagnostic, std::string_view severity,
                   std::string_view tool);

}  // namespace hlo

#endif  // HLO_BASE_SOURCE_TEXT_H_
