#include "parser/proto_bytes.h"

#include <algorithm>

#include "base/text.h"

namespace hlo {
namespace {

// Field 1 is a name, at a depth that determines the type: HloSnapshot.hlo.hlo_module.name, HloProto.hlo_module.name or
// HloModuleProto.name. A name begins with a letter, a message with a field's tag, which is below 0x20.
ProtoType TypeOfWire(std::string_view wire) {
  int messages = 0;
  for (; messages < 2 && wire.starts_with('\x0A'); ++messages) {
    size_t at = 1;
    while (at < wire.size() && static_cast<unsigned char>(wire[at]) >= 0x80) ++at;
    wire.remove_prefix(std::min(at + 1, wire.size()));
    if (wire.empty() || static_cast<unsigned char>(wire[0]) >= 0x20) break;
  }
  return messages == 0 ? ProtoType::kHloModuleProto : messages == 1 ? ProtoType::kHloProto : ProtoType::kHloSnapshot;
}

ProtoType TypeOfText(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    if (line.starts_with("hlo_module")) return ProtoType::kHloProto;
    return line.starts_with("hlo") ? ProtoType::kHloSnapshot : ProtoType::kHloModuleProto;
  }
  return ProtoType::kHloModuleProto;
}

std::string Describe(const UnreadField& field) {
  return Str("field ", field.name, " of ", NameOf(field.message), field.reason.empty() ? "" : ": ", field.reason);
}

}  // namespace

Result<std::unique_ptr<const ProtoBytes>> ProtoBytes::Read(std::shared_ptr<const SourceText> source, bool is_text,
                                                           int64_t max_depth) {
  max_depth = std::min(max_depth, kDeepestMessage);  // Reading is recursive, so the stack limits the depth.
  std::unique_ptr<ProtoBytes> bytes(new ProtoBytes(std::move(source), is_text));
  const std::string_view text = bytes->source_->text();
  if (is_text) {
    bytes->type_ = TypeOfText(text);
    bytes->encoded_ = TRY(EncodeTextProto(bytes->source_, bytes->type_, max_depth));
    bytes->unread_ = std::move(bytes->encoded_.unread);
    return bytes;
  }
  bytes->type_ = TypeOfWire(text);
  if (const auto fault = CheckWire(text, bytes->type_, max_depth, bytes->unread_)) {
    Error error = bytes->AtOffset(fault->too_deep ? "P091" : "P016", fault->message, fault->offset);
    if (fault->too_deep) error.exit = ExitCode::kLimit;
    FAIL(std::move(error));
  }
  return bytes;
}

Status ProtoBytes::CheckUnread(std::vector<Diagnostic>* warnings) const {
  std::vector<std::string> noted;
  for (const UnreadField& field : unread_) {
    if (field.unread == ProtoUnread::kNoted) {
      noted.push_back(Describe(field));
      continue;
    }
    const bool known = !field.reason.empty();
    std::string message = Str("cannot read ", Describe(field),
                              known ? "" : ", which hlokit does not know and which may change the module");
    Error error = Unsupported("U010", std::move(message));
    if (is_text_) {
      const auto begin = static_cast<uint32_t>(field.offset);
      error.diagnostics[0].range = {begin, begin + 1};
      error.source = source_;
    } else {
      error.diagnostics[0].message += Str(", at byte ", field.offset);
    }
    FAIL(std::move(error).Hint(
        "the text of the module may contain it: --xla_dump_hlo_as_text, or as_hlo_text() in JAX"));
  }
  if (warnings != nullptr && !noted.empty())
    warnings->push_back({"W014", Str("ignored: ", Join(noted, ", and ")), {}, {}, {}});
  return {};
}

Error ProtoBytes::ErrorAt(std::string code, std::string message, const char* place) const {
  return AtOffset(std::move(code), std::move(message), place - wire().data());
}

Error ProtoBytes::AtOffset(std::string code, std::string message, size_t offset) const {
  SourceRange range;
  if (!is_text_) {
    message += Str(", at byte ", offset);
  } else {
    const auto after = std::upper_bound(encoded_.places.begin(), encoded_.places.end(), offset,
                                        [](size_t at, const auto& place) { return at < place.first; });
    const uint32_t begin = after == encoded_.places.begin() ? 0 : std::prev(after)->second;
    range = {begin, begin + 1};
  }
  Error error = Rejected(std::move(code), std::move(message), range);
  error.source = source_;
  return error;
}

}  // namespace hlo
