#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "ir/text/print_order.h"
#include "ir/text/printer.h"

namespace hlo {
namespace {

// All forms have the short spelling of asynchronous ops.
PrintOptions XlaForm() {
  PrintOptions options;
  options.async_sugar = AsyncSugar::kAsXla;
  return options;
}

PrintOptions ShortParsableForm() {
  PrintOptions options = XlaForm();
  options.percent = false;
  options.signature = false;
  options.metadata = false;
  options.index_comments = false;
  options.control_dependencies = false;
  return options;
}

PrintOptions CanonicalForm() {
  PrintOptions options = ShortParsableForm();
  options.canonical_names = true;
  options.bodies = true;
  options.operand_shapes = true;
  options.backend_config = false;
  options.constants = Constants::kSmall;
  return options;
}

PrintOptions FingerprintForm() {
  PrintOptions options = CanonicalForm();
  options.names = false;
  options.module_order = true;
  options.constants = Constants::kEssential;
  return options;
}

Error TooLarge(const Instruction& call, const std::string& what) {
  Error error = ErrorAt(call, "A015", Str("the text, with each body printed where it is called, would be ", what));
  error.exit = ExitCode::kLimit;
  return std::move(error).Hint("the forms long and short print each body once");
}

}  // namespace

PrintOptions ShortForm() {
  PrintOptions options;
  options.percent = false;
  options.layouts = false;
  options.signature = false;
  options.metadata = false;
  options.index_comments = false;
  options.text_order = true;
  options.final_blank_line = false;
  return options;
}

std::span<const PrintForm> PrintForms() {
  static const PrintForm kForms[] = {
      {"long", "XLA's text, changed only where it would not read back as the same module", PrintOptions()},
      {"short", "for reading: without everything that can be derived", ShortForm()},
      {"canonical", "XLA's canonical text: generated names, operand shapes, bodies printed where they are called",
       CanonicalForm()},
      {"fingerprint", "canonical without names and large constants, for hashing", FingerprintForm()},
      {"xla", "XLA's text, even if it reads back as another module", XlaForm()},
      {"short-parsable", "XLA's short text", ShortParsableForm()},
  };
  return kForms;
}

Status CheckBodies(const Module& module, int64_t most_instructions) {
  constexpr int64_t kDeepest = 1000;
  struct Size {
    int64_t instructions = 0, depth = 0;
  };
  std::unordered_map<const Computation*, Size> sizes;
  for (const Computation* computation : PrintOrder::ComputationsOf(module)) {
    Size& size = sizes[computation];
    for (const Instruction* inst : computation->Instructions()) {
      ++size.instructions;
      for (const Computation* called : CalledComputations(*inst)) {
        const Size body = sizes.at(called);
        size.depth = std::max(size.depth, body.depth + 1);
        size.instructions += body.instructions;
        if (size.instructions > most_instructions)
          FAIL(TooLarge(*inst, Str("longer than ", most_instructions, " instructions")));
        if (size.depth > kDeepest) FAIL(TooLarge(*inst, Str("nested more than ", kDeepest, " levels deep")));
      }
    }
  }
  return {};
}

std::string ToString(const Instruction& inst) {
  PrintOptions options = ShortForm();
  options.constants = Constants::kSmall;
  return Print(inst, options);
}

std::string ToString(const Computation& computation) {
  PrintOptions options = ShortForm();
  options.constants = Constants::kSmall;
  return Print(computation, options);
}

}  // namespace hlo
