// Makes an HLO module of a document.
#ifndef HLO_PARSER_MLIR_LOWERING_H_
#define HLO_PARSER_MLIR_LOWERING_H_

#include <algorithm>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"
#include "ir/module.h"
#include "parser/mlir/locations.h"
#include "parser/mlir/operation.h"
#include "parser/parser.h"

namespace hlo::mlir {

class Lowering {
 public:
  Lowering(const Document& document, std::string_view text, Module& module, const ParseOptions& options)
      : document_(document), text_(text), module_(module), locations_(document, text), max_depth_(options.max_depth) {}

  Status LowerDocument();

  // ---- For the builders of operations ----

  std::string_view Text(SourceRange range) const { return text_.substr(range.begin, range.end - range.begin); }
  const Shape& ShapeOf(ValueId value) const { return document_.shapes[value]; }
  const Shape& OperandShape(const Operation& op, size_t i) const { return ShapeOf(op.operands[i]); }
  const Shape& ResultShape(const Operation& op, int32_t i = 0) const { return ShapeOf(op.first_result + i); }
  // The shape of the only result, or a tuple.
  Shape ShapeOfResults(const Operation& op) const;

  Instruction& Value(ValueId value) const { return *values_[value]; }
  Instruction& Operand(const Operation& op, size_t i) const { return Value(op.operands[i]); }
  Operands AllOperands(const Operation& op) const;
  void SetResult(const Operation& op, int32_t i, Instruction& inst) { values_[op.first_result + i] = &inst; }
  // `inst` is the only result, or a tuple with the results.
  Status SetResults(const Operation& op, Instruction& inst);

  // Adds an instruction with the name, the place and the metadata of `op`.
  Instruction& Add(const Operation& op, Opcode opcode, Shape shape, Operands operands, Attributes attrs = NoAttrs());
  // A constant with this value, or a scalar constant and a broadcast. Equal constants of a computation are one, as in
  // XLA.
  Instruction& Constant(const Operation& op, Literal value, const Shape& shape);
  // As Add and SetResults. Checks the number of operands.
  Status Build(const Operation& op, Operands operands, Attributes attrs = NoAttrs());
  // The only value, or a tuple with all of them.
  Instruction& Together(const Operation& op, Operands values);

  Status ExpectRegions(const Operation& op, size_t count) const;
  // The computation of a region whose arguments become parameters. It may use only constants from outside.
  Result<Computation*> LowerRegion(const Operation& op, size_t region);
  // The computation of a region of control flow. Values from outside follow the arguments, of which those with the
  // numbers `carried` are passed. All are in one parameter, which is a tuple unless there is only one. With
  // `returns_captured`, the values from outside follow the results.
  Result<Computation*> LowerControlRegion(const Operation& op, size_t region, std::span<const int32_t> carried,
                                          const std::vector<ValueId>& captured, bool returns_captured);
  // The values from outside that regions use, except constants, in the order of uses.
  std::vector<ValueId> Captured(std::span<const Region> regions) const;

  Result<Computation*> LowerFunction(std::string_view name, const Operation& user);
  // A custom call with the frontend attributes {ATTRIBUTES}, whose text has the form of HLO.
  Result<Instruction*> Marker(const Operation& op, std::string target, Shape shape, Operands operands,
                              std::string attributes, bool has_side_effect);
  // The sharding that the text between the brackets of #sdy.sharding<...> means for an array, or none.
  std::optional<Sharding> ShardyToTiles(std::string_view text, int64_t rank) const;

  // Makes the root of the current computation.
  Status Return(const Operation& op);

 private:
  struct Function {
    const Operation* op = nullptr;
    Computation* computation = nullptr;
    bool is_open = false;  // Its body is being lowered.
  };
  Status FindFunctions();
  Result<const Operation*> EntryFunction() const;
  Status CheckResults(const Operation& function) const;
  Status LowerHeader();
  Status LowerEntryAttributes(const Operation& function);
  Status LowerBody(const Region& region, SourceRange range);
  Status LowerOperation(const Operation& op);
  Instruction* WithNeutral(const Operation& op, double value) const;
  Instruction* SameValue(const Operation& op);
  void RemoveDeadConstants(Computation& computation);
  Status LowerConstants(const std::vector<ValueId>& constants);
  void FindCaptured(const Region& region, ValueId outside, std::vector<bool>& seen,
                    std::vector<ValueId>& captured) const;
  bool IsConstant(ValueId value) const;
  Instruction& AddParameter(const Argument& argument, Shape shape, std::string_view name = "");

  // ---- Shardings and frontend attributes (annotations.cpp) ----
  struct Annotations {
    Shared<Sharding> sharding;
    FrontendAttributes frontend;
  };
  Result<Annotations> AnnotationsIn(const std::vector<NamedAttribute>& attributes) const;
  // Adds the sharding that an attribute of Shardy means for XLA's other partitioner.
  void AddShardySharding(const std::vector<NamedAttribute>& attributes, int64_t rank, Annotations& annotations) const;
  // Several results share a tuple of shardings.
  void Annotate(const Annotations& annotations, const Operation& op, Instruction& inst) const;
  Status AnnotateParameters(const Region& region, const Computation& computation, bool is_entry) const;
  // Shardy's sharding of a result becomes a custom call.
  Status MarkResult(const Operation& op, const Attribute& attributes, Instruction*& value);
  // XLA repeats the sharding of the only result on an element of a tuple.
  Status AnnotateResults(const Operation& function);

  std::string NameFor(const Operation& op, Opcode opcode, std::string_view op_name) const;

  const Document& document_;
  std::string_view text_;
  Module& module_;
  Locations locations_;
  int64_t max_depth_;
  int64_t depth_ = 0;
  std::unordered_map<std::string_view, Function> functions_;
  std::vector<Instruction*> values_;                           // Indexed by ValueId.
  std::vector<const Operation*> constant_ops_;                 // Indexed by ValueId. Null for other values.
  std::unordered_multimap<uint64_t, Instruction*> constants_;  // Keyed by a hash of computation and value.
  Annotations annotations_;                                    // For instructions of the current operation.
  Computation* computation_ = nullptr;
  const std::vector<ValueId>* also_returned_ = nullptr;
  const Attribute* result_attributes_ = nullptr;  // Of the function whose body is lowered.
};

// Whether it is a constant, or a scalar constant that is broadcast.
bool IsConstantValue(const Instruction& inst);

// ---- Attributes of operations. Errors are at the attribute or the operation. ----

Error ErrorAtOp(const Operation& op, std::string code, std::string message);
Result<const Attribute*> Need(const Operation& op, std::string_view name);
Result<int64_t> IntOf(const Operation& op, std::string_view name);
Result<int64_t> IntOf(const Operation& op, std::string_view name, int64_t otherwise);
Result<bool> BoolOf(const Operation& op, std::string_view name, bool otherwise);
Result<std::vector<int64_t>> IntsOf(const Operation& op, std::string_view name);
// Empty if there is no such attribute.
Result<std::vector<int64_t>> OptionalIntsOf(const Operation& op, std::string_view name);
Result<std::string> TextOf(const Operation& op, std::string_view name);
Result<double> RealOf(const Operation& op, std::string_view name);
// The numbers of an array, of dense<...> or of one integer.
Result<std::vector<int64_t>> IntsIn(const Attribute& attribute);
// A field of #stablehlo.dot<...>, which is empty if it is not written.
Result<std::vector<int64_t>> IntsOfField(const Attribute& attribute, std::string_view field);
Result<int64_t> IntOfField(const Attribute& attribute, std::string_view field, int64_t otherwise);

// The word of an enum, in any case of letters.
template <class Enum>
Result<Enum> EnumIn(const Attribute& attribute, std::string_view prefix = "") {
  constexpr auto& kWords = EnumWords<Enum>::kWords;
  const std::string text = Str(prefix, attribute.text);
  for (size_t i = 0; i < std::size(kWords); ++i) {
    const auto same = [](char a, char b) { return std::tolower(a) == std::tolower(b); };
    if (!kWords[i].empty() && std::ranges::equal(text, kWords[i], same)) return static_cast<Enum>(i);
  }
  FAIL(Rejected("P038", Str("unknown word '", attribute.text, "'"), attribute.range));
}

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_LOWERING_H_
