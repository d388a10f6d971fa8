// Texts of attribute values, as in a printed instruction.
#ifndef HLO_IR_TEXT_ATTRIBUTE_TEXT_H_
#define HLO_IR_TEXT_ATTRIBUTE_TEXT_H_

#include <string>

#include "ir/attrs.h"

namespace hlo {

// Values that print alike with all PrintOptions.
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

// For Window, DimLabels, PaddingConfig, SliceRanges, OperandAliases, ListOfLists, SparsityConfig, BlockScalingConfig.
template <class T>
std::string AttributeText(const T& value);

}  // namespace hlo

#endif  // HLO_IR_TEXT_ATTRIBUTE_TEXT_H_
