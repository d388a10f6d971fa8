// Texts of attribute values that do not depend on PrintOptions.
#ifndef HLO_IR_TEXT_ATTRIBUTE_TEXT_H_
#define HLO_IR_TEXT_ATTRIBUTE_TEXT_H_

#include <string>

#include "ir/attrs.h"

namespace hlo {

void AppendValue(std::string& out, const SparsePattern& pattern);
void AppendValue(std::string& out, const OneDimension& dimension);
void AppendValue(std::string& out, const Window& window);
void AppendValue(std::string& out, const DimLabels& labels);
void AppendValue(std::string& out, const PaddingConfig& padding);
void AppendValue(std::string& out, const SliceRanges& slice);
void AppendValue(std::string& out, const OperandAliases& aliases);
void AppendValue(std::string& out, const Shape& shape);
void AppendValue(std::string& out, const ShapeList& list);
void AppendValue(std::string& out, const LiteralValue& literal);

}  // namespace hlo

#endif  // HLO_IR_TEXT_ATTRIBUTE_TEXT_H_
