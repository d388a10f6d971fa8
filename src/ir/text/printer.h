// Modules as HLO text (docs/language.md#printing). The long form is XLA's, byte for byte, and what stages read back;
// the short form is for people and golden files; canonical and fingerprint are XLA's, for comparing and hashing.
#ifndef HLO_IR_TEXT_PRINTER_H_
#define HLO_IR_TEXT_PRINTER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// fusion-start(x) for an async-start around a fusion.
enum class AsyncSugar : uint8_t {
  kNone,
  kReadable,  // Where it reads back as what it was.
  kAsXla,     // Also all-reduce-start for an async-start around an all-reduce, which reads as another op.
};

enum class Constants {
  kAll,
  kSmall,      // Arrays of more than 10 elements, and tuples, print as {...}.
  kEssential,  // What tells programs apart at a small cost: 0 or 1 where all elements are; integers; else {...}.
};

struct PrintOptions {
  bool names = true;             // Of the module and its computations; parameter_replication too.
  bool canonical_names = false;  // tmp_0, tmp_1, ... in each computation, in order; a lone instruction has none.
  bool percent = true;           // %names.
  bool layouts = true;           // All, and entry_computation_layout; else those that are not the default.
  bool signature = true;         // (x: f32[2]) -> f32[2] of computations.
  bool metadata = true;          // Stack frames too.
  bool backend_config = true;
  Constants constants = Constants::kAll;
  bool operand_shapes = false;  // add(f32[2]{0} %x, ...), which XLA before 2023 asked for.
  bool index_comments = true;   // /*index=5*/ before every fifth operand and tuple element.
  bool control_dependencies = true;
  bool bodies = false;  // to_apply={ ... }: bodies in place of names. Each call prints its own: see CheckBodies.
  AsyncSugar async_sugar = AsyncSugar::kReadable;
  bool text_order = false;    // Instructions in the module's order, as far as operands come first; else XLA's.
  bool module_order = false;  // Computations in the module's order, callees first; else XLA's.
  bool final_blank_line = true;
};

// --hlo_print=short: no %, no layouts that say nothing, no signatures, no metadata, in the order of the text.
PrintOptions ShortForm();

// What --hlo_print takes, a row each.
struct PrintForm {
  std::string_view name;
  std::string_view what;
  PrintOptions options;
};
std::span<const PrintForm> PrintForms();

// Whether bodies in place of names can be printed. Errors (kLimit): a computation of more than `most_instructions`,
// those of the bodies counted at each call; calls nested more than 1000 deep.
Status CheckBodies(const Module& module, int64_t most_instructions = 10'000'000);

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
std::string Print(const Instruction& inst, const PrintOptions& options = {});  // One line, without ROOT or indentation.
std::string Print(const Literal& literal);                                     // As inside constant(...).
std::string ConstantText(const Literal& literal, Constants constants);         // The same, or {...}.

// `name=text`, as it is printed.
struct PrintedAttribute {
  std::string_view name;
  std::string text;
  bool names_computations = false;
};
// In the order of printing, of what is not left out because it says nothing; control dependencies stand among them. The
// value of a constant and the number of a parameter, which print as operands, do not.
std::vector<PrintedAttribute> PrintedAttributes(const Instruction& inst, const PrintOptions& options = {});
// Of the header.
std::vector<PrintedAttribute> PrintedAttributes(const Module& module, const PrintOptions& options = {});

// For messages: `add.5 = f32[2] add(x, y)`, large constants elided.
std::string ToString(const Instruction& inst);
std::string ToString(const Computation& computation);

// A number as XLA prints it: f32 and f64 with as many digits as reading it back needs (6 or 9, 15 or 17), narrower
// floats with the digits that tell their values apart, complex as (re, im).
void AppendElement(std::string& out, const Literal& literal, int64_t linear);
// A string in double quotes, with C's escapes.
std::string Quoted(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_TEXT_PRINTER_H_
