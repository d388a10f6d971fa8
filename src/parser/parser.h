// HLO text to a Module. The language: docs/language.md.
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

// What to do with `constant({...})`, whose elements the printer left out.
enum class ElidedConstants : uint8_t {
  kKeep,    // They stay as they are, Opcode::kElidedConstant, with a warning (W002).
  kToFill,  // The same without the warning, for those who give them values next (interp/arguments/arguments.h).
  kError,   // P040.
  kGiven,   // ParseOptions::given, each in turn.
};

struct ParseOptions {
  ElidedConstants elided = ElidedConstants::kKeep;
  std::span<const Literal> given;  // For each `{...}` of the text.
  // Nested shapes, operands and literals; inline computations and tuple literals count 16. More is a LimitError that
  // names --max_depth.
  int64_t max_depth = 8192;
  int max_errors = 20;
  // Where wanted: what was read otherwise than it is written (W002, W010).
  std::vector<Diagnostic>* warnings = nullptr;
  // The part of the source to read, for files that hold several modules; all of it when empty.
  SourceRange piece;
};

// A whole module, a module without header, or a single instruction (docs/language.md#files). All errors that could be
// found, up to max_errors, in one Error. The module keeps the source, and every instruction its range in it. Not
// verified.
Result<std::unique_ptr<Module>> Parse(std::shared_ptr<const SourceText> source, const ParseOptions& options = {});

// The pieces of a file that holds several modules, parted by lines that begin with "// -----". Pieces of blanks and
// comments alone are left out.
std::vector<SourceRange> SplitInput(const SourceText& source);

// "f32[2,3]{1,0}", and nothing after it.
Result<Shape> ParseShape(std::string_view text);
// "{1, 2}" as a literal of `shape`.
Result<Literal> ParseLiteral(std::string_view text, const Shape& shape);

}  // namespace hlo

#endif  // HLO_PARSER_PARSER_H_
