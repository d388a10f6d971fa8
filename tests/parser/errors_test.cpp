// Tests of invalid texts: the message, its place and the exit code. Every case is an Error, never a crash or a hang.
#include <gtest/gtest.h>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"

namespace hlo {
namespace {

// "LINE:COLUMN CODE" for each diagnostic of parsing or, if parsing succeeds, of verification. "ok" if both succeed.
std::string Verdict(const std::string& text, ExitCode* exit = nullptr) {
  const auto source = std::make_shared<const SourceText>("test.hlo", text);
  auto module = Parse(source);
  Status status = module ? Verify(**module) : Status(std::unexpected(module.error()));
  if (exit != nullptr) *exit = status ? ExitCode::kOk : status.error().exit;
  if (status) return "ok";
  std::vector<std::string> lines;
  for (const Diagnostic& diagnostic : status.error().diagnostics) {
    const auto place = source->PlaceOf(diagnostic.range.begin);
    lines.push_back(Str(place.line, ":", place.column, " ", diagnostic.code));
  }
  return Join(lines, ", ");
}

// A module whose entry has `p = f32[2,3] parameter(0)` on line 3 and then `instructions`.
std::string In(const std::string& instructions) {
  return Str("HloModule m\nENTRY e {\n  p = f32[2,3] parameter(0)\n", instructions, "\n}\n");
}

TEST(ParserErrors, LocateErrorsOfTheText) {
  EXPECT_EQ(Verdict(""), "1:1 P011");
  EXPECT_EQ(Verdict("// only a comment\n"), "2:1 P011");
  EXPECT_EQ(Verdict(std::string("\x7f"
                                "ELF\0\0\1",
                                7)),
            "1:1 P014");
  EXPECT_EQ(Verdict("module @jit_f { func.func @main() {} }"), "1:1 P014");
  EXPECT_EQ(Verdict("HloModule m\n"), "2:1 P012");
  EXPECT_EQ(Verdict("HloModule m\nENTRY e {\n  p = f32[2,3] parameter(0)\n"), "4:1 P012");
  EXPECT_EQ(Verdict("HloModule m\nENTRY e {\n  p = f32[2,3] param"), "3:16 P031, 3:21 P012");
  EXPECT_EQ(Verdict("HloModule m\nENTRY e {\n  p = f32[2,"), "3:13 P012");
  EXPECT_EQ(Verdict("HloModule m /* never closed"), "1:13 P002");
  EXPECT_EQ(Verdict("HloModule m\nmain (x: f32[]) -> f32[] { ROOT x = f32[] parameter(0) }\n"), "ok");
  EXPECT_EQ(Verdict("main (x: f32[]) -> f32[] { ROOT x = f32[] parameter(0) }\n"), "1:1 P010");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] negate(p)\n}\n}")), "6:1 P010");
}

TEST(ParserErrors, LocateErrorsOfInstructions) {
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] negat(p)")), "4:21 P031");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] add(p)")), "4:26 V001");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] add(p, q)")), "4:28 V008");
  EXPECT_EQ(Verdict(In("  r = f32[2,3] add(p, s)\n  ROOT s = f32[2,3] add(p, r)")), "4:23 V008");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] negate(r)")), "4:28 V008");
  EXPECT_EQ(Verdict(In("  r = f32[2,3] negate(p)\n  ROOT r = f32[2,3] negate(p)")), "5:8 P022");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] negate(p)\n  ROOT s = f32[2,3] negate(p)")), "5:3 P020");
  EXPECT_EQ(Verdict(In("  q = f32[2,3] parameter(2)")), "4:3 V051");
  EXPECT_EQ(Verdict(In("  q = f32[2,3] parameter(0)")), "4:16 V050");
  EXPECT_EQ(Verdict(In("  q = f32[2,3] parameter(99999999999)")), "4:26 V051");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] reverse(p), dimension={0}")), "4:33 P034");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] reverse(p), dimensions={0}, dimensions={0}")), "4:49 P035");
  EXPECT_EQ(Verdict(In("  ROOT r = pred[2,3] compare(p, p)")), "4:22 P036");
  EXPECT_EQ(Verdict(In("  ROOT r = pred[2,3] compare(p, p), direction=LTE")), "4:47 P038");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] negate(f32[2,5] p)")), "4:28 P026");
  EXPECT_EQ(Verdict(In("  ROOT r = reshape(p)")), "4:12 P032");
  EXPECT_EQ(Verdict(In("  ROOT f32 = f32[2,3] negate(p)")), "4:8 P010");
  EXPECT_EQ(Verdict(In("  r= f32[2,3] negate(p)")), "4:3 P010");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] call(p), to_apply=later")), "4:39 V163");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] call(p), to_apply=e")), "4:39 V163");  // Text cannot express recursion.
}

TEST(ParserErrors, LocateErrorsOfShapesAndLiterals) {
  EXPECT_EQ(Verdict(In("  c = f32[2] constant({1, 2, 3})")), "4:30 P041");
  EXPECT_EQ(Verdict(In("  c = f32[2,2] constant({{1, 2}, {3}})")), "4:36 P041");
  EXPECT_EQ(Verdict(In("  c = f32[] constant({1})")), "4:22 P043");
  EXPECT_EQ(Verdict(In("  c = s8[2] constant({127, 128})")), "4:28 P042");
  EXPECT_EQ(Verdict(In("  c = s32[] constant(1.5)")), "4:22 P043");
  EXPECT_EQ(Verdict(In("  c = s32[] constant(true)")), "4:22 P043");
  EXPECT_EQ(Verdict(In("  c = f16[] constant(70000)")), "4:22 P042");
  EXPECT_EQ(Verdict(In("  c = f32[100] constant({...})")), "ok");
  EXPECT_EQ(Verdict(In("  c = f32[99999999999] constant({1})")), "4:33 P041");
  EXPECT_EQ(Verdict(In("  q = f32[2,3]{0} parameter(1)")), "4:15 V004");
  EXPECT_EQ(Verdict(In("  q = f32[2,-3] parameter(1)")), "4:13 V260");
  EXPECT_EQ(Verdict(In("  q = f33[2] parameter(1)")), "4:7 P050");
  // A shape may be large, but its size must fit into 64 bits.
  EXPECT_EQ(Verdict(In("  q = f32[99999999999] parameter(1)")), "ok");
  ExitCode exit;
  EXPECT_EQ(Verdict(In("  q = f32[99999999999,99999999999] parameter(1)"), &exit), "4:7 P092");
  EXPECT_EQ(exit, ExitCode::kLimit);
}

TEST(ParserErrors, RejectTextAfterAShape) {
  EXPECT_EQ(ParseShape("f32[2,3] ")->ToString(), "f32[2,3]");
  EXPECT_EQ(ParseShape("f32[2,3] f32[4]").error().code(), "P010");
  EXPECT_EQ(ParseShape("f32[2,3").error().code(), "P012");
}

TEST(ParserErrors, ReportAllErrorsOnce) {
  const std::string text =
      In("  a = f32[2,3] negat(p)\n"
         "  b = f32[2,3] add(a, zz)\n"   // The error of `a` is already reported. The error of `zz` is not.
         "  c = f32[2,3] add(a, b)\n"    // This line adds no error.
         "  d = f32[2,3] add(p, p, p\n"  // The bracket is never closed. The next line is still read.
         "  ROOT f = f32[2,3] subtract(p, c), metadta={}");
  EXPECT_EQ(Verdict(text), "4:16 P031, 5:23 V008, 8:3 P010, 8:37 P034");
}

TEST(ParserErrors, DeepNestingIsALimit) {
  const auto nested = [](int64_t depth, const char* open, const char* inside, const char* close) {
    std::string text;
    for (int64_t i = 0; i < depth; ++i) text += open;
    text += inside;
    for (int64_t i = 0; i < depth; ++i) text += close;
    return text;
  };
  ExitCode exit = ExitCode::kOk;
  Verdict(In(Str("  q = ", nested(10000, "(", "f32[2]", ")"), " parameter(1)")), &exit);
  EXPECT_EQ(exit, ExitCode::kLimit);
  Verdict(In(Str("  q = ", nested(10000, "negate(", "p", ")"))), &exit);
  EXPECT_EQ(exit, ExitCode::kLimit);
  Verdict(In(Str("  ROOT q = f32[2,3] call(p), to_apply=",
                 nested(10000, "{p = f32[2,3] parameter(0) ROOT r = f32[2,3] call(p), to_apply=", "", "}"))),
          &exit);
  EXPECT_EQ(exit, ExitCode::kLimit);
  Verdict(In(Str("  q = ", nested(600, "(", "f32[2]", ")"), " constant(", nested(600, "(", "{1,2}", ")"), ")")), &exit);
  EXPECT_EQ(exit, ExitCode::kLimit);
  Verdict(In(Str("  q = ", nested(100000, "b(", "f32[2]", ")"), " parameter(1)")), &exit);
  EXPECT_EQ(exit, ExitCode::kRejected);
  Verdict(In(Str("  q = ", nested(500, "(", "f32[2]", ")"), " constant(", nested(500, "(", "{1,2}", ")"), ")")), &exit);
  EXPECT_EQ(exit, ExitCode::kOk);
  Verdict(In(Str("  q = ", nested(8000, "(", "f32[2]", ")"), " parameter(1)")), &exit);
  EXPECT_EQ(exit, ExitCode::kOk);
  Verdict(In(Str("  q = ", nested(8000, "negate(", "p", ")"))), &exit);
  EXPECT_EQ(exit, ExitCode::kOk);
  Verdict(In(Str("  ROOT q = f32[2,3] negate(p), backend_config=", nested(100000, "{", "", "}"))), &exit);
  EXPECT_EQ(exit, ExitCode::kOk);
}

TEST(Verifier, ChecksItsRules) {
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,5] negate(p)")), "4:12 V002");
  EXPECT_EQ(Verdict(In("  q = f32[1,3] parameter(1)\n  ROOT r = f32[2,3] add(p, q)")), "5:28 V031");
  EXPECT_EQ(Verdict(In("  q = s32[2,3] parameter(1)\n  ROOT r = f32[2,3] add(p, q)")), "5:28 V032");
  EXPECT_EQ(Verdict(In("  q = bf16[2,3] parameter(1)\n  ROOT r = f32[2,3] add(p, q)")),
            "ok");  // Only the strict level rejects it.
  EXPECT_EQ(Verdict(In("  q = f32[5,2] parameter(1)\n  ROOT r = f32[2,2] dot(p, q), lhs_contracting_dims={1}, "
                       "rhs_contracting_dims={0}")),
            "5:58 V012");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3,5] broadcast(p), dimensions={0,2}")), "4:37 V056");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[7] reshape(p)")), "4:12 V058");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[3,2] transpose(p), dimensions={0,0}")), "4:35 V062");
  EXPECT_EQ(Verdict(In("  ROOT r = f32[2,3] slice(p), slice={[0:2], [1:4]}")), "4:31 V065");
  EXPECT_EQ(Verdict("HloModule m, entry_computation_layout={(f32[3]{0})->f32[5]{0}}\nENTRY e {\n  p = f32[5] "
                    "parameter(0)\n  ROOT r = f32[5] negate(p)\n}\n"),
            "3:3 V262");
  EXPECT_EQ(
      Verdict("HloModule m\nf {\n  p = f32[5] parameter(0)\n  ROOT r = f32[5] negate(p)\n}\nENTRY e {\n  x = f32[5] "
              "parameter(0)\n"
              "  y = f32[5] fusion(x), kind=kLoop, calls=f\n  ROOT z = f32[5] fusion(y), kind=kLoop, calls=f\n}\n"),
      "9:42 V159");
}

TEST(Verifier, FindsErrorsThatOnlyPassesCanMake) {
  auto module = *Parse(
      std::make_shared<const SourceText>("m",
                                         "HloModule m\nf { ROOT x = f32[] parameter(0) }\n"
                                         "ENTRY e { y = f32[] parameter(0) ROOT z = f32[] call(y), to_apply=f }\n"));
  EXPECT_TRUE(Verify(*module).has_value());
  Computation& f = *module->Computations()[0];
  f.SetRoot(f.Add(Opcode::kCall, Shape::Scalar(PrimitiveType::kF32), {&f.parameter(0)}, CallAttrs{&f}));
  const Status status = Verify(*module);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code(), "V163");
}

// A message refers to the text of the file. For an instruction made by a pass, it names the pass and the original
// instruction. A name that the parser changed, because another computation uses it too, appears as in the file.
TEST(ParserErrors, UseTheNamesOfTheFile) {
  const std::string text =
      "HloModule m\n"
      "f { x = f32[3] parameter(0)\n ROOT y = f32[3] negate(x) }\n"
      "ENTRY e { %x = f32[3] parameter(0)\n ROOT %r = f32[3] call(%x), to_apply=f }\n";
  const auto module = Parse(std::make_shared<const SourceText>("test.hlo", text));
  ASSERT_TRUE(module);
  Computation& entry = (*module)->entry();
  Instruction& x = entry.parameter(0);
  EXPECT_EQ(x.name(), "x.1");
  EXPECT_EQ(ErrorAt(x, "V001", "'x.1' is wrong").message(), "'x' is wrong");
  (*module)->SetMaker("some-pass");
  Instruction& made = entry.AddLike(entry.root(), Opcode::kAbs, x.shape(), {&x});
  (*module)->SetMaker("");
  Instruction& later = entry.AddLike(entry.root(), Opcode::kAbs, x.shape(), {&x});
  EXPECT_EQ(ErrorAt(made, "V001", "'abs' is wrong").message(), "'abs' (made by some-pass from 'r') is wrong");
  EXPECT_EQ(ErrorAt(later, "V001", "'abs.1' is wrong").message(), "'r' is wrong");
  const auto copy = (*module)->Clone(true);
  EXPECT_EQ(copy->MakerOf(*copy->entry().Instructions()[2]), "some-pass");
}

}  // namespace
}  // namespace hlo
