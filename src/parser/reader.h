// The parser's state and steps. A step returns false after a failure, which it has reported with Fail, unless it
// follows from an earlier error.
#ifndef HLO_PARSER_READER_H_
#define HLO_PARSER_READER_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "ir/module.h"
#include "parser/lexer.h"
#include "parser/name_map.h"
#include "parser/parser.h"
#include "parser/stack_frames.h"

namespace hlo {

struct AttributeRow;

// Removes quotes and resolves escapes. False for an invalid escape.
bool Unquote(std::string_view quoted, std::string& text);
// Position after the brace that closes the one at `begin`, or null. Ignores braces in strings.
const char* SkipBalanced(const char* begin, const char* end);

// One computation's names. An instruction with an error maps to null, so that its uses report no error.
using Scope = NameMap<Instruction*>;

class Reader {
 public:
  Reader(std::shared_ptr<const SourceText> source, const ParseOptions& options);

  Result<std::unique_ptr<Module>> ReadWhole();
  Result<Shape> ReadLoneShape();
  Result<Literal> ReadLoneLiteral(const Shape& shape);

  // ---- Values of attributes: one function for each type in the attribute structs (read_values.cpp) ----
  bool Read(bool& value);
  bool Read(int64_t& value);
  bool Read(double& value);
  bool Read(std::string& value);
  bool Read(Interned& value);
  bool Read(SchedulingName& value);
  bool Read(RawText& value);
  bool Read(BackendConfig& value);
  bool Read(FrontendAttributes& value);
  bool Read(Statistics& value);
  bool Read(ResultAccuracy& value);
  bool Read(Origin& value);
  bool Read(LeafFlags& value);
  bool Read(PropagationFlags& value);
  bool Read(SparsityConfig& value);
  bool Read(BlockScalingConfig& value);
  bool Read(OperandSparsity& value);
  bool Read(OperandScaling& value);
  bool Read(SparsePattern& value);
  bool Read(GroupModeWord& value) {
    const SourceRange range = token_.range();
    if (!Read(value.mode)) return false;
    Warn("W010", Str("mode=", value.mode, " has no effect: channel_id and use_global_device_ids determine the mode"),
         range);
    return true;
  }
  bool Read(Sharding& value);
  bool Read(Domain& value);
  bool Read(ReplicaGroups& value);
  bool Read(Shared<Sharding>& value) {
    return ReadRepeated(shardings_, value, [&](Shared<Sharding>& read) {
      Sharding sharding;
      if (!Read(sharding)) return false;
      read = std::move(sharding);
      return true;
    });
  }
  bool Read(OneDimension& value);
  bool Read(std::vector<int64_t>& value);
  bool Read(ListOfLists& value);
  bool Read(Window& value);
  bool Read(DimLabels& value);
  bool Read(PaddingConfig& value);
  bool Read(SliceRanges& value);
  bool Read(OperandAliases& value);
  bool Read(Shape& value);
  bool Read(ShapeList& value);
  bool Read(LiteralValue& value);
  bool Read(Metadata& value);
  bool Read(FileLocation& value);
  bool Read(StackFrame& value);
  bool Read(std::vector<Precision>& value);
  bool Read(Computation*& value);
  bool Read(std::vector<Computation*>& value);
  template <class T>
  bool Read(std::optional<T>& value) {
    return Read(value.emplace());
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  bool Read(Enum& value) {
    int index = 0;
    if (!ReadEnum(EnumWords<Enum>::kWords, EnumWords<Enum>::kIgnoreCase, index)) return false;
    value = static_cast<Enum>(index);
    return true;
  }
  template <class Item>
  bool ReadBraced(Item&& item);
  // Unlike ReadBraced, does not accept a comma before the end.
  template <class Item>
  bool ReadList(char open, char close, Item&& item);
  // Reads a value in braces that many instructions repeat. `known` has the values of earlier texts.
  template <class T, class ReadNew>
  bool ReadRepeated(std::unordered_map<std::string_view, T>& known, T& value, ReadNew&& read_new);
  bool ReadRows(std::span<const AttributeRow> rows, void* value, const char* what);
  bool ReadIndexedAlias(ShapeIndex& output, int64_t& number, ShapeIndex& index, bool* must);

 private:
  struct Pending;

  // ---- Tokens (reader.cpp) ----
  void Advance() {
    last_end_ = token_.end;
    lexer_.Next(token_);
  }
  bool Accept(char punctuation) {
    if (!token_.Is(punctuation)) return false;
    Advance();
    return true;
  }
  bool Expect(char punctuation, const char* what) { return Accept(punctuation) || FailExpected(what); }
  bool ExpectAttributeName(std::string_view name, const char* what);
  bool FailExpected(std::string_view what);
  bool Fail(const char* code, std::string message, SourceRange range);
  bool FailLimit(const char* code, std::string message, SourceRange range);
  void AddNote(std::string message, SourceRange range);
  void Warn(const char* code, std::string message, SourceRange range) {
    if (options_.warnings != nullptr) options_.warnings->push_back({code, std::move(message), range, {}, {}});
  }
  void AddHint(std::string hint);
  bool Stopped() const { return fatal_ || diagnostics_.size() >= static_cast<size_t>(options_.max_errors); }
  bool EnterDepth(int64_t levels = 1);
  void LeaveDepth(int64_t levels = 1) { depth_ -= levels; }
  Error TakeError();
  std::string_view Text(SourceRange range) const {
    return source_->text().substr(range.begin, range.end - range.begin);
  }
  // BeginBytes starts reading bytes at the current token. EndBytes continues with the token at `p`.
  const char* BeginBytes() const { return lexer_.Pointer(token_.begin); }
  void EndBytes(const char* p);
  bool SkipSpace(const char*& p) {
    while (*p == ' ') ++p;
    return (static_cast<unsigned char>(*p) > ' ' && *p != '/') || SkipRareSpace(p);
  }
  bool SkipRareSpace(const char*& p);
  bool FailAt(const char* code, std::string message, const char* p, size_t length = 1);
  bool ReadEnum(std::span<const std::string_view> words, bool ignore_case, int& index);
  bool ReadInt(int64_t& value, const char* what);
  bool ReadNumber(double& value);
  bool ReadPlainMetadata(Metadata& value);
  SchedulingName SchedulingNameOf(std::string_view text) const;
  bool ReadTextValue(std::string& value);
  bool ReadOriginTree(std::string& text);
  bool ReadFlags(std::string& text);

  // ---- Shapes (read_shape.cpp) ----
  bool AtShape() const;
  const char* ReadPlainShape(const char* p, Shape& shape) const;
  bool ReadShapeBytes(const char*& p, Shape& shape);
  bool ReadArrayShapeBytes(const char*& p, Shape& shape);
  bool ReadBufferBytes(const char*& p, Shape& shape);
  bool ReadDimsBytes(const char*& p, Dims& dims, Dims& dynamic);
  struct LayoutText;
  bool ReadLayoutBytes(const char*& p, Shape& shape);
  // Limits the number of dimensions and the byte size.
  bool CheckSize(const Shape& shape, SourceRange range);

  // ---- Shardings (read_sharding.cpp) ----
  struct ShardingParts;
  bool ReadShardingPart(ShardingParts& parts);
  bool ReadTileDevices(ShardingParts& parts);
  bool ReadShardingMetadata(std::vector<Metadata>& metadata);
  bool FinishSharding(ShardingParts& parts, Sharding& value);
  bool ReadInts(char open, char close, Dims& values, const char* what);
  bool ReadIota(DeviceOrder& order);
  bool ReadMesh(Mesh& mesh);
  bool ReadMeshDevices(Mesh& mesh);
  bool ReadAxes(const Mesh& mesh, std::vector<AxisRef>& axes, bool* open);
  bool ReadAxis(const Mesh& mesh, AxisRef& ref);
  bool ReadNamedSharding(Sharding& value);
  bool ReadNamedSpec(NamedSharding& named, Reduction& reduction);
  bool ReadUnreduced(NamedSharding& named, Reduction& reduction);
  bool CheckAxes(const NamedSharding& named, SourceRange range);
  bool ReadSubgroups(std::vector<ShardingKind>& kinds);
  void SpreadSharding(Instruction& inst);

  // ---- Literals (read_literal.cpp) ----
  bool ReadLiteral(const Shape& shape, Literal& literal);
  bool ReadLiteralBytes(const char*& p, const Shape& shape, Literal& literal);
  bool ReadShapedLiteralBytes(const char*& p, Literal& literal);
  template <class Element>
  bool ReadDense(const char*& p, const Shape& shape, Literal& literal, Element&& element);
  bool ReadElided(const char*& p, const Shape& shape, Literal& literal);
  bool ReadFirstElement(const char*& p, const Shape& shape, Literal& literal);
  bool FailLiteral(const Shape& shape, std::span<const int64_t> counts, int64_t depth, const char* p);
  bool ReadTupleLiteral(const char*& p, const Shape& shape, Literal& literal);
  bool ReadInteger64(const char*& p, PrimitiveType type, int64_t& value);
  bool ReadFloat(const char*& p, PrimitiveType type, double& value, uint64_t& nan_bits);
  bool ReadPreds(const char*& p, Literal& literal);
  bool ReadIntegers(const char*& p, Literal& literal);
  bool ReadComplexNumbers(const char*& p, Literal& literal);
  bool ReadF32s(const char*& p, Literal& literal);
  bool ReadFloats(const char*& p, Literal& literal);
  bool FailRange(PrimitiveType type, const char* p, size_t length);

  // ---- Instructions (read_instruction.cpp) ----
  bool ReadInstructions();  // Continues after errors.
  bool ReadInstruction();
  bool ReadName(std::string_view& name, SourceRange& range);
  bool CheckName(std::string_view name, SourceRange range);
  bool ReadPlainHead(const char*& p, Pending& pending) const;
  bool FinishPlainHead(const char* p, Pending& pending);
  bool ReadHead(Pending& pending);
  bool ReadOpcode(Pending& pending);
  bool ReadRight(std::string_view name, uint32_t begin, Instruction*& inst);
  bool ReadSpecialOperands(Pending& pending);
  void ReadPlainOperands(const char* p, Pending& pending);
  void WarnOfMissingOperand();
  bool ReadOperand(Pending& top, std::vector<Pending>& stack);
  bool ReadReference(const std::optional<Shape>& written, uint32_t begin, Instruction*& inst);
  bool ReadProjections(Instruction*& inst);
  bool MakeParameter(std::string_view name, const std::optional<Shape>& shape, SourceRange range, Instruction*& inst);
  bool ReadAttributeName(Token& name);
  bool ReadAttributes(Pending& pending);
  bool CheckRequired(const Pending& pending, uint64_t seen);
  bool Canonicalize(std::string_view name, CommonAttrs& common, SourceRange range);
  bool ReadControlPredecessors(std::vector<Instruction*>& predecessors);
  bool Build(Pending& pending, std::string_view name, Instruction*& inst);
  bool CheckOperandCount(const Pending& pending);
  bool CheckTupleSize(const Pending& pending);
  bool CheckCollective(Pending& pending);
  bool WrapAsync(Pending& pending);
  bool CheckContinued(const Pending& pending);
  bool FailUndefined(std::string_view name, SourceRange range);
  void Resume(uint32_t name_begin, uint32_t failed_at);

  // ---- Computations and the module (read_module.cpp) ----
  bool ReadModule();
  bool ReadHeader();
  bool ReadOriginRecoveryTable(RawText& table);
  bool ReadDebugAttributes(RawText& table);
  bool ReadHeaderAttribute(std::string_view name, SourceRange range);
  bool ReadStackFrames();
  bool ReadComputations();
  bool FailNoComputation();
  bool ReadComputation();
  struct Signature {
    struct Parameter {
      std::string_view name;
      Shape shape;
      SourceRange range;
    };
    std::vector<Parameter> parameters;
    std::optional<Shape> result;
    SourceRange range, result_range;
  };
  bool ReadSignature(Signature& signature);
  void CompareParameters(const Signature& signature, const Computation& computation);
  bool ReadBody(Computation& computation);
  bool FinishBody(Computation& computation, Instruction* root, SourceRange end);
  void ClaimNames(Computation& computation);
  bool ReadLoneInstruction();
  bool FailNoHlo();
  void FinishHeader();

  std::shared_ptr<const SourceText> source_;
  ParseOptions options_;
  Lexer lexer_;
  Token token_;
  uint32_t last_end_ = 0;  // End of the token before `token_`.

  std::unique_ptr<Module> module_;
  std::optional<StackFrameInterner> stack_frames_;
  NameMap<Computation*> computations_;
  Signature signature_;
  std::vector<Shape> open_elements_;  // Elements of unfinished tuple shapes. A member, to reuse memory.
  std::unordered_map<const Computation*, bool> broken_;  // Computations with errors, whose calls are not checked.

  // The computation that is being read:
  Computation* computation_ = nullptr;
  std::unique_ptr<Scope> scope_;
  std::vector<std::unique_ptr<Scope>> spare_scopes_;
  std::string_view defining_;
  Instruction* root_ = nullptr;
  SourceRange root_keyword_;
  bool lone_ = false;  // Undefined operands of a lone instruction become parameters.
  std::unordered_map<std::string, Instruction*> projections_;
  std::unordered_map<std::string_view, FrontendAttributes> frontend_attributes_;  // Keyed by the text.
  std::unordered_map<std::string_view, Shared<Sharding>> shardings_;
  // Keyed by sharding and number of leaves.
  std::map<std::pair<const Sharding*, int64_t>, Shared<Sharding>> spread_shardings_;

  int64_t depth_ = 0;
  std::optional<size_t> first_elided_;  // Index in diagnostics_ of the error P040.
  int64_t more_elided_ = 0;
  int64_t inferred_shapes_ = 0;
  bool fatal_ = false;
  ExitCode exit_ = ExitCode::kRejected;
  std::vector<Diagnostic> diagnostics_;
};

template <class Item>
bool Reader::ReadBraced(Item&& item) {
  if (!Expect('{', "'{'")) return false;
  while (!Accept('}')) {
    if (!item()) return false;
    if (Accept(',')) continue;
    if (!token_.Is('}')) return FailExpected("',' or '}'");
  }
  return true;
}

template <class Item>
bool Reader::ReadList(char open, char close, Item&& item) {
  if (!Accept(open)) return FailExpected(Str("'", open, "'"));
  if (Accept(close)) return true;
  do {
    if (!item()) return false;
  } while (Accept(','));
  return Accept(close) || FailExpected(Str("',' or '", close, "'"));
}

template <class T, class ReadNew>
bool Reader::ReadRepeated(std::unordered_map<std::string_view, T>& known, T& value, ReadNew&& read_new) {
  const char* begin = BeginBytes();
  const char* end = token_.Is('{') ? SkipBalanced(begin, lexer_.end()) : nullptr;
  const std::string_view written = end == nullptr ? std::string_view() : std::string_view(begin, end - begin);
  if (const auto found = known.find(written); found != known.end()) {
    value = found->second;
    EndBytes(end);
    return true;
  }
  if (!read_new(value)) return false;
  if (end != nullptr && last_end_ == lexer_.Offset(end)) known.emplace(written, value);
  return true;
}

}  // namespace hlo

#endif  // HLO_PARSER_READER_H_
