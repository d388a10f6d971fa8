#include "parser/proto_attributes.h"

#include <algorithm>

#include "base/text.h"
#include "ir/text/printer.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

using I = proto::HloInstructionProto;
using Gather = proto::GatherDimensionNumbers;
using Scatter = proto::ScatterDimensionNumbers;
using Dot = proto::DotDimensionNumbers;
using Ragged = proto::RaggedDotDimensionNumbers;
using Solve = proto::TriangularSolveOptions;

// ---- Values. "" omits the attribute ------------------------------------------------------------------------------

template <const ProtoField& Field, const ProtoField&... Rest, class F>
std::string Follow(const WireMessage& message, F&& f) {
  if constexpr (sizeof...(Rest) == 0) {
    return f(message, Field);
  } else {
    return Follow<Rest...>(message.Message(Field), f);
  }
}

template <const ProtoField&... Path>
std::string List(const AttributeSource& from) {
  return Follow<Path...>(from.inst, [&](const WireMessage& message, const ProtoField& field) {
    const std::vector<int64_t> values = message.Ints(field);
    return values.empty() && from.presence == Presence::kOptional ? "" : ListText(values);
  });
}

template <const ProtoField&... Path>
std::string Number(const AttributeSource& from) {
  return Follow<Path...>(from.inst, [&](const WireMessage& message, const ProtoField& field) {
    const int64_t value = message.Int(field);
    return value == 0 && from.presence == Presence::kOptional ? "" : Str(value);
  });
}

template <const ProtoField&... Path>
std::string Flag(const AttributeSource& from) {
  return Follow<Path...>(from.inst, [&](const WireMessage& message, const ProtoField& field) -> std::string {
    if (message.Int(field) != 0) return "true";
    return from.presence == Presence::kOptional ? "" : "false";
  });
}

template <const ProtoField&... Path>
std::string Enum(const AttributeSource& from) {
  return Follow<Path...>(from.inst, [&](const WireMessage& message, const ProtoField& field) {
    return message.Int(field) == 0 && from.presence == Presence::kOptional ? "" : EnumText(message, field);
  });
}

template <const ProtoField& Field>
std::string Text(const AttributeSource& from) {
  const std::string_view value = from.inst.Bytes(Field);
  return value.empty() && from.presence == Presence::kOptional ? "" : Quoted(value);
}

template <const ProtoField& Field>
std::string Word(const AttributeSource& from) {
  return WordText(from.inst.Bytes(Field));
}

template <const ProtoField& Field>
std::string First(const AttributeSource& from) {
  const std::vector<int64_t> values = from.inst.Ints(Field);
  return values.empty() ? "" : Str(values[0]);
}

template <const ProtoField& Field, std::string (*Value)(const WireMessage&)>
std::string Part(const AttributeSource& from) {
  const WireMessage message = from.inst.Message(Field);
  return message.IsEmpty() && from.presence == Presence::kOptional ? "" : Value(message);
}

template <size_t I>
std::string Called(const AttributeSource& from) {
  return I < from.called.size() ? Str("%", from.called[I]) : "";
}

std::string AllCalled(const AttributeSource& from) {
  return from.called.empty() ? "" : Str("{%", Join(from.called, ", %"), "}");
}

// true_computation or false_computation. Without a pred as selector, branch_computations has the branches.
template <size_t I>
std::string Branch(const AttributeSource& from) {
  return from.pred_selector ? Called<I>(from) : "";
}
std::string Branches(const AttributeSource& from) { return from.pred_selector ? "" : AllCalled(from); }

template <class Item>
std::string Braced(const std::vector<WireMessage>& messages, Item&& item) {
  std::vector<std::string> parts;
  for (const WireMessage& message : messages) parts.push_back(item(message));
  return Str("{", Join(parts, ", "), "}");
}

std::string Slices(const AttributeSource& from) {
  using S = proto::SliceDimensions;
  return Braced(from.inst.Messages(I::slice_dimensions), [](const WireMessage& dim) {
    return Str("[", dim.Int(S::start), ":", dim.Int(S::limit), ":", dim.Int(S::stride), "]");
  });
}

std::string SourceTargetPairs(const AttributeSource& from) {
  return Braced(from.inst.Messages(I::source_target_pairs), [](const WireMessage& pair) {
    return Str("{", pair.Int(proto::SourceTarget::source), ",", pair.Int(proto::SourceTarget::target), "}");
  });
}

std::string Aliases(const AttributeSource& from) {
  using O = proto::OutputOperandAliasing;
  if (!from.inst.Has(I::output_operand_aliasing)) return "";
  return Braced(from.inst.Messages(I::output_operand_aliasing), [](const WireMessage& alias) {
    return Str(ListText(alias.Ints(O::output_shape_index)), ": (", alias.Int(O::operand_index), ", ",
               ListText(alias.Ints(O::operand_shape_index)), ")");
  });
}

std::string OperandLayouts(const AttributeSource& from) {
  if (from.inst.Int(I::constrain_layout) == 0) return "";
  return Braced(from.inst.Messages(I::operand_shapes_with_layout), ShapeText);
}

std::string ParameterReplication(const AttributeSource& from) {
  const WireMessage replication = from.inst.Message(I::parameter_replication);
  std::vector<std::string> leaves;
  for (const int64_t leaf : replication.Ints(proto::ParameterReplication::replicated_at_leaf_buffers))
    leaves.push_back(leaf != 0 ? "true" : "false");
  return leaves.empty() ? "" : Str("{", Join(leaves, ","), "}");
}

template <const ProtoField& Field>
std::string DotList(const AttributeSource& from) {
  return from.inst.Has(I::ragged_dot_dimension_numbers)
             ? List<I::ragged_dot_dimension_numbers, Ragged::dot_dimension_numbers, Field>(from)
             : List<I::dot_dimension_numbers, Field>(from);
}

std::string Precisions(const AttributeSource& from) {
  const WireMessage config = from.inst.Message(I::precision_config);
  const auto words = WordsOf(ProtoEnum::kPrecision);
  std::vector<std::string> list;
  for (const int64_t value : config.Ints(proto::PrecisionConfig::operand_precision)) {
    const bool known = value >= 0 && value < static_cast<int64_t>(words.size());
    list.push_back(known ? std::string(words[value]) : Str("value_", value));
  }
  return list.empty() ? "" : Str("{", Join(list, ","), "}");
}

std::string Algorithm(const AttributeSource& from) {
  if (from.presence == Presence::kRequired) return EnumText(from.inst, I::rng_algorithm);
  const WireMessage config = from.inst.Message(I::precision_config);
  using P = proto::PrecisionConfig;
  return config.Int(P::algorithm) == 0 ? "" : EnumText(config, P::algorithm, "ALG_");
}

std::string ConvKind(const AttributeSource& from) {
  std::string word = from.inst.Int(I::conv_kind) == 0 ? "" : EnumText(from.inst, I::conv_kind, "CONVOLUTION_KIND_");
  for (char& c : word) c = static_cast<char>(c | 0x20);
  return word;
}

std::string Lower(const AttributeSource& from) {
  return from.inst.Has(I::cholesky_options) ? Flag<I::cholesky_options, proto::CholeskyOptions::lower>(from)
                                            : Flag<I::triangular_solve_options, Solve::lower>(from);
}

std::string Epsilon(const AttributeSource& from) { return Str(static_cast<float>(from.inst.Real(I::epsilon))); }

std::string Associative(const AttributeSource& from) {
  const std::string word = EnumText(from.inst, I::is_associative, "TRI_STATE_");
  return word == "TRUE" ? "true" : word == "FALSE" ? "false" : "";
}

std::string ShuffleModeText(const AttributeSource& from) {
  return from.inst.Message(I::shuffle_mode).Has(proto::ShuffleMode::rotate) ? "rotate" : "";
}

std::string BlockScaling(const AttributeSource& from) {
  const WireMessage config = from.inst.Message(I::block_scaling_config);
  std::vector<std::string> sides;
  for (const auto& [name, field] :
       {std::pair("lhs", proto::BlockScalingConfig::lhs), std::pair("rhs", proto::BlockScalingConfig::rhs)}) {
    if (!config.Has(field)) continue;
    const WireMessage side = config.Message(field);
    sides.push_back(Str(name, "={scale_idx=", side.Int(proto::TensorBlockScalingConfig::scale_idx), "}"));
  }
  return sides.empty() ? "" : Str("{", Join(sides, " "), "}");
}

// Omits `false`, so that the default of the opcode's attribute holds. A topk in a proto from before 2026 lacks the
// field but is stable, which is the default of topk.
std::string Stable(const AttributeSource& from) { return from.inst.Int(I::is_stable) != 0 ? "true" : ""; }

std::string LargestOfTopK(const AttributeSource& from) { return from.inst.Int(I::largest) != 0 ? "true" : "false"; }

std::string ChannelId(const AttributeSource& from) {
  const int64_t id = from.inst.Int(from.inst.Int(I::channel_id) > 0 ? I::channel_id : I::all_reduce_id);
  return id > 0 ? Str(id) : "";  // Numbers below 1 mean no channel.
}

std::string PrefetchIndex(const AttributeSource& from) {
  if (from.inst.Has(I::cross_program_prefetch_index)) return Str(from.inst.Int(I::cross_program_prefetch_index));
  return from.inst.Int(I::is_cross_program_prefetch) != 0 ? "0" : "";
}

std::string ReplicaGroups(const AttributeSource& from) { return ReplicaGroupsText(from.inst); }

// A proto calls the sharding on the users' side `exit`, the text `entry`.
std::string Domain(const AttributeSource& from) {
  return Str("{kind=\"sharding\", entry=", ShardingText(from.inst.Message(I::domain_exit_sharding)),
             ", exit=", ShardingText(from.inst.Message(I::domain_entry_sharding)), "}");
}

std::string LiteralOfCall(const AttributeSource& from) { return std::string(from.literal); }

std::string Sharding(const AttributeSource& from) {
  return from.inst.Has(I::sharding) ? ShardingText(from.inst.Message(I::sharding)) : "";
}

std::string Origin(const AttributeSource& from) {
  if (from.inst.Message(I::original_value).IsEmpty()) return "";
  return OriginText(from.inst.Message(I::original_value), from.inst.Message(I::shape));
}

std::string BackendConfig(const AttributeSource& from) {
  std::string_view config = from.inst.Bytes(I::backend_config);
  if (config.empty()) config = from.inst.Message(I::backend_config_payload).Bytes(proto::Payload::value);
  return config.empty() ? "" : Quoted(config);
}

// ---- Attributes by name ------------------------------------------------------------------------------------------

struct AttributeRow {
  std::string_view name;
  std::string (*value)(const AttributeSource& from);
};

constexpr AttributeRow kRows[] = {
    {"direction", Word<I::comparison_direction>},
    {"type", Word<I::comparison_type>},
    {"iota_dimension", First<I::dimensions>},
    {"index", Number<I::tuple_index>},
    {"dimensions", List<I::dimensions>},
    {"inferred_dimension", First<I::dimensions>},
    {"slice", Slices},
    {"dynamic_slice_sizes", List<I::dynamic_slice_sizes>},
    {"padding", Part<I::padding_config, PaddingText>},
    {"offset_dims", List<I::gather_dimension_numbers, Gather::offset_dims>},
    {"collapsed_slice_dims", List<I::gather_dimension_numbers, Gather::collapsed_slice_dims>},
    {"start_index_map", List<I::gather_dimension_numbers, Gather::start_index_map>},
    {"operand_batching_dims", List<I::gather_dimension_numbers, Gather::operand_batching_dims>},
    {"start_indices_batching_dims", List<I::gather_dimension_numbers, Gather::start_indices_batching_dims>},
    {"slice_sizes", List<I::gather_slice_sizes>},
    {"indices_are_sorted", Flag<I::indices_are_sorted>},
    {"update_window_dims", List<I::scatter_dimension_numbers, Scatter::update_window_dims>},
    {"inserted_window_dims", List<I::scatter_dimension_numbers, Scatter::inserted_window_dims>},
    {"scatter_dims_to_operand_dims", List<I::scatter_dimension_numbers, Scatter::scatter_dims_to_operand_dims>},
    {"input_batching_dims", List<I::scatter_dimension_numbers, Scatter::input_batching_dims>},
    {"scatter_indices_batching_dims", List<I::scatter_dimension_numbers, Scatter::scatter_indices_batching_dims>},
    {"index_vector_dim",
     [](const AttributeSource& from) {
       return from.inst.Has(I::scatter_dimension_numbers)
                  ? Number<I::scatter_dimension_numbers, Scatter::index_vector_dim>(from)
                  : Number<I::gather_dimension_numbers, Gather::index_vector_dim>(from);
     }},
    {"unique_indices", Flag<I::unique_indices>},
    {"to_apply", Called<0>},
    {"window", Part<I::window, WindowText>},
    {"select", Called<0>},
    {"scatter", Called<1>},
    {"num_carries", Number<I::num_carries>},
    {"is_reverse", Flag<I::is_reverse>},
    {"is_associative", Associative},
    {"is_stable", Stable},
    {"k", Number<I::k>},
    {"largest", LargestOfTopK},
    {"lhs_batch_dims", DotList<Dot::lhs_batch_dimensions>},
    {"lhs_contracting_dims", DotList<Dot::lhs_contracting_dimensions>},
    {"rhs_batch_dims", DotList<Dot::rhs_batch_dimensions>},
    {"rhs_contracting_dims", DotList<Dot::rhs_contracting_dimensions>},
    {"lhs_ragged_dims", List<I::ragged_dot_dimension_numbers, Ragged::lhs_ragged_dimensions>},
    {"rhs_group_dims", List<I::ragged_dot_dimension_numbers, Ragged::rhs_group_dimensions>},
    {"operand_precision", Precisions},
    {"algorithm", Algorithm},
    {"sparsity_config", Part<I::sparsity_config, SparsityText>},
    {"block_scaling_config", BlockScaling},
    {"dim_labels", Part<I::convolution_dimension_numbers, DimLabelsText>},
    {"feature_group_count", Number<I::feature_group_count>},
    {"batch_group_count", Number<I::batch_group_count>},
    {"convolution_kind", ConvKind},
    {"fft_type", Enum<I::fft_type>},
    {"fft_length", List<I::fft_length>},
    {"left_side", Flag<I::triangular_solve_options, Solve::left_side>},
    {"lower", Lower},
    {"unit_diagonal", Flag<I::triangular_solve_options, Solve::unit_diagonal>},
    {"transpose_a", Enum<I::triangular_solve_options, Solve::transpose_a>},
    {"epsilon", Epsilon},
    {"feature_index", Number<I::feature_index>},
    {"distribution", Enum<I::distribution>},
    {"delta", Number<I::delta>},
    {"exponent_bits", Number<I::exponent_bits>},
    {"mantissa_bits", Number<I::mantissa_bits>},
    {"condition", Called<1>},
    {"body", Called<0>},
    {"true_computation", Branch<0>},
    {"false_computation", Branch<1>},
    {"branch_computations", Branches},
    {"is_composite", Flag<I::is_composite>},
    {"kind", Word<I::fusion_kind>},
    {"output_to_operand_aliasing", Aliases},
    {"calls", Called<0>},
    {"padding_type", Enum<I::padding_type>},
    {"custom_call_target", Text<I::custom_call_target>},
    {"operand_layout_constraints", OperandLayouts},
    {"custom_call_has_side_effect", Flag<I::custom_call_has_side_effect>},
    {"literal", LiteralOfCall},
    {"schedule", Enum<I::custom_call_schedule>},
    {"api_version", Enum<I::custom_call_api_version>},
    {"called_computations", AllCalled},
    {"channel_id", ChannelId},
    {"replica_groups", ReplicaGroups},
    {"constrain_layout", Flag<I::constrain_layout>},
    {"use_global_device_ids", Flag<I::use_global_device_ids>},
    {"has_dynamic_root", Flag<I::has_dynamic_root>},
    {"mode", ShuffleModeText},
    {"source_target_pairs", SourceTargetPairs},
    {"shifts", List<I::shuffle_mode, proto::ShuffleMode::rotate, proto::Rotate::shifts>},
    {"cross_program_prefetch_index", PrefetchIndex},
    {"async_execution_thread", Text<I::async_execution_thread>},
    {"is_host_transfer", Flag<I::is_host_transfer>},
    {"infeed_config", Text<I::infeed_config>},
    {"outfeed_shape", Part<I::outfeed_shape, ShapeText>},
    {"outfeed_config", Text<I::outfeed_config>},
    {"domain", Domain},
    {"parameter_replication", ParameterReplication},
    {"sharding", Sharding},
    {"frontend_attributes", Part<I::frontend_attributes, FrontendAttributesText>},
    {"statistics", Part<I::statistics_viz, StatisticsText>},
    {"result_accuracy", Part<I::result_accuracy, ResultAccuracyText>},
    {"origin", Origin},
    {"metadata", Part<I::metadata, MetadataText>},
    {"backend_config", BackendConfig},
};

constexpr const AttributeRow* RowOf(std::string_view name) {
  return std::find_if(std::begin(kRows), std::end(kRows), [&](const auto& row) { return row.name == name; });
}

template <class Struct>
constexpr bool HasRows() {
  bool all = true;
  ForEachField<Struct>([&](const auto& field) { all = all && RowOf(field.name) != std::end(kRows); });
  return all;
}
template <class... Structs>
constexpr bool HaveRows(const StructList<Structs...>*) {
  return (HasRows<Structs>() && ...);
}
static_assert(HaveRows(static_cast<const AttributeStructs*>(nullptr)) && HasRows<CommonAttrs>(),
              "each field of ir/attrs.h needs a row of kRows: where a proto has it");

void Append(std::string& out, std::string_view name, AttributeSource& source, Presence presence) {
  const AttributeRow* row = RowOf(name);
  source.presence = presence;
  const std::string value = row->value(source);
  if (!value.empty()) out += Str(", ", name, "=", value);
}

}  // namespace

std::string AttributesText(Opcode opcode, AttributeSource source) {
  std::string out;
  const Attributes attributes = RowOf(opcode).make_attrs();
  const bool is_call = attributes.GetIf<CustomCallAttrs>() != nullptr;
  Visit(attributes, [&]<class Struct>(const Struct&) {
    ForEachField<Struct>([&](const auto& field) {
      // The attribute called_computations lists to_apply, too.
      if (is_call && std::string_view(field.name) == "to_apply") return;
      Append(out, field.name, source, field.presence);
    });
  });
  // `order` is the newer spelling of `type`.
  if (const std::string_view order = source.inst.Bytes(I::comparison_order); !order.empty())
    out += Str(", order=", WordText(order));
  ForEachField<CommonAttrs>([&](const auto& field) { Append(out, field.name, source, field.presence); });
  return out;
}

}  // namespace hlo
