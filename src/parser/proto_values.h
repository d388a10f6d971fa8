// Converts parts of a module's protocol buffers to HLO text. Values without a text, such as labels out of range, become
// invalid text, which the parser reports.
#ifndef HLO_PARSER_PROTO_VALUES_H_
#define HLO_PARSER_PROTO_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

#include "parser/wire.h"

namespace hlo {

std::string ListText(const std::vector<int64_t>& values);
// The word of an enum value without `prefix`.
std::string EnumText(const WireMessage& message, const ProtoField& field, std::string_view prefix = "");
// Replaces all characters except letters, digits, '_', '.' and '-' by '_'.
std::string WordText(std::string_view text);
// Like WordText, but also changes names that begin with "__" or without a letter, and names of element types, as XLA's
// reader does.
std::string SanitizedName(std::string_view name);

std::string ShapeText(const WireMessage& shape);  // ShapeProto
std::string WindowText(const WireMessage& window);
std::string DimLabelsText(const WireMessage& labels);               // ConvolutionDimensionNumbers
std::string PaddingText(const WireMessage& padding);                // PaddingConfig
std::string ShardingText(const WireMessage& sharding);              // OpSharding
std::string MetadataText(const WireMessage& metadata);              // OpMetadata
std::string FrontendAttributesText(const WireMessage& attributes);  // FrontendAttributes
std::string StatisticsText(const WireMessage& statistics);          // StatisticsViz
std::string ResultAccuracyText(const WireMessage& accuracy);        // ResultAccuracy
std::string SparsityText(const WireMessage& sparsity);              // SparsityConfig
std::string ReplicaGroupsText(const WireMessage& inst);             // HloInstructionProto
// OriginalValueProto of an instruction with this ShapeProto.
std::string OriginText(const WireMessage& origin, const WireMessage& shape);
std::string StackFramesText(const WireMessage& frames);  // StackFrameIndexProto

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_VALUES_H_
