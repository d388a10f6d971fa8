// The state and the steps of reading MLIR text to a Document. Sources: read_text.cpp (operations), forms.cpp (the
// pretty forms of ops), attributes.cpp, elements.cpp (dense<...>), types.cpp.
#ifndef HLO_PARSER_MLIR_TEXT_READER_H_
#define HLO_PARSER_MLIR_TEXT_READER_H_

#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parser/mlir/lexer.h"
#include "parser/mlir/operation.h"
#include "parser/parser.h"

namespace hlo::mlir {

class TextReader {
 public:
  TextReader(std::string_view text, const ParseOptions& options)
      : lexer_(text, options.piece), max_depth_(options.max_depth) {
    constexpr size_t kBytesOfLine = 100;
    names_.reserve(text.size() / kBytesOfLine);
  }

  Result<Document> Read();

 private:
  // ---- Operations (read_text.cpp) ----
  Status ReadTopLevel();
  Status ReadAlias();
  Status ReadMesh();
  Status ReadModule();
  Status ReadGenericModule();
  Result<Operation> ReadOperation();
  Status ReadResults(Operation& op, std::vector<std::pair<std::string_view, int32_t>>& names);
  Status DefineResults(Operation& op, const std::vector<std::pair<std::string_view, int32_t>>& names,
                       std::vector<Shape> shapes);
  Status ReadGeneric(Operation& op, std::vector<Shape>& results);
  Status ReadFunction(Operation& op);
  Status ReadFunctionResults(Operation& op);
  Result<Region> ReadRegion(std::vector<Argument> arguments, const std::vector<Shape>& shapes);
  Result<Argument> ReadArgument(Shape& shape);
  Status ReadOperand(Operation& op);
  Status ReadOperands(Operation& op);
  Status ReadLocation(SourceRange& location);
  ValueId Define(std::string_view name, int32_t count);

  // ---- Pretty forms (forms.cpp) ----
  Status ReadPretty(Operation& op, std::vector<Shape>& results);
  Status ReadFormItem(std::string_view item, Operation& op);
  Status ReadSpecialForm(std::string_view form, Operation& op);
  Status ReadTypeClause(const Operation& op, std::vector<Shape>& results);
  Status CheckOperandTypes(const Operation& op, const std::vector<Shape>& shapes, SourceRange range);
  Status ReadConstant(Operation& op, std::vector<Shape>& results);
  Status ReadSliceRanges(Operation& op);
  Status ReadDotDimensions(Operation& op);
  Status ReadWindow(Operation& op);
  Status ReadLabels(Operation& op);
  Status ReadBits(Operation& op);
  Status ReadWhile(Operation& op, std::vector<Shape>& results);
  Status ReadReduce(Operation& op, std::vector<Shape>& results);
  Status ReadReducer(Operation& op);
  Status ReadShardingText(Operation& op, std::string_view name);
  Status ReadManualComputation(Operation& op, std::vector<Shape>& results);
  Status MakeReducer(Operation& op, std::string_view inner, SourceRange range);

  // ---- Attributes (attributes.cpp) ----
  // With `typed`, `: TYPE` may follow a value.
  Result<Attribute> ReadAttribute(bool typed);
  Status ReadNumber(Attribute& attribute);
  Status ReadDialectAttribute(Attribute& attribute);
  Status ReadFields(Attribute& attribute);
  Status ReadWordAttribute(Attribute& attribute);
  Status ReadArrayAttribute(Attribute& attribute);
  Status ReadDictionary(std::vector<NamedAttribute>& entries);  // From '{' on.
  Status ReadOptionalDictionary(std::vector<NamedAttribute>& entries);
  Status ReadElements(Attribute& attribute);  // After `dense`.

  // ---- Types (types.cpp) ----
  Result<Shape> ReadType();
  Result<Shape> ReadTensor();
  Result<PrimitiveType> ReadElementType();
  Status ReadBounds(Shape& shape, std::vector<bool>& dynamic, SourceRange range);
  Status ReadTypes(std::vector<Shape>& shapes);         // `a, b`
  Status ReadTypesOrGroup(std::vector<Shape>& shapes);  // `a` or `(a, b)`

  Status EnterDepth(int levels);
  void LeaveDepth(int levels) { depth_ -= levels; }

  Lexer lexer_;
  int64_t max_depth_;
  int64_t depth_ = 0;
  Document document_;
  std::unordered_map<std::string_view, Attribute> attribute_aliases_;
  std::unordered_map<std::string_view, Shape> type_aliases_;

  struct Named {
    ValueId first = -1;  // -1: not defined.
    int32_t count = 0;
  };
  std::unordered_map<std::string_view, Named> names_;
  std::vector<std::pair<std::string_view, Named>> hidden_;  // Names to restore at the end of a region.
};

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_TEXT_READER_H_
