// Writes parts of a module as the messages that proto_values.h reads.
#ifndef HLO_PARSER_WRITE_VALUES_H_
#define HLO_PARSER_WRITE_VALUES_H_

#include <string_view>

#include "ir/attrs.h"
#include "ir/literal.h"
#include "parser/message_writer.h"

namespace hlo {

// An enum word's number. Ignores case and the common prefix: "dot_f32_f32_f32" is ALG_DOT_F32_F32_F32. 0 for "".
int64_t EnumNumber(const ProtoField& field, std::string_view word);

void WriteShape(const Shape& shape, MessageWriter& out);
void WriteLiteral(const Literal& literal, MessageWriter& out);
void WriteWindow(const Window& window, MessageWriter& out);
void WriteDimLabels(const DimLabels& labels, MessageWriter& out);
void WriteSharding(const Sharding& sharding, MessageWriter& out);
void WriteReplicaGroups(const ReplicaGroups& groups, MessageWriter& inst);
// `own` is the instruction's name.
void WriteMetadata(const Metadata& metadata, std::string_view own, MessageWriter& out);
void WriteFrontendAttributes(const FrontendAttributes& attributes, MessageWriter& out);
void WriteResultAccuracy(const ResultAccuracy& accuracy, MessageWriter& out);
void WriteParameterReplication(const LeafFlags& flags, MessageWriter& out);
std::string BytesOf(const BackendConfig& config);
void WriteStackFrames(std::string_view tables, MessageWriter& out);

}  // namespace hlo

#endif  // HLO_PARSER_WRITE_VALUES_H_
