// Tests of protocol buffers. XLA's files for testdata/proto/*.hlo mean the same as the texts. Changed bytes give a
// module or an error with a place.
#define GTEST_DONT_DEFINE_FAIL 1  // base/result.h defines its own FAIL.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <set>

#include "base/source_text.h"
#include "base/text.h"
#include "ir/text/printer.h"
#include "ir/verifier/verifier.h"
#include "parser/input_format.h"
#include "parser/proto_schema.h"
#include "parser/read_proto.h"
#include "parser/wire.h"
#include "parser/write_proto.h"
#include "tests/properties/properties.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

std::string BytesOf(const fs::path& path) { return std::string((*ReadSource(path.string()))->text()); }

Result<std::unique_ptr<Module>> Read(std::string bytes) {
  return ReadModule(std::make_shared<const SourceText>("test", std::move(bytes)));
}

// The error as "P016: message", or "ok".
std::string Verdict(std::string bytes) {
  const auto module = Read(std::move(bytes));
  return module ? "ok" : Str(module.error().code(), ": ", module.error().message());
}

std::vector<fs::path> FilesWith(std::string_view extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator("testdata/proto")) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// The text form of a module with one constant. `instruction` has its fields besides name, opcode and id.
std::string OneConstant(std::string_view instruction) {
  return Str("computations { id: 1 root_id: 2 instructions { name: 'c' opcode: 'constant' id: 2 ", instruction,
             " } }\nentry_computation_id: 1\n");
}

// Metadata is omitted, because the reader renumbers stack frames, and so is the short form of asynchronous ops.
constexpr PrintOptions kComparable = {.metadata = false, .async_sugar = AsyncSugar::kNone};

std::string Printed(std::string bytes) {
  const auto module = Read(std::move(bytes));
  return module ? Print(**module, kComparable) : Str(module.error().code(), ": ", module.error().message());
}

// WriteProto reads its output back and returns an error if the module differs.
TEST(ParserProto, WritingAndReadingGivesTheModule) {
  int written = 0;
  for (const char* folder :
       {"testdata/models", "testdata/proto", "testdata/run", "testdata/interp", "testdata/parse", "testdata/print"}) {
    if (!fs::exists(folder)) continue;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".hlo" || name.starts_with("bad_")) continue;
      const auto module = Parse(*ReadSource(entry.path().string()));
      if (!module) continue;  // The file tests an error.
      const auto proto = WriteProto(**module);
      // All parts of models can be written. Other texts may have parts without a field, such as the last operand of a
      // sparse dot.
      const bool may_refuse = !std::string_view(folder).ends_with("models");
      EXPECT_TRUE(proto || (may_refuse && (proto.error().code() == "U008" || proto.error().code() == "P040")))
          << entry.path() << ": " << proto.error().message();
      if (!proto) continue;
      EXPECT_EQ(Printed(*proto), Print(**module, kComparable)) << entry.path();
      ++written;
    }
  }
  EXPECT_GE(written, 200);
}

TEST(ParserProto, PartsWithoutAFieldAreNotWritten) {
  const auto module = Parse(std::make_shared<const SourceText>(
      "test", "HloModule m, alias_passthrough_params=true\n\nENTRY e {\n  ROOT p = f32[2] parameter(0)\n}\n"));
  ASSERT_TRUE(module);
  const auto proto = WriteProto(**module);
  ASSERT_FALSE(proto);
  EXPECT_EQ(proto.error().code(), "U008");
  EXPECT_NE(proto.error().message().find("alias_passthrough_params"), std::string::npos) << proto.error().message();
}

TEST(ParserProto, ProtosEqualTheirTexts) {
  int compared = 0;
  for (const fs::path& path : FilesWith(".pb")) {
    const auto from_proto = Read(BytesOf(path));
    ASSERT_TRUE(from_proto) << path << ": " << from_proto.error().message();
    EXPECT_TRUE(Verify(**from_proto, VerifyLevel::kDefault)) << path;
    const auto from_text = Parse(*ReadSource(fs::path(path).replace_extension(".hlo").string()));
    ASSERT_TRUE(from_text) << path;
    EXPECT_EQ(Print(**from_proto), Print(**from_text)) << path;
    ++compared;
  }
  EXPECT_GE(compared, 3);
}

TEST(ParserProto, EveryWrapperIsRecognized) {
  const std::string module = BytesOf("testdata/proto/literals.pb");
  const auto wrap = [](std::string_view bytes) {
    std::string wrapped = "\x0A";
    for (size_t length = bytes.size(); wrapped.size() < 2 || length > 0; length >>= 7)
      wrapped += static_cast<char>((length & 0x7F) | (length >= 0x80 ? 0x80 : 0));
    return Str(wrapped, bytes);
  };
  EXPECT_EQ(Verdict(module), "ok");
  EXPECT_EQ(Verdict(wrap(module)), "ok");
  EXPECT_EQ(Verdict(wrap(wrap(module))), "ok");
  // A blank line is the same byte as the first tag.
  EXPECT_EQ(Verdict("\n\nHloModule m\nENTRY e { ROOT c = f32[] constant(1) }\n"), "ok");
  EXPECT_EQ(InputFormatOf("hlo_module {\n  name: \"m\"\n}"), InputFormat::kTextProto);
  EXPECT_EQ(InputFormatOf("computations {\n  c = f32[] constant(1)\n}"), InputFormat::kHloText);
}

// Field 1000 of a module as a varint, as bytes, and as numbers of 8 and 4 bytes.
TEST(ParserProto, NonemptyUnknownFieldsAreRejected) {
  const std::string module = BytesOf("testdata/proto/calls.pb");
  const std::string refused =
      Str("U010: cannot read field 1000 of HloModuleProto, which hlokit does not know and which may change the module, "
          "at byte ",
          module.size());
  for (const std::string_view field : {"\xC0\x3E\x05", "\xC2\x3E\x02hi",
                                       "\xC1\x3E"
                                       "12345678",
                                       "\xC5\x3E"
                                       "1234"})
    EXPECT_EQ(Verdict(Str(module, field)), refused);
  using namespace std::string_view_literals;
  for (const std::string_view field :
       {"\xC0\x3E\0"sv, "\xC2\x3E\0"sv, "\xC1\x3E\0\0\0\0\0\0\0\0"sv, "\xC5\x3E\0\0\0\0"sv})
    EXPECT_EQ(Verdict(Str(module, field)), "ok");
}

TEST(ParserProto, UnknownFieldsOfMetadataGiveAWarning) {
  const std::string instruction =
      "shape { element_type: F32 } literal { shape { element_type: F32 } f32s: 1.5 } metadata { op_name: 'x' ";
  std::vector<Diagnostic> warnings;
  ParseOptions options;
  options.warnings = &warnings;
  const auto module = ReadModule(
      std::make_shared<const SourceText>("test", OneConstant(instruction + "brightness: 3 hue: '' }")), options);
  ASSERT_TRUE(module) << module.error().message();
  ASSERT_EQ(warnings.size(), 1);
  EXPECT_EQ(warnings[0].code, "W014");
  EXPECT_EQ(warnings[0].message, "ignored: field 'brightness' of OpMetadata");
  EXPECT_EQ(Verdict(OneConstant("brightness: 3")),
            "U010: cannot read field 'brightness' of HloInstructionProto, which hlokit does not know and which may "
            "change the module");
  EXPECT_EQ(
      Verdict(OneConstant("shape { element_type: F32 } literal { dynamic_sizes: 2 }")),
      "U010: cannot read field 'dynamic_sizes' (34) of LiteralProto: sizes of dynamic dimensions below their bounds");
}

// The messages whose unknown fields are metadata. All others reject unknown fields, and so do new messages.
TEST(ParserProto, OnlyMetadataMessagesAcceptUnknownFields) {
  std::set<std::string> noted;
  for (int type = 0; type <= static_cast<int>(ProtoType::kPaddingConfigDimension); ++type) {
    const auto message = static_cast<ProtoType>(type);
    if (UnknownOf(message) == ProtoUnread::kNoted) noted.emplace(NameOf(message));
    for (const ProtoSkipped& row : SkippedOf(message)) {
      EXPECT_FALSE(row.reason.empty()) << NameOf(message) << "." << row.name;
      for (const ProtoField& field : FieldsOf(message)) EXPECT_NE(field.number, row.number) << NameOf(message);
    }
    UnreadFields unread;
    AddUnread(unread, message, 1000, "", 0);
    ASSERT_EQ(unread.size(), 1) << NameOf(message);
    EXPECT_EQ(unread[0].unread, UnknownOf(message));
  }
  const std::set<std::string> expected = {"FileLocation",       "FrontendAttributes", "HloInputs",
                                          "HloProto",           "HloSnapshot",        "MapEntry",
                                          "OpMetadata",         "OriginalArrayProto", "OriginalValueElementProto",
                                          "OriginalValueProto", "StackFrame",         "StackFrameIndexProto",
                                          "Statistic",          "StatisticsViz"};
  EXPECT_EQ(noted, expected);
}

TEST(ParserProto, WrongIdsAreNamed) {
  EXPECT_EQ(Verdict(OneConstant("shape { element_type: F32 } literal { shape { element_type: F32 } f32s: 1.5 }")),
            "ok");
  const auto in_module = [](std::string_view instructions) {
    return Str("computations { name: 'e' id: 1 root_id: 2 ", instructions, " }\nentry_computation_id: 1\n");
  };
  const std::string shape = " shape { element_type: F32 } }";
  EXPECT_EQ(Verdict(in_module("instructions { name: 'n' opcode: 'negate' id: 2 operand_ids: 9" + shape)),
            "V008: operand_ids of 'n' names instruction 9, which the computation does not have");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'n' opcode: 'parameter' id: 3" + shape)),
            "V008: root_id of 'e' names instruction 2, which the computation does not have");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'a' opcode: 'negate' id: 2 operand_ids: 3" + shape +
                              " instructions { name: 'b' opcode: 'negate' id: 3 operand_ids: 2" + shape)),
            "V008: operand 'b' is used before its definition");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'a' opcode: 'call' id: 2 called_computation_ids: 5" + shape)),
            "V163: 'a' calls computation 5, which does not exist");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'a' opcode: 'call' id: 2 called_computation_ids: 1" + shape)),
            "V163: computation 'e' calls itself");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'a' opcode: 'parameter' id: 2" + shape +
                              " instructions { name: 'b' opcode: 'parameter' id: 2" + shape)),
            "P022: two instructions have the id 2");
  EXPECT_EQ(Verdict(in_module("instructions { name: 'a' opcode: 'foo(' id: 2" + shape)), "P031: unknown opcode 'foo_'");
}

TEST(ParserProto, LiteralsMustFitTheirShapes) {
  const std::string f32_3 = "shape { element_type: F32 dimensions: 3 } ";
  EXPECT_EQ(Verdict(OneConstant(f32_3 + "literal { shape { element_type: F32 dimensions: 3 } f32s: [1, 2] }")),
            "P041: a literal of f32[3] has 8 elements or bytes in 'f32s', which do not fill the shape");
  EXPECT_EQ(Verdict(OneConstant(f32_3 + "literal { shape { element_type: F32 dimensions: 2 } f32s: [1, 2] }")),
            "P041: the given literal has the shape f32[2], but the constant has the shape f32[3]");
  EXPECT_EQ(Verdict(OneConstant(f32_3)), "P040: constant 'c' was written without its elements");
  EXPECT_EQ(Verdict(OneConstant("shape { element_type: TOKEN } literal { shape { element_type: TOKEN } }")),
            "P043: a literal cannot have the shape token[]");
  EXPECT_EQ(Verdict(OneConstant("shape { element_type: 99 }")), "P040: constant 'c' was written without its elements");
  EXPECT_EQ(
      Verdict(OneConstant(f32_3 + "literal { shape { element_type: F32 dimensions: [4611686018427387904, 9] } }")),
      "P092: a literal's shape: the shape has more than 2^63 bytes");
}

TEST(ParserProto, TextFormHasItsOwnErrors) {
  const auto place = [](std::string text) {
    const auto module = Read(std::move(text));
    if (module) return std::string("ok");
    const auto at = module.error().source->PlaceOf(module.error().diagnostics[0].range.begin);
    return Str(at.line, ":", at.column, " ", module.error().message());
  };
  EXPECT_EQ(place("name: \"m\"\ncomputations {\n  name: 5\n}"), "3:9 expected a string");
  EXPECT_EQ(place("name: \"m\ncomputations {"), "1:7 the string has no closing quote");
  EXPECT_EQ(place("name: \"\\q\""), "1:8 the string contains an unknown escape");
  EXPECT_EQ(place("name: 'm'\ncomputations {\n  id: 18446744073709551616\n}"), "3:7 expected an integer of 64 bits");
  EXPECT_EQ(place("name: 'm'\ncomputations { instructions { shape { element_type: F31 } } }"),
            "2:53 'element_type' has no value 'F31'");
  EXPECT_EQ(place("name: 'm'\ncomputations {"), "2:15 expected the name of a field, found the end of the text");
  EXPECT_EQ(place("name: 'm'"), "1:7 there is no module: the protocol buffer has no computations");
}

TEST(ParserProto, NestingIsLimited) {
  std::string shape;
  for (int i = 0; i < 20000; ++i) shape += "tuple_shapes { ";
  const auto module = Read(OneConstant("shape { " + shape));
  ASSERT_FALSE(module);
  EXPECT_EQ(module.error().code(), "P091");
  EXPECT_EQ(module.error().exit, ExitCode::kLimit);
}

TEST(ParserProto, EveryTruncationIsAnError) {
  for (const std::string_view extension : {".pb", ".pbtxt"}) {
    for (const fs::path& path : FilesWith(extension)) {
      const std::string bytes = BytesOf(path);
      for (size_t size = 0; size < bytes.size(); ++size)
        EXPECT_EQ(BrokenByModule(bytes.substr(0, size)), "") << path << " cut at " << size;
    }
  }
}

TEST(ParserProto, RandomBytesGiveAModuleOrAnError) {
  std::mt19937 random(20261122);
  const std::vector<fs::path> files = FilesWith(".pb");
  for (int round = 0; round < 6000; ++round) {
    const fs::path& path = files[round % files.size()];
    std::string bytes = BytesOf(path);
    for (uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8); break;
        case 2: bytes.erase(at, 1 + random() % 8); break;
        default: bytes.insert(at, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", random() % 11); break;
      }
      if (bytes.empty()) break;
    }
    EXPECT_EQ(BrokenByModule(bytes), "") << path << " round " << round;
  }
}

TEST(ParserProto, OtherFormatsAreNamed) {
  const std::pair<std::string, std::string> kForeign[] = {
      {"ML\xEFR\x0D", "P014: this is MLIR bytecode (StableHLO, MHLO), not HLO"},
      {std::string("\x1F\x8B\x08\x00", 4), "P014: this is compressed by gzip, not HLO"},
      {std::string("PK\x03\x04\x14\x00", 6), "P014: this is a zip archive (.npz, .keras, .pt2), not HLO"},
      {std::string("\x08\x01\x12\x05", 4), "P014: this is a TensorFlow SavedModel, not HLO"},
      {"//\n// Generated by LLVM NVPTX Back-End\n//\n\n.version 8.3\n", "P014: this is PTX, not HLO"},
      {"; ModuleID = 'm'\n", "P014: this is LLVM IR, not HLO"},
      {"{ lambda ; a:f32[]. let", "P014: this is a jaxpr, not HLO"},
  };
  for (const auto& [bytes, verdict] : kForeign) EXPECT_EQ(Verdict(bytes), verdict);
}

}  // namespace
}  // namespace hlo
