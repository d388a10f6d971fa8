#include "parser/read_proto.h"

#include <algorithm>

#include "base/text.h"
#include "parser/input_format.h"
#include "parser/mlir/read_mlir.h"
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
  if (format == InputFormat::kMlirText) return ReadMlir(std::move(source), options);
  const auto bytes = TRY(ProtoBytes::Read(source, format == InputFormat::kTextProto, options.max_depth));
  TRY(bytes->CheckUnread(options.warnings));
  const WireMessage module = ModuleIn(*bytes);
  if (!module.Has(proto::HloModuleProto::computations))
    FAIL(bytes->ErrorAt("P011", "there is no module: the protocol buffer has no computations", module.begin()));
  ModuleText written = TRY(TextOfProto(*bytes, module));
  ParseOptions parse = options;
  parse.piece = {};
  parse.elided = ElidedConstants::kGiven;
  parse.given = written.constants;
  return Parse(std::make_shared<const SourceText>(Str(source->name(), " (as HLO text)"), std::move(written.text)),
               parse);
}

namespace {

struct RecordedMessages {
  std::vector<std::vector<WireMessage>> arguments;
  std::optional<WireMessage> result;
};

RecordedMessages RecordedIn(const ProtoBytes& bytes) {
  using S = proto::HloSnapshot;
  const WireMessage message = bytes.message();
  RecordedMessages found;
  if (bytes.type() == ProtoType::kHloSnapshot) {
    if (auto arguments = message.Messages(S::arguments); !arguments.empty())
      found.arguments.push_back(std::move(arguments));
    if (message.Has(S::result)) found.result = message.Message(S::result);
  } else if (bytes.type() == ProtoType::kHloProto) {
    for (const WireMessage& partition : message.Messages(proto::HloProto::partitions)) {
      if (auto arguments = partition.Messages(proto::HloInputs::arguments); !arguments.empty())
        found.arguments.push_back(std::move(arguments));
    }
  }
  return found;
}

}  // namespace

Result<std::optional<RecordedValues>> ReadRecordedValues(const std::shared_ptr<const SourceText>& source) {
  const InputFormat format = InputFormatOf(source->text());
  if (!IsProto(format)) return std::nullopt;
  const auto bytes = TRY(ProtoBytes::Read(source, format == InputFormat::kTextProto, ParseOptions().max_depth));
  TRY(bytes->CheckUnread(nullptr));
  const RecordedMessages found = RecordedIn(*bytes);
  if (found.arguments.empty() && !found.result) return std::nullopt;
  RecordedValues values;
  if (found.result) values.result = TRY(LiteralFromProto(*bytes, *found.result));
  for (const std::vector<WireMessage>& partition : found.arguments) {
    std::vector<Literal>& arguments = values.arguments.emplace_back();
    for (const WireMessage& argument : partition) arguments.push_back(TRY(LiteralFromProto(*bytes, argument)));
  }
  return values;
}

RecordedParts FindRecordedValues(const std::shared_ptr<const SourceText>& source) {
  const InputFormat format = InputFormatOf(source->text());
  if (!IsProto(format)) return {};
  const auto bytes = ProtoBytes::Read(source, format == InputFormat::kTextProto, ParseOptions().max_depth);
  if (!bytes) return {};
  const RecordedMessages found = RecordedIn(**bytes);
  return {.is_snapshot = (*bytes)->type() == ProtoType::kHloSnapshot,
          .arguments = !found.arguments.empty(),
          .result = found.result.has_value()};
}

}  // namespace hlo
