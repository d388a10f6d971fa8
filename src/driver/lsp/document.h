// A document as an editor has it: a text that is changed in ranges, places in it as lines and columns, and what the
// parser and the verifier say of it.
#ifndef HLO_DRIVER_LSP_DOCUMENT_H_
#define HLO_DRIVER_LSP_DOCUMENT_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/source_text.h"
#include "driver/load.h"
#include "driver/lsp/symbols.h"
#include "ir/module.h"

namespace hlo {

// What a column counts. Source: LSP 3.17, PositionEncodingKind.
enum class PositionEncoding : uint8_t { kUtf8, kUtf16 };

// Both from 0.
struct Position {
  int64_t line = 0;
  int64_t character = 0;
};

// Offsets of bytes and positions, either way. Lines end with LF, CR LF or CR. The text must outlive it.
class PositionMap {
 public:
  PositionMap(std::string_view text, PositionEncoding encoding);

  Position PositionOf(size_t offset) const;
  // Columns behind a line's end mean its end, lines behind the last the text's end, the middle of a character its
  // beginning.
  size_t OffsetOf(Position position) const;

 private:
  size_t LineEnd(size_t line) const;  // Without what ends it.
  size_t UnitsBefore(size_t offset) const;

  std::string_view text_;
  PositionEncoding encoding_;
  std::vector<size_t> line_begins_;
  std::vector<size_t> units_;  // Before each kStep-th byte; so long lines cost no more than short ones.
};

// One module of a document; a document has several when --split_input_file says so.
struct DocumentModule {
  std::unique_ptr<Module> module;  // Null when it does not parse.
  bool valid = false;              // For the verifier, too.
  SourceRange piece;               // Its part of the text.
};

struct DocumentOptions {
  LoadOptions load;
  PositionEncoding encoding = PositionEncoding::kUtf16;
};

class Document {
 public:
  // `options` must outlive it.
  Document(std::string uri, std::string text, const DocumentOptions& options)
      : uri_(std::move(uri)), text_(std::move(text)), options_(options) {}

  const std::string& uri() const { return uri_; }
  std::optional<int64_t> version() const { return version_; }
  std::string_view text() const { return text_; }

  void SetVersion(std::optional<int64_t> version) { version_ = version; }
  void SetText(std::string text);
  // [begin, end) becomes `text`. Takes the time of a copy: a change rarely comes with many ranges.
  void Replace(Position begin, Position end, std::string_view text);

  // What follows is found when it is first asked for, and kept until the text changes.
  const PositionMap& positions();
  const SymbolIndex& symbols();
  std::span<const DocumentModule> modules() { return analysis().modules; }
  // Of the parser, and of the verifier where that had nothing to say.
  std::span<const Diagnostic> errors() { return analysis().errors; }
  std::span<const Diagnostic> warnings() { return analysis().warnings; }

 private:
  struct Analysis {
    std::vector<DocumentModule> modules;
    std::vector<Diagnostic> errors, warnings;
  };
  void Forget();
  const std::shared_ptr<const SourceText>& source();
  std::vector<SourceRange> Pieces();
  const Analysis& analysis();
  Analysis Analyze();

  std::string uri_;
  std::string text_;
  std::optional<int64_t> version_;
  const DocumentOptions& options_;

  std::optional<PositionMap> positions_;
  std::shared_ptr<const SourceText> source_;
  std::optional<SymbolIndex> symbols_;
  std::optional<Analysis> analysis_;
};

}  // namespace hlo

#endif  // HLO_DRIVER_LSP_DOCUMENT_H_
