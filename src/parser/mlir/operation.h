// The operations of an MLIR text as a tree. Texts are views of the source.
#ifndef HLO_PARSER_MLIR_OPERATION_H_
#define HLO_PARSER_MLIR_OPERATION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/inline_vector.h"
#include "base/result.h"
#include "ir/literal.h"
#include "ir/shape.h"

namespace hlo::mlir {

struct OpRow;
struct NamedAttribute;

// The value of dense<...>. If all elements are the same number, `value` is a scalar.
struct Elements {
  Shape shape;
  Literal value;
};

struct Attribute {
  enum class Kind : uint8_t {
    kUnit,
    kBool,
    kInteger,
    kFloat,
    kString,
    kWord,        // DEFAULT, or #stablehlo<precision DEFAULT>.
    kSymbol,      // @main
    kArray,       // [...] and array<i64: ...>
    kDictionary,  // {...}, and the fields of an attribute of a dialect such as #stablehlo.dot<...>.
    kElements,    // dense<...>
    kType,
    kText,  // The text between the brackets of another attribute of a dialect.
  };
  Kind kind = Kind::kUnit;
  SourceRange range;
  int64_t integer = 0;    // kBool, kInteger
  double real = 0;        // kFloat
  std::string text;       // kString, kWord, kSymbol, kText
  std::string_view name;  // The name of a dialect's attribute, such as "sdy.sharding".
  std::vector<Attribute> items;
  std::vector<NamedAttribute> entries;
  std::shared_ptr<const Elements> elements;

  const Attribute* Find(std::string_view name) const;
};

struct NamedAttribute {
  std::string_view name;
  SourceRange range;  // The range of the name.
  Attribute value;
};

// Values are numbered in the order of their definitions in the text.
using ValueId = int32_t;

struct Argument {
  std::string_view name;
  SourceRange range;
  SourceRange location;
  std::vector<NamedAttribute> attributes;
};

struct Operation;

// A region with one block. Its values have ids of at least `first_value`, and the arguments have the first ids.
struct Region {
  ValueId first_value = 0;
  std::vector<Argument> arguments;
  std::vector<Operation> operations;
};

struct Operation {
  std::string_view name;         // Such as "stablehlo.add".
  std::string_view result_name;  // Without '%'.
  SourceRange range;             // Ends before the first region.
  SourceRange name_range;
  const OpRow* row = nullptr;  // Null for an unknown name.
  InlineVector<ValueId, 3> operands;
  ValueId first_result = 0;
  int32_t result_count = 0;
  std::vector<NamedAttribute> attributes;
  std::vector<Region> regions;
  SourceRange location;         // The text in loc(...), or empty.
  std::vector<Shape> declared;  // The types of a function's results.
  // The results of a loop that are in its state (simplify.h). Its operands are their initial values.
  std::vector<int32_t> carried;
  bool is_dead = false;

  const Attribute* Find(std::string_view attribute) const;
};

struct Document {
  std::string_view name;
  std::vector<NamedAttribute> attributes;
  std::vector<Operation> operations;  // Of the module's body.
  // Names of meshes and their texts, such as <["x"=2]>.
  std::vector<std::pair<std::string_view, std::string_view>> meshes;
  std::vector<Shape> shapes;                                    // Indexed by ValueId.
  std::unordered_map<std::string_view, SourceRange> locations;  // The texts of #loc aliases.
};

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_OPERATION_H_
