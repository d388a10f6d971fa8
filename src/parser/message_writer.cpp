#include "parser/message_writer.h"

#include <bit>
#include <cstring>

#include "base/check.h"

namespace hlo {
namespace {

void AppendBytes(std::string& out, int64_t number, std::string_view bytes) {
  AppendTag(out, number, WireType::kBytes);
  AppendVarint(out, bytes.size());
  out += bytes;
}

template <class T>
void AppendFixed(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  char bytes[sizeof value];
  std::memcpy(bytes, &value, sizeof value);
  out.append(bytes, sizeof value);
}

}  // namespace

void MessageWriter::Int(const ProtoField& field, int64_t value) {
  AppendTag(bytes_, field.number, WireType::kVarint);
  AppendVarint(bytes_, static_cast<uint64_t>(value));
}

void MessageWriter::Ints(const ProtoField& field, std::span<const int64_t> values) {
  if (values.empty()) return;
  std::string packed;
  for (const int64_t value : values) AppendVarint(packed, static_cast<uint64_t>(value));
  AppendBytes(bytes_, field.number, packed);
}

void MessageWriter::Real(const ProtoField& field, double value) {
  const bool is_double = field.kind == ProtoKind::kDouble;
  CHECK(is_double || field.kind == ProtoKind::kFloat, field.name, " is no number with a point");
  AppendTag(bytes_, field.number, is_double ? WireType::kFixed64 : WireType::kFixed32);
  if (is_double) AppendFixed(bytes_, value);
  else AppendFixed(bytes_, static_cast<float>(value));
}

void MessageWriter::Bytes(const ProtoField& field, std::string_view bytes) { AppendBytes(bytes_, field.number, bytes); }

MessageWriter& MessageWriter::Part(const ProtoField& field) {
  for (auto& [number, message] : messages_) {
    if (number == field.number) return message;
  }
  return Add(field);
}

MessageWriter& MessageWriter::Add(const ProtoField& field) {
  return messages_.emplace_back(field.number, MessageWriter()).second;
}

std::string MessageWriter::Wire() const {
  std::string wire = bytes_;
  for (const auto& [number, message] : messages_) AppendBytes(wire, number, message.Wire());
  return wire;
}

}  // namespace hlo
