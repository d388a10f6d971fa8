// Reads values in the syntax of HLO text, such as shardings in strings.
#ifndef HLO_PARSER_MLIR_HLO_VALUES_H_
#define HLO_PARSER_MLIR_HLO_VALUES_H_

#include <memory>
#include <string>

#include "base/text.h"
#include "parser/reader.h"

namespace hlo::mlir {

// `range` is the place of the text in the MLIR source, for errors.
template <class T>
Result<T> ReadHloValue(std::string text, SourceRange range) {
  Reader reader(std::make_shared<const SourceText>("<value>", std::move(text)), {});
  T value;
  if (!reader.Read(value)) FAIL(Rejected("P037", "the text does not have the form of this value", range));
  return value;
}

}  // namespace hlo::mlir

#endif  // HLO_PARSER_MLIR_HLO_VALUES_H_
