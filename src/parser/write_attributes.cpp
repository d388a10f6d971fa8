#include "parser/write_attributes.h"

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "parser/write_values.h"

namespace hlo {
namespace {

using I = proto::HloInstructionProto;
using Gather = proto::GatherDimensionNumbers;
using Scatter = proto::ScatterDimensionNumbers;
using Dot = proto::DotDimensionNumbers;
using Ragged = proto::RaggedDotDimensionNumbers;
using Solve = proto::TriangularSolveOptions;

// An attribute's field in `message` or, without a message, in HloInstructionProto.
struct Place {
  std::string_view name;
  ProtoField field;
  ProtoField message = {};
};

constexpr Place kPlaces[] = {
    {"direction", I::comparison_direction},
    {"type", I::comparison_type},
    {"iota_dimension", I::dimensions},
    {"index", I::tuple_index},
    {"dimensions", I::dimensions},
    {"dynamic_slice_sizes", I::dynamic_slice_sizes},
    {"offset_dims", Gather::offset_dims, I::gather_dimension_numbers},
    {"collapsed_slice_dims", Gather::collapsed_slice_dims, I::gather_dimension_numbers},
    {"start_index_map", Gather::start_index_map, I::gather_dimension_numbers},
    {"operand_batching_dims", Gather::operand_batching_dims, I::gather_dimension_numbers},
    {"start_indices_batching_dims", Gather::start_indices_batching_dims, I::gather_dimension_numbers},
    {"slice_sizes", I::gather_slice_sizes},
    {"indices_are_sorted", I::indices_are_sorted},
    {"update_window_dims", Scatter::update_window_dims, I::scatter_dimension_numbers},
    {"inserted_window_dims", Scatter::inserted_window_dims, I::scatter_dimension_numbers},
    {"scatter_dims_to_operand_dims", Scatter::scatter_dims_to_operand_dims, I::scatter_dimension_numbers},
    {"input_batching_dims", Scatter::input_batching_dims, I::scatter_dimension_numbers},
    {"scatter_indices_batching_dims", Scatter::scatter_indices_batching_dims, I::scatter_dimension_numbers},
    {"unique_indices", I::unique_indices},
    {"num_carries", I::num_carries},
    {"is_reverse", I::is_reverse},
    {"is_stable", I::is_stable},
    {"k", I::k},
    {"largest", I::largest},
    {"lhs_batch_dims", Dot::lhs_batch_dimensions, I::dot_dimension_numbers},
    {"lhs_contracting_dims", Dot::lhs_contracting_dimensions, I::dot_dimension_numbers},
    {"rhs_batch_dims", Dot::rhs_batch_dimensions, I::dot_dimension_numbers},
    {"rhs_contracting_dims", Dot::rhs_contracting_dimensions, I::dot_dimension_numbers},
    {"lhs_ragged_dims", Ragged::lhs_ragged_dimensions, I::ragged_dot_dimension_numbers},
    {"rhs_group_dims", Ragged::rhs_group_dimensions, I::ragged_dot_dimension_numbers},
    {"feature_group_count", I::feature_group_count},
    {"batch_group_count", I::batch_group_count},
    {"convolution_kind", I::conv_kind},
    {"fft_type", I::fft_type},
    {"fft_length", I::fft_length},
    {"left_side", Solve::left_side, I::triangular_solve_options},
    {"unit_diagonal", Solve::unit_diagonal, I::triangular_solve_options},
    {"transpose_a", Solve::transpose_a, I::triangular_solve_options},
    {"epsilon", I::epsilon},
    {"feature_index", I::feature_index},
    {"distribution", I::distribution},
    {"delta", I::delta},
    {"exponent_bits", I::exponent_bits},
    {"mantissa_bits", I::mantissa_bits},
    {"is_composite", I::is_composite},
    {"kind", I::fusion_kind},
    {"padding_type", I::padding_type},
    {"custom_call_target", I::custom_call_target},
    {"custom_call_has_side_effect", I::custom_call_has_side_effect},
    {"schedule", I::custom_call_schedule},
    {"api_version", I::custom_call_api_version},
    {"channel_id", I::channel_id},
    {"constrain_layout", I::constrain_layout},
    {"use_global_device_ids", I::use_global_device_ids},
    {"cross_program_prefetch_index", I::cross_program_prefetch_index},
    {"async_execution_thread", I::async_execution_thread},
    {"is_host_transfer", I::is_host_transfer},
    {"infeed_config", I::infeed_config},
    {"outfeed_config", I::outfeed_config},
    {"has_dynamic_root", I::has_dynamic_root},
};

const Place* FindPlace(std::string_view name) {
  const auto* at = std::ranges::find(kPlaces, name, &Place::name);
  return at == std::end(kPlaces) ? nullptr : at;
}

class AttributeWriter {
 public:
  explicit AttributeWriter(MessageWriter& out) : out_(out) {}

  template <class Struct>
  void WriteAll(const Struct& attrs) {
    ForEachField<Struct>([&](const auto& field) { Write<Struct>(field.name, attrs.*field.member); });
  }
  const std::vector<const Computation*>& called() const { return called_; }

 private:
  template <class Struct, class T>
  void Write(std::string_view name, const T& value) {
    if constexpr (std::same_as<Struct, ScatterAttrs>) {
      if (name == "index_vector_dim")
        return WriteField({name, Scatter::index_vector_dim, I::scatter_dimension_numbers}, value);
    } else if constexpr (std::same_as<Struct, GatherAttrs>) {
      if (name == "index_vector_dim")
        return WriteField({name, Gather::index_vector_dim, I::gather_dimension_numbers}, value);
    } else if constexpr (std::same_as<Struct, CholeskyAttrs>) {
      return WriteField({name, proto::CholeskyOptions::lower, I::cholesky_options}, value);
    } else if constexpr (std::same_as<Struct, TriangularSolveAttrs>) {
      if (name == "lower") return WriteField({name, Solve::lower, I::triangular_solve_options}, value);
    } else if constexpr (std::same_as<Struct, RngBitGeneratorAttrs>) {
      return WriteField({name, I::rng_algorithm}, value);
    } else if constexpr (std::same_as<Struct, RaggedDotAttrs> && std::same_as<T, std::vector<int64_t>>) {
      is_ragged_ = true;
    } else if constexpr (std::same_as<Struct, ReshapeAttrs>) {
      if (value >= 0) WriteField({name, I::dimensions}, value);
      return;
    } else if constexpr (std::same_as<Struct, ScanAttrs> && std::same_as<T, bool>) {
      if (name == "is_associative")
        return out_.Int(I::is_associative, EnumNumber(I::is_associative, value ? "TRUE" : "FALSE"));
    } else if constexpr (std::same_as<T, std::string> && std::same_as<Struct, AsyncAttrs>) {
      // The default thread is omitted. The called computation then determines it.
      if (value == "main") return;
    } else if constexpr (std::same_as<Struct, ShuffleAttrs> && std::same_as<T, std::vector<int64_t>>) {
      if (name == "shifts")
        return out_.Part(I::shuffle_mode).Part(proto::ShuffleMode::rotate).Ints(proto::Rotate::shifts, value);
    } else if constexpr (std::same_as<Struct, WhileAttrs>) {
      called_.insert(called_.begin(), value);  // XLA lists the body before the condition.
      return;
    }
    Value(name, value);
  }

  MessageWriter& Message(const Place& place) {
    if (place.message.number == 0) return out_;
    const bool is_inner = is_ragged_ && place.message.number == I::dot_dimension_numbers.number;
    if (is_inner) return out_.Part(I::ragged_dot_dimension_numbers).Part(Ragged::dot_dimension_numbers);
    return out_.Part(place.message);
  }

  void WriteField(const Place& place, bool value) { Message(place).Int(place.field, value ? 1 : 0); }
  void WriteField(const Place& place, int64_t value) { Message(place).Int(place.field, value); }
  void WriteField(const Place& place, double value) { Message(place).Real(place.field, value); }
  void WriteField(const Place& place, OneDimension value) {
    Message(place).Ints(place.field, std::vector{value.value});
  }
  void WriteField(const Place& place, const std::vector<int64_t>& values) { Message(place).Ints(place.field, values); }
  void WriteField(const Place& place, const std::string& value) {
    if (!value.empty()) Message(place).Bytes(place.field, value);
  }
  template <class Enum>
    requires std::is_enum_v<Enum>
  void WriteField(const Place& place, Enum value) {
    if (place.field.kind == ProtoKind::kBytes) WriteField(place, std::string(ToString(value)));
    else Message(place).Int(place.field, EnumNumber(place.field, ToString(value)));
  }

  // ---- Values: one overload for each type that WriteField cannot write ----
  template <class T>
  void Value(std::string_view name, const T& value) {
    if constexpr (requires { WriteField(Place(), value); }) {
      if (const Place* place = FindPlace(name)) WriteField(*place, value);
    }
  }
  template <class T>
  void Value(std::string_view name, const std::optional<T>& value) {
    if (value) Value(name, *value);
  }
  void Value(std::string_view, Computation* called) {
    if (called != nullptr) called_.push_back(called);
  }
  void Value(std::string_view, const std::vector<Computation*>& called) {
    called_.insert(called_.end(), called.begin(), called.end());
  }
  void Value(std::string_view, const Window& window) {
    if (!window.dims.empty()) WriteWindow(window, out_.Part(I::window));
  }
  void Value(std::string_view, const DimLabels& labels) {
    WriteDimLabels(labels, out_.Part(I::convolution_dimension_numbers));
  }
  void Value(std::string_view, const PaddingConfig& padding) {
    using P = proto::PaddingConfigDimension;
    MessageWriter& config = out_.Part(I::padding_config);
    for (const PaddingDim& dim : padding.dims) {
      MessageWriter& one = config.Add(proto::PaddingConfig::dimensions);
      one.Int(P::edge_padding_low, dim.low);
      one.Int(P::edge_padding_high, dim.high);
      one.Int(P::interior_padding, dim.interior);
    }
  }
  void Value(std::string_view, const SliceRanges& slice) {
    using S = proto::SliceDimensions;
    for (const SliceDim& dim : slice.dims) {
      MessageWriter& one = out_.Add(I::slice_dimensions);
      one.Int(S::start, dim.start);
      one.Int(S::limit, dim.limit);
      one.Int(S::stride, dim.stride);
    }
  }
  void Value(std::string_view, const std::vector<Precision>& precisions) {
    std::vector<int64_t> numbers;
    for (const Precision one : precisions)
      numbers.push_back(EnumNumber(proto::PrecisionConfig::operand_precision, ToString(one)));
    if (!numbers.empty()) out_.Part(I::precision_config).Ints(proto::PrecisionConfig::operand_precision, numbers);
  }
  void Value(std::string_view, DotAlgorithm algorithm) {
    if (algorithm == DotAlgorithm::kUnset) return;
    out_.Part(I::precision_config)
        .Int(proto::PrecisionConfig::algorithm, EnumNumber(proto::PrecisionConfig::algorithm, ToString(algorithm)));
  }
  void Value(std::string_view, const SparsityConfig& sparsity) {
    const auto side = [&](const std::optional<OperandSparsity>& operand, const ProtoField& field) {
      if (!operand) return;
      using T = proto::TensorSparsityConfig;
      MessageWriter& out = out_.Part(I::sparsity_config).Part(field);
      out.Int(T::num_non_zero, operand->pattern.non_zeros);
      out.Int(T::block_size, operand->pattern.block_size);
      out.Int(T::dimension, operand->dimension);
      out.Int(T::stride, operand->stride);
      out.Int(T::idx, operand->indices);
    };
    side(sparsity.lhs, proto::SparsityConfig::lhs);
    side(sparsity.rhs, proto::SparsityConfig::rhs);
  }
  void Value(std::string_view, const BlockScalingConfig& scaling) {
    const auto side = [&](const std::optional<OperandScaling>& operand, const ProtoField& field) {
      if (operand)
        out_.Part(I::block_scaling_config).Part(field).Int(proto::TensorBlockScalingConfig::scale_idx, operand->scale);
    };
    side(scaling.lhs, proto::BlockScalingConfig::lhs);
    side(scaling.rhs, proto::BlockScalingConfig::rhs);
  }
  void Value(std::string_view, ShuffleMode) { out_.Part(I::shuffle_mode).Part(proto::ShuffleMode::rotate); }
  void Value(std::string_view name, const ListOfLists& lists) {
    if (name != "source_target_pairs") return;
    for (const std::vector<int64_t>& pair : lists) {
      MessageWriter& one = out_.Add(I::source_target_pairs);
      if (!pair.empty()) one.Int(proto::SourceTarget::source, pair.front());
      if (!pair.empty()) one.Int(proto::SourceTarget::target, pair.back());
    }
  }
  void Value(std::string_view, const OperandAliases& aliases) {
    using O = proto::OutputOperandAliasing;
    for (const OperandAlias& alias : aliases) {
      MessageWriter& one = out_.Add(I::output_operand_aliasing);
      one.Ints(O::output_shape_index, alias.output);
      one.Int(O::operand_index, alias.operand);
      one.Ints(O::operand_shape_index, alias.operand_index);
    }
  }
  void Value(std::string_view, const Shape& shape) { WriteShape(shape, out_.Part(I::outfeed_shape)); }
  void Value(std::string_view, const ShapeList& list) {
    out_.Int(I::constrain_layout, 1);
    for (const Shape& shape : list.shapes) WriteShape(shape, out_.Add(I::operand_shapes_with_layout));
  }
  void Value(std::string_view, const LiteralValue& literal) {
    if (literal.value) WriteLiteral(*literal.value, out_.Part(I::literal));
  }
  void Value(std::string_view, const ReplicaGroups& groups) { WriteReplicaGroups(groups, out_); }
  // Entry and exit are swapped, see proto_attributes.cpp.
  void Value(std::string_view, const Domain& domain) {
    WriteSharding(domain.exit, out_.Part(I::domain_entry_sharding));
    WriteSharding(domain.entry, out_.Part(I::domain_exit_sharding));
  }

  MessageWriter& out_;
  std::vector<const Computation*> called_;
  bool is_ragged_ = false;
};

// The word for comparison_order, which XLA reads since 2026. Before, it read comparison_type.
std::string_view OrderOf(const Instruction& compare) {
  const PrimitiveType element = compare.operand(0).shape().type();
  const ComparisonType type = compare.attrs<CompareAttrs>().type;
  const bool is_partial_by_default = IsFloat(element) || IsComplex(element);
  if (type == ComparisonType::kDefault) return is_partial_by_default ? "PARTIAL" : "TOTAL";
  return type == ComparisonType::kFloat ? "PARTIAL" : "TOTAL";
}

void WriteCommon(const Instruction& inst, MessageWriter& out) {
  const CommonAttrs& common = inst.common();
  if (!common.sharding.empty()) WriteSharding(*common.sharding, out.Part(I::sharding));
  if (!common.frontend_attributes.empty())
    WriteFrontendAttributes(common.frontend_attributes, out.Part(I::frontend_attributes));
  if (!common.result_accuracy.empty()) WriteResultAccuracy(common.result_accuracy, out.Part(I::result_accuracy));
  if (!common.parameter_replication.empty())
    WriteParameterReplication(common.parameter_replication, out.Part(I::parameter_replication));
  if (common.metadata != Metadata()) WriteMetadata(common.metadata, inst.name(), out.Part(I::metadata));
  if (!common.backend_config.empty()) out.Bytes(I::backend_config, BytesOf(common.backend_config));
}

}  // namespace

void WriteAttributes(const Instruction& inst, MessageWriter& out) {
  AttributeWriter writer(out);
  Visit(inst.attributes(), [&](const auto& attrs) { writer.WriteAll(attrs); });
  std::vector<int64_t> called;
  for (const Computation* computation : writer.called()) called.push_back(IdOf(*computation));
  out.Ints(I::called_computation_ids, called);
  if (inst.Is(Opcode::kCompare)) out.Bytes(I::comparison_order, OrderOf(inst));
  if (inst.HasCommon()) WriteCommon(inst, out);
}

}  // namespace hlo
