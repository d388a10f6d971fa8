// Parts of a module's protocol buffers as the HLO text that says the same. What no text can say (an element type that
// does not exist, labels out of range) becomes text that the parser refuses, so it is judged in one place. That
// text: docs/language.md.
#ifndef HLO_PARSER_PROTO_VALUES_H_
#define HLO_PARSER_PROTO_VALUES_H_

#include <string>
#include <string_view>
#include <vector>

#include "parser/wire.h"

namespace hlo {

// "{1,0}".
std::string ListText(const std::vector<int64_t>& values);
// The word of an enum's value, of which a prefix that all its words have is left out.
std::string EnumText(const WireMessage& message, const ProtoField& field, std::string_view prefix = "");
// Any text as one word: what is no letter, digit, '_', '.' or '-' becomes '_'.
std::string WordText(std::string_view text);
// The same for a name; one that is an element type or begins with "__" is changed too, as XLA does when it reads a
// module.
std::string SanitizedName(std::string_view name);

std::string ShapeText(const WireMessage& shape);                    // ShapeProto
std::string WindowText(const WireMessage& window);                  // Window
std::string DimLabelsText(const WireMessage& labels);               // ConvolutionDimensionNumbers
std::string PaddingText(const WireMessage& padding);                // PaddingConfig
std::string ShardingText(const WireMessage& sharding);              // OpSharding
std::string MetadataText(const WireMessage& metadata);              // OpMetadata
std::string FrontendAttributesText(const WireMessage& attributes);  // FrontendAttributes
std::string StatisticsText(const WireMessage& statistics);          // StatisticsViz
std::string ResultAccuracyText(const WireMessage& accuracy);        // ResultAccuracy
std::string SparsityText(const WireMessage& sparsity);              // SparsityConfig
std::string ReplicaGroupsText(const WireMessage& inst);             // HloInstructionProto
// OriginalValueProto, of an instruction of this ShapeProto.
std::string OriginText(const WireMessage& origin, const WireMessage& shape);
std::string StackFramesText(const WireMessage& frames);  // StackFrameIndexProto

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_VALUES_H_
