// The message fields that equal members of the IR's structs. Reading and writing walk the same rows, in this order.
#ifndef HLO_PARSER_PROTO_ROWS_H_
#define HLO_PARSER_PROTO_ROWS_H_

#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "ir/attrs.h"
#include "ir/module.h"
#include "parser/message_writer.h"
#include "parser/stack_frames.h"
#include "parser/wire.h"

namespace hlo {

template <class Struct, class T>
struct ProtoRow {
  ProtoField field;
  T Struct::* member;
};
template <class Struct, class T>
constexpr ProtoRow<Struct, T> Row(const ProtoField& field, T Struct::* member) {
  return {field, member};
}

// A list of rows, or the type of a message whose fields have the names in Struct::Fields().
template <class Struct>
inline constexpr int kProtoRows = 0;
template <>
inline constexpr auto kProtoRows<WindowDim> = FieldList(
    Row(proto::WindowDimension::size, &WindowDim::size), Row(proto::WindowDimension::stride, &WindowDim::stride),
    Row(proto::WindowDimension::padding_low, &WindowDim::pad_low),
    Row(proto::WindowDimension::padding_high, &WindowDim::pad_high),
    Row(proto::WindowDimension::window_dilation, &WindowDim::window_dilation),
    Row(proto::WindowDimension::base_dilation, &WindowDim::base_dilation),
    Row(proto::WindowDimension::window_reversal, &WindowDim::reversed));
template <>
inline constexpr auto kProtoRows<PaddingDim> =
    FieldList(Row(proto::PaddingConfigDimension::edge_padding_low, &PaddingDim::low),
              Row(proto::PaddingConfigDimension::edge_padding_high, &PaddingDim::high),
              Row(proto::PaddingConfigDimension::interior_padding, &PaddingDim::interior));
template <>
inline constexpr auto kProtoRows<SliceDim> = FieldList(Row(proto::SliceDimensions::start, &SliceDim::start),
                                                       Row(proto::SliceDimensions::limit, &SliceDim::limit),
                                                       Row(proto::SliceDimensions::stride, &SliceDim::stride));
template <>
inline constexpr auto kProtoRows<DimLabels> =
    FieldList(Row(proto::ConvolutionDimensionNumbers::input_batch_dimension, &DimLabels::lhs_batch),
              Row(proto::ConvolutionDimensionNumbers::input_feature_dimension, &DimLabels::lhs_feature),
              Row(proto::ConvolutionDimensionNumbers::input_spatial_dimensions, &DimLabels::lhs_spatial),
              Row(proto::ConvolutionDimensionNumbers::kernel_input_feature_dimension, &DimLabels::rhs_input_feature),
              Row(proto::ConvolutionDimensionNumbers::kernel_output_feature_dimension, &DimLabels::rhs_output_feature),
              Row(proto::ConvolutionDimensionNumbers::kernel_spatial_dimensions, &DimLabels::rhs_spatial),
              Row(proto::ConvolutionDimensionNumbers::output_batch_dimension, &DimLabels::out_batch),
              Row(proto::ConvolutionDimensionNumbers::output_feature_dimension, &DimLabels::out_feature),
              Row(proto::ConvolutionDimensionNumbers::output_spatial_dimensions, &DimLabels::out_spatial));
template <>
inline constexpr auto kProtoRows<OperandAlias> =
    FieldList(Row(proto::OutputOperandAliasing::output_shape_index, &OperandAlias::output),
              Row(proto::OutputOperandAliasing::operand_index, &OperandAlias::operand),
              Row(proto::OutputOperandAliasing::operand_shape_index, &OperandAlias::operand_index));
template <>
inline constexpr auto kProtoRows<InputOutputAlias> =
    FieldList(Row(proto::AliasEntryProto::output_shape_index, &InputOutputAlias::output),
              Row(proto::AliasEntryProto::parameter_number, &InputOutputAlias::parameter),
              Row(proto::AliasEntryProto::parameter_shape_index, &InputOutputAlias::parameter_index),
              Row(proto::AliasEntryProto::kind, &InputOutputAlias::must));
template <>
inline constexpr auto kProtoRows<BufferDonor> =
    FieldList(Row(proto::BufferDonorEntryProto::parameter_number, &BufferDonor::parameter),
              Row(proto::BufferDonorEntryProto::parameter_shape_index, &BufferDonor::parameter_index));
template <>
inline constexpr auto kProtoRows<SparsePattern> =
    FieldList(Row(proto::TensorSparsityConfig::num_non_zero, &SparsePattern::non_zeros),
              Row(proto::TensorSparsityConfig::block_size, &SparsePattern::block_size));
template <>
inline constexpr ProtoType kProtoRows<OperandSparsity> = ProtoType::kTensorSparsityConfig;
template <>
inline constexpr ProtoType kProtoRows<SparsityConfig> = ProtoType::kSparsityConfig;
template <>
inline constexpr ProtoType kProtoRows<OperandScaling> = ProtoType::kTensorBlockScalingConfig;
template <>
inline constexpr ProtoType kProtoRows<BlockScalingConfig> = ProtoType::kBlockScalingConfig;
template <>
inline constexpr ProtoType kProtoRows<Metadata> = ProtoType::kOpMetadata;
template <>
inline constexpr ProtoType kProtoRows<FileLocation> = ProtoType::kFileLocation;
template <>
inline constexpr ProtoType kProtoRows<StackFrame> = ProtoType::kStackFrame;

// Calls f(field, member) for each row. The fields of a SparsePattern are in the message of its struct.
template <class Struct, class F>
void ForEachRow(F&& f) {
  if constexpr (std::same_as<decltype(kProtoRows<Struct>), const ProtoType>) {
    ForEachField<Struct>([&](const auto& row) {
      const ProtoField* field = FindField(kProtoRows<Struct>, row.name);
      f(field == nullptr ? ProtoField() : *field, row.member);
    });
  } else {
    const auto each = [&](const auto& row) { f(row.field, row.member); };
    kProtoRows<Struct>.ForEach(each);
  }
}

inline constexpr int64_t kMayAlias = 1, kMustAlias = 2;

// ---- Reading -----------------------------------------------------------------------------------------------------

template <class Struct>
Struct Load(const WireMessage& from);

inline void Load(const WireMessage& from, const ProtoField& field, int64_t& value) { value = from.Int(field); }
inline void Load(const WireMessage& from, const ProtoField& field, std::vector<int64_t>& values) {
  values = from.Ints(field);
}
// The only enum with a bool is the kind of an alias.
inline void Load(const WireMessage& from, const ProtoField& field, bool& value) {
  value = field.kind == ProtoKind::kEnum ? from.Int(field) == kMustAlias : from.Int(field) != 0;
}
inline void Load(const WireMessage& from, const ProtoField& field, Interned& value) {
  value = field.kind == ProtoKind::kMessage ? from.Message(field).Bytes(proto::Payload::value) : from.Bytes(field);
}
inline void Load(const WireMessage& from, const ProtoField& field, SchedulingName& value) {
  value.other = from.Bytes(field);
}
inline void Load(const WireMessage& from, const ProtoField&, SparsePattern& value) {
  value = Load<SparsePattern>(from);
}
template <class Struct>
void Load(const WireMessage& from, const ProtoField& field, std::optional<Struct>& value) {
  if (from.Has(field)) value = Load<Struct>(from.Message(field));
}

template <class Struct>
Struct Load(const WireMessage& from) {
  Struct value;
  ForEachRow<Struct>([&](const ProtoField& field, auto member) { Load(from, field, value.*member); });
  return value;
}
template <class Struct>
std::vector<Struct> LoadAll(const WireMessage& from, const ProtoField& field) {
  std::vector<Struct> values;
  for (const WireMessage& message : from.Messages(field)) values.push_back(Load<Struct>(message));
  return values;
}

// ---- Writing -----------------------------------------------------------------------------------------------------

template <class Struct>
void Save(const Struct& value, MessageWriter& out);

inline void Save(int64_t value, const ProtoField& field, MessageWriter& out) { out.Int(field, value); }
inline void Save(bool value, const ProtoField& field, MessageWriter& out) {
  if (field.kind == ProtoKind::kEnum) out.Int(field, value ? kMustAlias : kMayAlias);
  else out.Int(field, value ? 1 : 0);
}
inline void Save(const std::vector<int64_t>& values, const ProtoField& field, MessageWriter& out) {
  out.Ints(field, values);
}
inline void Save(const SparsePattern& value, const ProtoField&, MessageWriter& out) { Save(value, out); }
template <class Struct>
void Save(const std::optional<Struct>& value, const ProtoField& field, MessageWriter& out) {
  if (value) Save(*value, out.Part(field));
}

template <class Struct>
void Save(const Struct& value, MessageWriter& out) {
  ForEachRow<Struct>([&](const ProtoField& field, auto member) { Save(value.*member, field, out); });
}
template <class Struct>
void SaveAll(const std::vector<Struct>& values, const ProtoField& field, MessageWriter& out) {
  for (const Struct& value : values) Save(value, out.Add(field));
}

}  // namespace hlo

#endif  // HLO_PARSER_PROTO_ROWS_H_
