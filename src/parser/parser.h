// Parses HLO text to a Module. The language: docs/language.md.
#ifndef HLO_PARSER_PARSER_H_
#define HLO_PARSER_PARSER_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/source_text.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace hlo {

enum class ElidedConstants : uint8_t {
  kKeep,    // Becomes Opcode::kElidedConstant with a warning (W002).
  kToFill,  // Like kKeep without a warning: the caller fills in values.
  kError,   // An error (P040).
  kGiven,   // Takes the next value of ParseOptions::given.
};

struct ParseOptions {
  ElidedConstants elided = ElidedConstants::kKeep;
  std::span<const Literal> given;  // One for each `{...}`.
  // Limits the nesting of shapes, operands and literals. Inline computations and tuple literals count 16 levels. Errors
  // name --max_depth.
  int64_t max_depth = 8192;
  int max_errors = 20;
  // Receives warnings about text with a changed meaning (W002, W010), if not null.
  std::vector<Diagnostic>* warnings = nullptr;
  // The part of the source to parse. Empty means all.
  SourceRange piece;
};

// Parses a module, a module without a header, or a single instruction (docs/language.md#files). Returns all errors, up
// to max_errors, in one Error. The module keeps the source, and instructions their ranges.
Result<std::unique_ptr<Module>> Parse(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

// The modules of a file, separated by lines that start with "// -----". Omits parts without code.
std::vector<SourceRange> SplitInput(const SourceText& source);

Result<Shape> ParseShape(std::string_view text);
Result<Literal> ParseLiteral(std::string_view text, const Shape& shape);

}  // namespace hlo

#endif  // HLO_PARSER_PARSER_H_
