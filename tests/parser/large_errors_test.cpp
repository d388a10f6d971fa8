// Tests that only the one error in the middle of a long text is reported, at its place and with its line.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "base/text.h"
#include "parser/parser.h"

namespace hlo {
namespace {

struct LongText {
  std::string text;
  int line = 0;  // The 1-based line of the error.
};

// A chain of instructions with metadata, of about `bytes` bytes. The middle instruction is an `ad`.
LongText WithErrorInTheMiddle(size_t bytes) {
  LongText out{.text = "HloModule long_chain\n\nENTRY main {\n  x.0 = f32[2,3] parameter(0)\n", .line = 4};
  out.text.reserve(bytes + 200);
  const auto add = [&](int64_t i, std::string_view opcode) {
    out.text += Str("  x.", i, " = f32[2,3] ", opcode, "(x.", i - 1, ", x.0), metadata={op_name=\"jit(f)/layer_", i,
                    "/add\" source_file=\"model.py\"}\n");
  };
  int64_t i = 1;
  for (; out.text.size() < bytes / 2; ++i, ++out.line) add(i, "add");
  add(i++, "ad");
  ++out.line;
  for (; out.text.size() < bytes; ++i) add(i, "add");
  out.text += Str("  ROOT r = f32[2,3] negate(x.", i - 1, ")\n}\n");
  return out;
}

void ExpectOneError(size_t bytes) {
  const LongText text = WithErrorInTheMiddle(bytes);
  const auto source = std::make_shared<const SourceText>("long.hlo", text.text);
  const auto module = Parse(source);
  ASSERT_FALSE(module.has_value());
  ASSERT_EQ(module.error().diagnostics.size(), 1u);
  const std::string_view line = source->Line(text.line);
  const size_t at = line.find(" ad(") + 1;
  ASSERT_NE(at, 0u) << line;
  const std::string number = std::to_string(text.line);
  // A line of more than 120 bytes would be shortened.
  ASSERT_LT(line.size(), 120u);
  EXPECT_EQ(Render(module.error(), "test"),
            Str("long.hlo:", number, ":", at + 1, ": error: [P031] unknown opcode 'ad'; did you mean 'add'?\n",
                std::string(std::max<size_t>(5, number.size()) - number.size(), ' '), number, " | ", line, "\n",
                std::string(std::max<size_t>(5, number.size()), ' '), " | ", std::string(at, ' '), "^~\n"));
}

TEST(ParserLargeErrors, AreLocatedInTenKilobytes) { ExpectOneError(10'000); }
TEST(ParserLargeErrors, AreLocatedInAMegabyte) { ExpectOneError(1'000'000); }
TEST(ParserLargeErrors, AreLocatedInFortyMegabytes) { ExpectOneError(40'000'000); }

}  // namespace
}  // namespace hlo
