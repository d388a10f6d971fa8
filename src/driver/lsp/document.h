// A document in an editor: text, positions, and results of parser and verifier.
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

// The unit of columns (LSP 3.17, PositionEncodingKind).
enum class PositionEncoding : uint8_t { kUtf8, kUtf16 };

// Both count from 0.
struct Position {
  int64_t line = 0;
  int64_t character = 0;
};

// Lines end with LF, CR LF or CR. The text must outlive the map.
class PositionMap {
 public:
  PositionMap(std::string_view text, PositionEncoding encoding);

  Position PositionOf(size_t offset) const;
  // A column after the end of a line gives the end of the line. A line after the last gives the end of the text. A
  // position inside a character gives its start.
  size_t OffsetOf(Position position) const;

 private:
  size_t LineEnd(size_t line) const;
  size_t UnitsBefore(size_t offset) const;

  std::string_view text_;
  PositionEncoding encoding_;
  std::vector<size_t> line_begins_;
  // Units before every kStep-th byte, so that positions in long lines are found as fast as in short ones.
  std::vector<size_t> units_;
};

// One module of a document. --split_input_file gives several.
struct DocumentModule {
  std::unique_ptr<Module> module;  // Null if the text does not parse.
  bool valid = false;              // The module also passes the verifier.
  SourceRange piece;
};

struct DocumentOptions {
  LoadOptions load;
  PositionEncoding encoding = PositionEncoding::kUtf16;
};

class Document {
 public:
  // `options` must outlive the document.
  Document(std::string uri, std::string text, const DocumentOptions& options)
      : uri_(std::move(uri)), text_(std::move(text)), options_(options) {}

  const std::string& uri() const { return uri_; }
  std::optional<int64_t> version() const { return version_; }
  std::string_view text() const { return text_; }

  void SetVersion(std::optional<int64_t> version) { version_ = version; }
  void SetText(std::string text);
  // Replaces [begin, end) by `text`, which copies the whole document.
  void Replace(Position begin, Position end, std::string_view text);

  // Computed on first use and kept until the text changes.
  const PositionMap& positions();
  const SymbolIndex& symbols();
  std::span<const DocumentModule> modules() { return analysis().modules; }
  // Errors of the parser or, if there are none, of the verifier.
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
