// Modules as HLO text. The long form is XLA's, byte for byte (spec/hlo-text.md 14), and what every stage reads back;
// the short form is for people and golden files.
#ifndef HLO_IR_PRINTER_H_
#define HLO_IR_PRINTER_H_

#include <string>

#include "ir/module.h"

namespace hlo {

// fusion-start(x) for an async-start around a fusion.
enum class AsyncSugar : uint8_t {
  kNone,
  kReadable,  // Where it reads back as what it was.
  kAsXla,     // Also all-reduce-start for an async-start around an all-reduce, which reads as another op.
};

struct PrintOptions {
  bool percent = true;    // %names.
  bool layouts = true;    // All layouts; else those that are not the default.
  bool signature = true;  // (x: f32[2]) -> f32[2] of computations, and the header's entry_computation_layout.
  bool metadata = true;   // Stack frames too.
  bool backend_config = true;
  bool large_constants = true;  // Else arrays of more than 10 elements, and tuples, print as {...}.
  bool operand_shapes = false;  // add(f32[2]{0} %x, ...), which XLA before 2023 asked for.
  bool index_comments = true;   // /*index=5*/ before every fifth operand and tuple element.
  bool control_dependencies = true;
  AsyncSugar async_sugar = AsyncSugar::kReadable;
  bool text_order = false;  // Instructions in the module's order, as far as operands come first; else XLA's.
};

// --hlo_print=short: no %, no layouts that say nothing, no signatures, no metadata, in the order of the text.
PrintOptions ShortForm();

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
std::string Print(const Instruction& inst, const PrintOptions& options = {});  // One line, without ROOT or indentation.
std::string Print(const Literal& literal);                                     // As inside constant(...).

// For messages: `add.5 = f32[2] add(x, y)`, large constants elided.
std::string ToString(const Instruction& inst);
std::string ToString(const Computation& computation);

// A number as XLA prints it: f32 and f64 with as many digits as reading it back needs (6 or 9, 15 or 17), narrower
// floats with the digits that tell their values apart, complex as (re, im).
void AppendElement(std::string& out, const Literal& literal, int64_t linear);
// A string in double quotes, with C's escapes.
std::string Quoted(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_PRINTER_H_
