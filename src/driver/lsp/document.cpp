#include "driver/lsp/document.h"

#include <algorithm>
#include <cstring>

#include "base/utf8.h"
#include "parser/parser.h"

namespace hlo {
namespace {

constexpr size_t kStep = 256;  // In bytes.

size_t CountUnits(std::string_view bytes) {
  size_t units = 0, at = 0;
  const auto count_to = [&](size_t end) {
    for (; at < end; ++at) {
      const bool wide = static_cast<unsigned char>(bytes[at]) >= 0xF0;
      units += static_cast<size_t>(!IsContinuation(bytes[at])) + static_cast<size_t>(wide);
    }
  };
  while (bytes.size() - at >= 8) {
    uint64_t eight;
    std::memcpy(&eight, bytes.data() + at, 8);
    if ((eight & 0x8080808080808080) != 0) {
      count_to(at + 8);
    } else {
      units += 8;
      at += 8;
    }
  }
  count_to(bytes.size());
  return units;
}

}  // namespace

// ---- PositionMap -------------------------------------------------------------------------------------------------

PositionMap::PositionMap(std::string_view text, PositionEncoding encoding) : text_(text), encoding_(encoding) {
  line_begins_.push_back(0);
  // Searching is faster than looking at each byte.
  size_t lf = text.find('\n'), cr = text.find('\r');
  while (lf != cr) {  // They are equal only if both are npos.
    const size_t end = std::min(lf, cr);
    line_begins_.push_back(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    if (lf < line_begins_.back()) lf = text.find('\n', line_begins_.back());
    if (cr < line_begins_.back()) cr = text.find('\r', line_begins_.back());
  }
  if (encoding == PositionEncoding::kUtf8) return;
  units_.push_back(0);
  for (size_t at = 0; at < text.size(); at += kStep)
    units_.push_back(units_.back() + CountUnits(text.substr(at, kStep)));
}

size_t PositionMap::LineEnd(size_t line) const {
  if (line + 1 == line_begins_.size()) return text_.size();
  size_t end = line_begins_[line + 1] - 1;
  if (text_[end] == '\n' && end > line_begins_[line] && text_[end - 1] == '\r') --end;
  return end;
}

size_t PositionMap::UnitsBefore(size_t offset) const {
  if (encoding_ == PositionEncoding::kUtf8) return offset;
  const size_t step = offset / kStep;
  return units_[step] + CountUnits(text_.substr(step * kStep, offset - step * kStep));
}

Position PositionMap::PositionOf(size_t offset) const {
  offset = std::min(offset, text_.size());
  const auto next = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const size_t line = next - line_begins_.begin() - 1;
  const size_t at = std::min(offset, LineEnd(line));
  return {static_cast<int64_t>(line), static_cast<int64_t>(UnitsBefore(at) - UnitsBefore(line_begins_[line]))};
}

size_t PositionMap::OffsetOf(Position position) const {
  const auto line = static_cast<size_t>(std::max<int64_t>(position.line, 0));
  if (line >= line_begins_.size()) return text_.size();
  const size_t begin = line_begins_[line], end = LineEnd(line);
  const auto character = static_cast<size_t>(std::max<int64_t>(position.character, 0));
  size_t at;
  if (character >= UnitsBefore(end) - UnitsBefore(begin)) return end;
  if (encoding_ == PositionEncoding::kUtf8) {
    at = begin + character;
  } else {
    const size_t target = UnitsBefore(begin) + character;
    const size_t step = std::upper_bound(units_.begin(), units_.end(), target) - units_.begin() - 1;
    at = std::max(begin, step * kStep);
    // All units of a character count at its first byte.
    for (size_t units = UnitsBefore(at); at < end; ++at) {
      const size_t more = CountUnits(text_.substr(at, 1));
      if (units + more > target) break;
      units += more;
    }
  }
  while (at > begin && IsContinuation(text_[at])) --at;
  return at;
}

// ---- Document ----------------------------------------------------------------------------------------------------

void Document::Forget() {
  positions_.reset();
  source_.reset();
  symbols_.reset();
  analysis_.reset();
}

void Document::SetText(std::string text) {
  Forget();
  text_ = std::move(text);
}

void Document::Replace(Position begin, Position end, std::string_view text) {
  const size_t from = positions().OffsetOf(begin);
  const size_t to = std::max(from, positions().OffsetOf(end));
  Forget();
  text_.replace(from, to - from, text);
}

const PositionMap& Document::positions() {
  if (!positions_) positions_.emplace(text_, options_.encoding);
  return *positions_;
}

const std::shared_ptr<const SourceText>& Document::source() {
  if (source_ == nullptr) source_ = std::make_shared<const SourceText>(uri_, text_);
  return source_;
}

std::vector<SourceRange> Document::Pieces() {
  std::vector<SourceRange> pieces;
  if (options_.load.split_input_file) pieces = SplitInput(*source());
  if (pieces.size() <= 1) pieces = {{0, static_cast<uint32_t>(text_.size())}};
  return pieces;
}

const SymbolIndex& Document::symbols() {
  if (!symbols_) symbols_.emplace(source()->text(), Pieces());
  return *symbols_;
}

const Document::Analysis& Document::analysis() {
  if (!analysis_) analysis_ = Analyze();
  return *analysis_;
}

Document::Analysis Document::Analyze() {
  Analysis analysis;
  const auto append = [](std::vector<Diagnostic>& to, std::vector<Diagnostic> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  ParseOptions parse = ParseOptionsOf(options_.load);
  for (const SourceRange piece : Pieces()) {
    parse.piece = piece;
    DocumentModule& one = analysis.modules.emplace_back();
    one.piece = piece;
    auto module = Parse(source(), parse);
    if (!module) {
      append(analysis.errors, std::move(module.error().diagnostics));
      continue;
    }
    one.module = std::move(*module);
    std::vector<Diagnostic> warnings;
    Status verified = Verify(*one.module, options_.load.verify, &warnings);
    // A hover's cost needs a valid module, even if errors are not shown.
    one.valid = verified && (options_.load.verify != VerifyLevel::kOff || Verify(*one.module));
    if (!verified) append(analysis.errors, std::move(verified.error().diagnostics));
    append(analysis.warnings, std::move(warnings));
  }
  return analysis;
}

}  // namespace hlo
