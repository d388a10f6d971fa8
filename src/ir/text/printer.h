// Prints modules as HLO text (docs/language.md#printing). The long form is XLA's, except where that would read back as
// another module. The short form is for people and golden files. The canonical and fingerprint forms are XLA's, for
// comparing and hashing.
#ifndef HLO_IR_TEXT_PRINTER_H_
#define HLO_IR_TEXT_PRINTER_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "ir/module.h"

namespace hlo {

// Whether to print fusion-start(x) for an async-start around a fusion.
enum class AsyncSugar : uint8_t {
  kNone,
  kReadable,  // If the parser reads it as the same module.
  kAsXla,     // Also all-reduce-start, which is parsed as another op.
};

enum class Constants {
  kAll,
  kSmall,      // Arrays of more than 10 elements, and tuples, are printed as {...}.
  kEssential,  // Splats of 0 or 1, and up to 500'000 integers, are printed. Others are {...}.
};

struct PrintOptions {
  bool names = true;             // Names and parameter_replication.
  bool canonical_names = false;  // tmp_0, tmp_1, ...; a single instruction has no name.
  bool percent = true;           // %names.
  bool layouts = true;           // If false, only layouts that are not the default.
  bool signature = true;         // (x: f32[2]) -> f32[2].
  bool metadata = true;          // Metadata and stack frames.
  bool backend_config = true;
  Constants constants = Constants::kAll;
  bool operand_shapes = false;  // add(f32[2]{0} %x, ...), required by XLA before 2023.
  bool index_comments = true;   // /*index=5*/ before every fifth operand and tuple element.
  bool control_dependencies = true;
  bool bodies = false;  // to_apply={ ... } instead of names. See CheckBodies.
  AsyncSugar async_sugar = AsyncSugar::kReadable;
  bool text_order = false;    // Instructions in the order of Computation::PostOrder. Otherwise in XLA's.
  bool module_order = false;  // Computations in the module's order, callees first. Otherwise in XLA's.
  bool final_blank_line = true;
};

// The form of --hlo_print=short.
PrintOptions ShortForm();

struct PrintForm {
  std::string_view name;
  std::string_view what;
  PrintOptions options;
};
std::span<const PrintForm> PrintForms();

// Errors (kLimit): more than `most_instructions`, where each call counts the body again; calls nested more than 1000
// deep.
Status CheckBodies(const Module& module, int64_t most_instructions = 10'000'000);

std::string Print(const Module& module, const PrintOptions& options = {});
std::string Print(const Computation& computation, const PrintOptions& options = {});
std::string Print(const Instruction& inst, const PrintOptions& options = {});  // One line without ROOT.
std::string Print(const Literal& literal);                                     // As inside constant(...).
std::string ConstantText(const Literal& literal, Constants constants);         // As inside constant(...), or {...}.

struct PrintedAttribute {
  std::string_view name;
  std::string text;
  bool names_computations = false;
};
// Attributes in the order of printing, with control dependencies. A constant's value and a parameter's number are
// printed as operands.
std::vector<PrintedAttribute> PrintedAttributes(const Instruction& inst, const PrintOptions& options = {});
std::vector<PrintedAttribute> PrintedAttributes(const Module& module, const PrintOptions& options = {});

// For messages, with large constants elided.
std::string ToString(const Instruction& inst);
std::string ToString(const Computation& computation);

// A number in XLA's form. f32 has 6 digits and f64 15, or 9 and 17 if reading back needs them. Complex numbers are (re,
// im).
void AppendElement(std::string& out, const Literal& literal, int64_t linear);
std::string Quoted(std::string_view text);

}  // namespace hlo

#endif  // HLO_IR_TEXT_PRINTER_H_
