#include "parser/read_proto.h"

#include <algorithm>

#include "base/text.h"
#include "parser/input_format.h"
#include "parser/proto_literal.h"
#include "parser/proto_module.h"

namespace hlo {
namespace {

WireMessage ModuleIn(const ProtoBytes& bytes) {
  WireMessage message = bytes.message();
  switch (bytes.type()) {
    case ProtoType::kHloSnapshot: return message.Message(proto::HloSnapshot::hlo).Message(proto::HloProto::hlo_module);
    case ProtoType::kHloProto: return message.Message(proto::HloProto::hlo_module);
    default: return message;
  }
}

}  // namespace

Result<std::unique_ptr<Module>> ReadModule(std::shared_ptr<const SourceText> source, const ParseOptions& options) {
  const InputFormat format = InputFormatOf(source->text());
  if (format == InputFormat::kHloText) return Parse(std::move(source), options);
  const int64_t max_depth = std::min(options.max_depth, kDeepestMessage);
  const auto bytes = TRY(ProtoBytes::Read(source, format == InputFormat::kTextProto, max_depth));
  TRY(bytes->CheckUnread(options.warnings));
  const WireMessage module = ModuleIn(*bytes);
  if (!module.Has(proto::HloModuleProto::computations))
    FAIL(bytes->At("P011", "there is no module: the protocol buffer has no computations", module.begin()));
  ModuleText written = TRY(TextOfProto(*bytes, module));
  ParseOptions parse = options;
  parse.piece = {};
  parse.elided = ElidedConstants::kGiven;
  parse.given = written.constants;
  return Parse(std::make_shared<const SourceText>(Str(source->name(), " (as HLO text)"), std::move(written.text)),
               parse);
}

Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source) {
  const InputFormat format = InputFormatOf(source->text());
  if (format == InputFormat::kHloText) return std::nullopt;
  const auto bytes = TRY(ProtoBytes::Read(source, format == InputFormat::kTextProto, ParseOptions().max_depth));
  TRY(bytes->CheckUnread(nullptr));
  const WireMessage message = bytes->message();
  RecordedValues values;
  std::vector<WireMessage> arguments;
  using S = proto::HloSnapshot;
  if (bytes->type() == ProtoType::kHloSnapshot) {
    arguments = message.Messages(S::arguments);
    if (message.Has(S::result)) values.result = TRY(LiteralFromProto(*bytes, message.Message(S::result)));
  } else if (bytes->type() == ProtoType::kHloProto) {
    arguments = message.Message(proto::HloProto::partitions).Messages(proto::HloInputs::arguments);
  }
  for (const WireMessage& argument : arguments) values.arguments.push_back(TRY(LiteralFromProto(*bytes, argument)));
  if (values.arguments.empty() && !values.result) return std::nullopt;
  return values;
}

}  // namespace hlo
