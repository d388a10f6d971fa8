#include "parser/proto_values.h"

#include <algorithm>
#include <map>

#include "base/text.h"
#include "ir/shape.h"
#include "ir/text/printer.h"
#include "parser/lexer.h"
#include "parser/reader.h"

namespace hlo {
namespace {

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return lower;
}

std::string EnumWord(ProtoEnum type, int64_t value) {
  const auto words = WordsOf(type);
  const bool known = value >= 0 && value < static_cast<int64_t>(words.size());
  return known ? std::string(words[value]) : Str("value_", value);
}

std::string TypeText(int64_t type) {
  const std::string word = Lower(EnumWord(ProtoEnum::kPrimitiveType, type));
  return word == "opaque_type" ? "opaque" : word;
}

template <class Item>
std::string ByX(const std::vector<WireMessage>& dims, Item&& item) {
  std::vector<std::string> parts;
  for (const WireMessage& dim : dims) parts.push_back(item(dim));
  return Join(parts, "x");
}

std::string LayoutText(const WireMessage& layout) {
  using L = proto::LayoutProto;
  std::string parts;
  for (const WireMessage& tile : layout.Messages(L::tiles)) {
    std::vector<std::string> sizes;
    for (const int64_t size : tile.Ints(proto::TileProto::dimensions))
      sizes.push_back(size == Tiling::kCombine ? "*" : Str(size));
    parts += Str(parts.empty() ? "T" : "", "(", Join(sizes, ","), ")");
  }
  const int64_t alignment = layout.Int(L::tail_padding_alignment_in_elements);
  if (alignment > 1) parts += Str("L(", alignment, ")");
  if (layout.Int(L::index_primitive_type) != 0) parts += Str("#(", TypeText(layout.Int(L::index_primitive_type)), ")");
  if (layout.Int(L::pointer_primitive_type) != 0)
    parts += Str("*(", TypeText(layout.Int(L::pointer_primitive_type)), ")");
  if (layout.Int(L::element_size_in_bits) != 0) parts += Str("E(", layout.Int(L::element_size_in_bits), ")");
  if (layout.Int(L::memory_space) != 0) parts += Str("S(", layout.Int(L::memory_space), ")");
  std::string splits;
  for (const WireMessage& split : layout.Messages(L::split_configs)) {
    splits += Str("(", split.Int(proto::SplitConfigProto::dimension), ":",
                  Join(split.Ints(proto::SplitConfigProto::split_indices), ","), ")");
  }
  if (!splits.empty()) parts += Str("SC", splits);
  const int64_t prefix = layout.Int(L::dynamic_shape_metadata_prefix_bytes);
  if (prefix != 0) parts += Str("M(", prefix, ")");
  const std::vector<int64_t> minor_to_major = layout.Ints(L::minor_to_major);
  if (minor_to_major.empty() && parts.empty()) return "";
  return Str("{", Join(minor_to_major, ","), parts.empty() ? "" : ":", parts, "}");
}

// Labels such as b01f, from the positions of letters and spatial digits.
std::string LabelText(char first, int64_t first_at, char second, int64_t second_at,
                      const std::vector<int64_t>& spatial) {
  constexpr int64_t kMaxLabels = 64;
  std::string text;
  const auto put = [&](int64_t at, char label) {
    if (at < 0 || at >= kMaxLabels) return;
    if (at >= static_cast<int64_t>(text.size())) text.resize(at + 1, '?');
    text[at] = label;
  };
  put(first_at, first);
  put(second_at, second);
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], static_cast<char>(i < 10 ? '0' + i : '?'));
  return text;
}

// "[2,4]T(1,0)" or "[8]".
std::string IotaText(const std::vector<int64_t>& reshape, const std::vector<int64_t>& permutation) {
  return Str("[", Join(reshape, ","), "]", reshape.size() > 1 ? Str("T(", Join(permutation, ","), ")") : "");
}

std::string MeshText(const WireMessage& mesh) {
  using M = proto::MeshProto;
  std::vector<std::string> axes;
  for (const WireMessage& axis : mesh.Messages(M::axes))
    axes.push_back(Str("'", WordText(axis.Bytes(proto::MeshAxis::name)), "'=", axis.Int(proto::MeshAxis::size)));
  std::string text = Str("mesh[", Join(axes, ","), "]");
  const std::vector<int64_t> ids = mesh.Ints(M::device_ids);
  const WireMessage iota = mesh.Message(M::iota_transform);
  const std::vector<int64_t> reshape = iota.Ints(proto::IotaTransform::reshape_dims);
  if (!ids.empty()) text += Str(", device_ids=(", Join(ids, ","), ")");
  if (!reshape.empty())
    text += Str(", device_ids=(", IotaText(reshape, iota.Ints(proto::IotaTransform::transpose_perm)), ")");
  return text;
}

std::string AxesText(const std::vector<WireMessage>& axes, const WireMessage& mesh) {
  const std::vector<WireMessage> names = mesh.Messages(proto::MeshProto::axes);
  std::vector<std::string> parts;
  for (const WireMessage& axis : axes) {
    using A = proto::AxisRefProto;
    const int64_t index = axis.Int(A::mesh_axis_index);
    const bool known = index >= 0 && index < static_cast<int64_t>(names.size());
    std::string& part =
        parts.emplace_back(Str("'", known ? WordText(names[index].Bytes(proto::MeshAxis::name)) : Str(index), "'"));
    if (!axis.Has(A::sub_axis_info)) continue;
    const WireMessage sub = axis.Message(A::sub_axis_info);
    part += Str(":(", sub.Int(proto::SubAxis::pre_size), ")", sub.Int(proto::SubAxis::size));
  }
  return Join(parts, ", ");
}

// The text of a message, of several in braces, or "".
std::string ListedMetadata(const std::vector<WireMessage>& messages) {
  std::vector<std::string> metadata;
  for (const WireMessage& one : messages) metadata.push_back(MetadataText(one));
  return metadata.size() > 1 ? Str("{", Join(metadata, ", "), "}") : Join(metadata, "");
}

std::string NamedShardingText(const WireMessage& named) {
  using N = proto::NamedShardingProto;
  const WireMessage mesh = named.Message(N::mesh);
  const std::vector<int64_t> ids = mesh.Ints(proto::MeshProto::device_ids);
  if (!mesh.Has(proto::MeshProto::axes) && ids.size() == 1) return Str("maximal_mesh[device_id=", ids[0], "]");
  std::vector<std::string> dims;
  for (const WireMessage& dim : named.Messages(N::dim_shardings)) {
    const std::string axes = AxesText(dim.Messages(proto::DimensionSharding::axes), mesh);
    const bool open = dim.Int(proto::DimensionSharding::is_closed) == 0;
    dims.push_back(Str("{", axes, open ? axes.empty() ? "?" : ", ?" : "", "}"));
  }
  std::string text = Str(MeshText(mesh), ", [", Join(dims, ", "), "]");
  const auto list = [&](std::string_view name, const ProtoField& field, std::string_view how = "") {
    if (named.Has(field)) text += Str(", ", name, "=", how, "{", AxesText(named.Messages(field), mesh), "}");
  };
  list("replicated", N::replicated_axes);
  list("unreduced", N::unreduced_axes, named.Int(N::reduction_op) == 0 ? "" : Lower(EnumText(named, N::reduction_op)));
  list("manual", N::manual_axes);
  const std::string metadata = ListedMetadata(named.Messages(N::metadata));
  return metadata.empty() ? text : Str(text, ", metadata=", metadata);
}

std::string OneShardingText(const WireMessage& sharding) {
  using S = proto::OpSharding;
  if (sharding.Has(S::named_sharding)) return NamedShardingText(sharding.Message(S::named_sharding));
  const auto type_text = [](int64_t type) { return Lower(EnumWord(ProtoEnum::kType, type)); };
  const std::string type = type_text(sharding.Int(S::type));
  std::string text = type;
  if (type == "maximal") text = Str("maximal device=", Join(sharding.Ints(S::tile_assignment_devices), ","));
  if (type == "other") {
    const std::vector<int64_t> reshape = sharding.Ints(S::iota_reshape_dims);
    text = Str("devices=[", Join(sharding.Ints(S::tile_assignment_dimensions), ","), "]",
               reshape.empty() ? Join(sharding.Ints(S::tile_assignment_devices), ",")
                               : Str("<=", IotaText(reshape, sharding.Ints(S::iota_transpose_perm))));
    if (sharding.Int(S::replicate_on_last_tile_dim) != 0) text += " last_tile_dim_replicate";
    std::vector<std::string> last;
    for (const int64_t dim : sharding.Ints(S::last_tile_dims)) last.push_back(type_text(dim));
    if (!last.empty()) text += Str(" last_tile_dims={", Join(last, ", "), "}");
  }
  if (sharding.Int(S::is_shard_group) != 0)
    text += Str(" shard_", Lower(EnumWord(ProtoEnum::kShardGroupType, sharding.Int(S::shard_group_type))), " ",
                sharding.Int(S::shard_group_id));
  const std::string metadata = ListedMetadata(sharding.Messages(S::metadata));
  return metadata.empty() ? text : Str(text, " metadata=", metadata);
}

std::string IndexText(const WireMessage& array) {
  using A = proto::OriginalArrayProto;
  const std::vector<int64_t> index = array.Ints(A::shape_index);
  return Str("{", Quoted(array.Bytes(A::instruction_name)), index.empty() ? "" : Str(" ", ListText(index)), "}");
}

std::string OriginTreeText(const std::map<std::vector<int64_t>, std::string>& leaves, const WireMessage& shape,
                           std::vector<int64_t>& index) {
  const std::vector<WireMessage> elements = shape.Messages(proto::ShapeProto::tuple_shapes);
  if (elements.empty()) {
    const auto leaf = leaves.find(index);
    return leaf == leaves.end() ? "{}" : leaf->second;
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < elements.size(); ++i) {
    index.push_back(static_cast<int64_t>(i));
    parts.push_back(OriginTreeText(leaves, elements[i], index));
    index.pop_back();
  }
  return Str("(", Join(parts, ", "), ")");
}

}  // namespace

std::string ListText(const std::vector<int64_t>& values) { return Str("{", Join(values, ","), "}"); }

std::string EnumText(const WireMessage& message, const ProtoField& field, std::string_view prefix) {
  const std::string word = EnumWord(static_cast<ProtoEnum>(field.of), message.Int(field));
  return word.starts_with(prefix) ? word.substr(prefix.size()) : word;
}

std::string WordText(std::string_view text) {
  std::string word(text);
  std::replace_if(word.begin(), word.end(), [](char c) { return !IsWordByte(c); }, '_');
  return word;
}

std::string SanitizedName(std::string_view name) {
  std::string sane = WordText(name);
  if (sane.empty() || !IsLetter(sane[0])) sane.insert(0, "_");
  if (sane.starts_with("__") && !sane.starts_with("__xla_")) sane.insert(0, "a");
  if (PrimitiveTypeFromText(sane)) sane += '_';
  return sane;
}

std::string ShapeText(const WireMessage& shape) {
  using S = proto::ShapeProto;
  const std::string type = TypeText(shape.Int(S::element_type));
  if (type == "tuple" || type == "buffer") {
    std::vector<std::string> elements;
    for (const WireMessage& element : shape.Messages(S::tuple_shapes)) elements.push_back(ShapeText(element));
    return Str(type == "tuple" ? "(" : "b(", Join(elements, ", "), ")");
  }
  const std::vector<int64_t> dims = shape.Ints(S::dimensions);
  const std::vector<int64_t> dynamic = shape.Ints(S::is_dynamic_dimension);
  std::vector<std::string> sizes;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool bound = i < dynamic.size() && dynamic[i] != 0;
    sizes.push_back(dims[i] == Shape::kUnbounded ? "?" : Str(bound ? "<=" : "", dims[i]));
  }
  return Str(type, "[", Join(sizes, ","), "]", LayoutText(shape.Message(S::layout)));
}

std::string WindowText(const WireMessage& window) {
  using W = proto::WindowDimension;
  const std::vector<WireMessage> dims = window.Messages(proto::Window::dimensions);
  if (dims.empty()) return "{}";
  const auto ints = [&](const ProtoField& field) {
    return ByX(dims, [&](const WireMessage& dim) { return Str(dim.Int(field)); });
  };
  const auto pads = [](const WireMessage& dim) { return Str(dim.Int(W::padding_low), "_", dim.Int(W::padding_high)); };
  return Str("{size=", ints(W::size), " stride=", ints(W::stride), " pad=", ByX(dims, pads),
             " lhs_dilate=", ints(W::base_dilation), " rhs_dilate=", ints(W::window_dilation),
             " rhs_reversal=", ints(W::window_reversal), "}");
}

std::string DimLabelsText(const WireMessage& labels) {
  using C = proto::ConvolutionDimensionNumbers;
  return Str(LabelText('b', labels.Int(C::input_batch_dimension), 'f', labels.Int(C::input_feature_dimension),
                       labels.Ints(C::input_spatial_dimensions)),
             "_",
             LabelText('i', labels.Int(C::kernel_input_feature_dimension), 'o',
                       labels.Int(C::kernel_output_feature_dimension), labels.Ints(C::kernel_spatial_dimensions)),
             "->",
             LabelText('b', labels.Int(C::output_batch_dimension), 'f', labels.Int(C::output_feature_dimension),
                       labels.Ints(C::output_spatial_dimensions)));
}

std::string PaddingText(const WireMessage& padding) {
  using P = proto::PaddingConfigDimension;
  return ByX(padding.Messages(proto::PaddingConfig::dimensions), [](const WireMessage& dim) {
    return Str(dim.Int(P::edge_padding_low), "_", dim.Int(P::edge_padding_high), "_", dim.Int(P::interior_padding));
  });
}

std::string ShardingText(const WireMessage& sharding) {
  using S = proto::OpSharding;
  if (EnumText(sharding, S::type) != "TUPLE") return Str("{", OneShardingText(sharding), "}");
  std::string text;
  int64_t count = 0;
  for (const WireMessage& part : sharding.Messages(S::tuple_shardings)) {
    text += count == 0 ? "{" : ", ";
    if (count > 0 && count % 5 == 0) text += Str("/*index=", count, "*/");  // XLA prints the same comments.
    text += Str("{", OneShardingText(part), "}");
    ++count;
  }
  return Str(count == 0 ? "{" : "", text, "}");
}

std::string MetadataText(const WireMessage& metadata) {
  using M = proto::OpMetadata;
  std::vector<std::string> items;
  const auto text = [&](const ProtoField& field) {
    const std::string_view value = metadata.Bytes(field);
    if (!value.empty()) items.push_back(Str(field.name, "=", Quoted(value)));
  };
  const auto number = [&](const ProtoField& field) {
    if (metadata.Int(field) != 0) items.push_back(Str(field.name, "=", metadata.Int(field)));
  };
  text(M::op_type);
  text(M::op_name);
  text(M::source_file);
  number(M::source_line);
  number(M::source_end_line);
  number(M::source_column);
  number(M::source_end_column);
  if (metadata.Has(M::profile_type)) items.push_back(Str("profile_type=", ListText(metadata.Ints(M::profile_type))));
  text(M::deduplicated_name);
  text(M::scheduling_name);
  number(M::stack_frame_id);
  const std::string_view payload = metadata.Message(M::metadata_payload).Bytes(proto::Payload::value);
  if (!payload.empty()) items.push_back(Str("metadata_payload=", Quoted(payload)));
  return Str("{", Join(items, " "), "}");
}

std::string FrontendAttributesText(const WireMessage& attributes) {
  std::vector<std::string> items;
  for (const WireMessage& entry : attributes.Messages(proto::FrontendAttributes::map))
    items.push_back(Str(WordText(entry.Bytes(proto::MapEntry::key)), "=", Quoted(entry.Bytes(proto::MapEntry::value))));
  return Str("{", Join(items, ","), "}");
}

std::string StatisticsText(const WireMessage& statistics) {
  using S = proto::StatisticsViz;
  std::string text = Str("{visualizing_index=", statistics.Int(S::stat_index_to_visualize));
  for (const WireMessage& one : statistics.Messages(S::statistics))
    text += Str(",", WordText(one.Bytes(proto::Statistic::stat_name)), "=", one.Real(proto::Statistic::stat_val));
  return text + "}";
}

std::string ResultAccuracyText(const WireMessage& accuracy) {
  using R = proto::ResultAccuracy;
  if (!accuracy.Has(R::tolerance)) return Str("{mode=", Lower(EnumText(accuracy, R::mode)), "}");
  const WireMessage tolerance = accuracy.Message(R::tolerance);
  using T = proto::Tolerance;
  return Str("{tolerance={atol=", tolerance.Real(T::atol), ",rtol=", tolerance.Real(T::rtol),
             ",ulps=", tolerance.Int(T::ulps), "}}");
}

std::string SparsityText(const WireMessage& sparsity) {
  std::vector<std::string> sides;
  for (const auto& [name, field] :
       {std::pair("lhs", proto::SparsityConfig::lhs), std::pair("rhs", proto::SparsityConfig::rhs)}) {
    if (!sparsity.Has(field)) continue;
    using T = proto::TensorSparsityConfig;
    const WireMessage side = sparsity.Message(field);
    sides.push_back(Str(name, "={sparsity=", side.Int(T::num_non_zero), "x", side.Int(T::block_size), " dimension=",
                        side.Int(T::dimension), " stride=", side.Int(T::stride), " idx=", side.Int(T::idx), "}"));
  }
  return Str("{", Join(sides, " "), "}");
}

std::string ReplicaGroupsText(const WireMessage& inst) {
  using I = proto::HloInstructionProto;
  if (inst.Has(I::mesh_axes_replica_group_list)) {
    using M = proto::MeshAxesReplicaGroupListProto;
    const WireMessage list = inst.Message(I::mesh_axes_replica_group_list);
    const WireMessage mesh = list.Message(M::mesh);
    return Str(MeshText(mesh), " {", AxesText(list.Messages(M::axes), mesh), "}");
  }
  const WireMessage devices = inst.Message(I::collective_device_list);
  const WireMessage iota = inst.Has(I::iota_collective_device_list)
                               ? inst.Message(I::iota_collective_device_list)
                               : devices.Message(proto::CollectiveDeviceListProto::iota_replica_group_list);
  using G = proto::IotaReplicaGroupListProto;
  if (iota.Has(G::num_replica_groups)) {
    return Str("[", iota.Int(G::num_replica_groups), ",", iota.Int(G::num_devices_per_group),
               "]<=", IotaText(iota.Ints(G::iota_reshape_dims), iota.Ints(G::iota_transpose_perm)));
  }
  std::vector<WireMessage> groups = devices.Messages(proto::CollectiveDeviceListProto::replica_groups);
  if (groups.empty()) groups = inst.Messages(I::replica_groups);
  std::vector<std::string> parts;
  for (const WireMessage& group : groups) parts.push_back(ListText(group.Ints(proto::ReplicaGroup::replica_ids)));
  return Str("{", Join(parts, ","), "}");
}

std::string OriginText(const WireMessage& origin, const WireMessage& shape) {
  using O = proto::OriginalValueProto;
  if (origin.Int(O::is_synthetic_call) != 0) return "{[synthetic_call]}";
  std::map<std::vector<int64_t>, std::string> leaves;
  for (const WireMessage& element : origin.Messages(O::elements)) {
    using E = proto::OriginalValueElementProto;
    if (element.Has(E::original_array))
      leaves[element.Ints(E::shape_index)] = IndexText(element.Message(E::original_array));
  }
  std::vector<int64_t> index;
  return Str("{", OriginTreeText(leaves, shape, index), "}");
}

std::string StackFramesText(const WireMessage& frames) {
  using F = proto::StackFrameIndexProto;
  std::string text;
  const auto section = [&](std::string_view title, const auto& items, auto&& item) {
    text += Str(text.empty() ? "" : "\n", title, "\n");
    for (size_t i = 0; i < items.size(); ++i) text += Str(i + 1, " ", item(items[i]), "\n");
  };
  const auto fields = [](const WireMessage& message, std::initializer_list<ProtoField> list) {
    std::vector<std::string> parts;
    for (const ProtoField& field : list) parts.push_back(Str(field.name, "=", message.Int(field)));
    return Str("{", Join(parts, " "), "}");
  };
  const auto quoted = [](std::string_view name) { return Quoted(name); };
  section("FileNames", frames.AllBytes(F::file_names), quoted);
  section("FunctionNames", frames.AllBytes(F::function_names), quoted);
  section("FileLocations", frames.Messages(F::file_locations), [&](const WireMessage& location) {
    using L = proto::FileLocation;
    return fields(location, {L::file_name_id, L::function_name_id, L::line, L::end_line, L::column, L::end_column});
  });
  section("StackFrames", frames.Messages(F::stack_frames), [&](const WireMessage& frame) {
    using S = proto::StackFrame;
    // The text adds 1 to ids of parents (docs/language.md#stack-frames).
    return Str("{file_location_id=", frame.Int(S::file_location_id),
               " parent_frame_id=", frame.Int(S::parent_frame_id) + 1, "}");
  });
  return text;
}

}  // namespace hlo
