// Converts parts of a module's protocol buffers to HLO text, and writes the parts of a module as such messages. Values
// without a text, such as labels out of range, become invalid text, which the parser reports.
#ifndef HLO_PARSER_PROTO_VALUES_H_
#define HLO_PARSER_PROTO_VALUES_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"
#include "parser/message_writer.h"
#include "parser/wire.h"

namespace hlo {

std::string Lower(std::string_view text);
std::string ListText(const std::vector<int64_t>& values);
std::string EnumText(ProtoEnum type, int64_t value);
std::string EnumText(const WireMessage& message, const ProtoField& field);
// An enum word's number. Ignores case and the common prefix: "dot_f32_f32_f32" is ALG_DOT_F32_F32_F32. 0 for "".
std::optional<int64_t> FindEnumNumber(const ProtoField& field, std::string_view word);
int64_t EnumNumber(const ProtoField& field, std::string_view word);
// Replaces all characters except letters, digits, '_', '.' and '-' by '_'.
std::string WordText(std::string_view text);
// Like WordText, but also changes names that begin with "__" or without a letter, and names of element types, as XLA's
// reader does.
std::string SanitizedName(std::string_view name);
// Resolves the escapes of a quoted string. Other texts stay the same.
std::string UnquotedValue(std::string_view text);

std::string ShapeText(const WireMessage& shape);  // ShapeProto
void WriteShape(const Shape& shape, MessageWriter& out);
std::string ShardingText(const WireMessage& sharding);  // OpSharding
void WriteSharding(const Sharding& sharding, MessageWriter& out);
std::string ReplicaGroupsText(const WireMessage& inst);  // HloInstructionProto
void WriteReplicaGroups(const ReplicaGroups& groups, MessageWriter& inst);
std::string DimLabelsText(const DimLabels& labels);
std::string FrontendAttributesText(const WireMessage& attributes);  // FrontendAttributes
void WriteFrontendAttributes(const FrontendAttributes& attributes, MessageWriter& out);
std::string StatisticsText(const WireMessage& statistics);    // StatisticsViz
std::string ResultAccuracyText(const WireMessage& accuracy);  // ResultAccuracy
void WriteResultAccuracy(const ResultAccuracy& accuracy, MessageWriter& out);
void WriteParameterReplication(const LeafFlags& flags, MessageWriter& out);
// `own` is the instruction's name.
void WriteMetadata(const Metadata& metadata, std::string_view own, MessageWriter& out);
// OriginalValueProto of an instruction with this ShapeProto.
std::string OriginText(const WireMessage& origin, const WireMessage& shape);
std::string StackFramesText(const WireMessage& frames);  // StackFrameIndexProto
void WriteStackFrames(std::string_view tables, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_VALUES_H_
