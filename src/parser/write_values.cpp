#include "parser/write_values.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/text.h"
#include "parser/proto_literal.h"
#include "parser/reader.h"

namespace hlo {
namespace {

bool SameLetters(std::string_view a, std::string_view b) {
  const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c; };
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    if (upper(a[i]) != upper(b[i])) return false;
  }
  return true;
}

int64_t TypeNumber(PrimitiveType type) {
  if (type == PrimitiveType::kOpaque) return EnumNumber(proto::ShapeProto::element_type, "OPAQUE_TYPE");
  return EnumNumber(proto::ShapeProto::element_type, Str(type));
}

void WriteLayout(const Layout& layout, MessageWriter& out) {
  using L = proto::LayoutProto;
  out.Ints(L::minor_to_major, std::vector<int64_t>(layout.minor_to_major.begin(), layout.minor_to_major.end()));
  if (layout.tiling == Boxed<Tiling>()) return;
  for (const std::vector<int64_t>& tile : layout.tiling->tiles)
    out.Add(L::tiles).Ints(proto::TileProto::dimensions, tile);
  if (layout.tiling->tail_padding_alignment > 1)
    out.Int(L::tail_padding_alignment_in_elements, layout.tiling->tail_padding_alignment);
  if (layout.tiling->element_size_in_bits != 0) out.Int(L::element_size_in_bits, layout.tiling->element_size_in_bits);
  if (layout.tiling->memory_space != 0) out.Int(L::memory_space, layout.tiling->memory_space);
}

// Row-major indices in memory order.
std::vector<int64_t> MemoryOrder(const Shape& shape) {
  std::vector<int64_t> order(shape.NumElements());
  const std::vector<int64_t> strides = LayoutStrides(shape);
  std::vector<int64_t> index(shape.rank());
  int64_t at = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    order[at] = static_cast<int64_t>(i);
    for (int64_t d = shape.rank(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape.dim(d)) break;
      at -= index[d] * strides[d];
      index[d] = 0;
    }
  }
  return order;
}

// ---- Devices -----------------------------------------------------------------------------------------------------

std::vector<int64_t> PermutationOf(const DeviceOrder& order) {
  std::vector<int64_t> permutation = order.permutation;
  for (size_t i = permutation.size(); i < order.dims.size(); ++i) permutation.push_back(static_cast<int64_t>(i));
  return permutation;
}

void WriteMesh(const Mesh& mesh, MessageWriter& out) {
  using M = proto::MeshProto;
  if (mesh.single_device) return out.Ints(M::device_ids, std::vector<int64_t>{*mesh.single_device});
  for (const MeshAxis& axis : mesh.axes) {
    MessageWriter& one = out.Add(M::axes);
    one.Bytes(proto::MeshAxis::name, axis.name);
    one.Int(proto::MeshAxis::size, axis.size);
  }
  if (!mesh.devices.IsFormula()) return out.Ints(M::device_ids, mesh.devices.listed);
  if (mesh.devices.IsCounting()) return;
  MessageWriter& iota = out.Part(M::iota_transform);
  iota.Ints(proto::IotaTransform::reshape_dims, mesh.devices.dims);
  iota.Ints(proto::IotaTransform::transpose_perm, PermutationOf(mesh.devices));
}

void WriteAxes(const std::vector<AxisRef>& axes, const ProtoField& field, MessageWriter& out) {
  for (const AxisRef& axis : axes) {
    MessageWriter& one = out.Add(field);
    one.Int(proto::AxisRefProto::mesh_axis_index, axis.axis);
    if (axis.size == 0) continue;
    MessageWriter& sub = one.Part(proto::AxisRefProto::sub_axis_info);
    sub.Int(proto::SubAxis::pre_size, axis.before);
    sub.Int(proto::SubAxis::size, axis.size);
  }
}

void WriteNamedSharding(const NamedSharding& named, Reduction reduction, MessageWriter& out) {
  using N = proto::NamedShardingProto;
  WriteMesh(named.mesh, out.Part(N::mesh));
  for (const NamedSharding::Dim& dim : named.dims) {
    MessageWriter& one = out.Add(N::dim_shardings);
    WriteAxes(dim.axes, proto::DimensionSharding::axes, one);
    one.Int(proto::DimensionSharding::is_closed, dim.open ? 0 : 1);
  }
  WriteAxes(named.replicated, N::replicated_axes, out);
  WriteAxes(named.unreduced, N::unreduced_axes, out);
  if (reduction != Reduction::kSum) out.Int(N::reduction_op, EnumNumber(N::reduction_op, ToString(reduction)));
  WriteAxes(named.manual, N::manual_axes, out);
}

void WriteTiles(const Tiles& tiles, MessageWriter& out) {
  using S = proto::OpSharding;
  out.Ints(S::tile_assignment_dimensions, tiles.dims);
  if (tiles.devices.IsFormula()) {
    out.Ints(S::iota_reshape_dims, tiles.devices.dims);
    out.Ints(S::iota_transpose_perm, PermutationOf(tiles.devices));
  } else {
    out.Ints(S::tile_assignment_devices, tiles.devices.listed);
  }
  if (tiles.subgroups == std::vector{ShardingKind::kReplicated}) return out.Int(S::replicate_on_last_tile_dim, 1);
  std::vector<int64_t> last;
  for (const ShardingKind kind : tiles.subgroups) last.push_back(EnumNumber(S::last_tile_dims, ToString(kind)));
  out.Ints(S::last_tile_dims, last);
}

}  // namespace

int64_t EnumNumber(const ProtoField& field, std::string_view word) {
  if (word.empty()) return 0;
  const auto words = WordsOf(static_cast<ProtoEnum>(field.of));
  for (size_t i = 0; i < words.size(); ++i) {
    if (SameLetters(words[i], word)) return static_cast<int64_t>(i);
  }
  for (size_t i = 0; i < words.size(); ++i) {
    const size_t prefix = words[i].size() - std::min(words[i].size(), word.size());
    if (prefix > 0 && words[i][prefix - 1] == '_' && SameLetters(words[i].substr(prefix), word))
      return static_cast<int64_t>(i);
  }
  CHECK(false, "no word of ", field.name, " is '", word, "'");
}

void WriteShape(const Shape& shape, MessageWriter& out) {
  using S = proto::ShapeProto;
  if (shape.IsBuffer()) {
    out.Int(S::element_type, EnumNumber(S::element_type, "BUFFER"));
    Shape wrapped = shape;
    wrapped.SetBuffer(false);
    return WriteShape(wrapped, out.Add(S::tuple_shapes));
  }
  out.Int(S::element_type, TypeNumber(shape.type()));
  if (shape.IsTuple()) {
    for (const Shape& element : shape.elements()) WriteShape(element, out.Add(S::tuple_shapes));
    return;
  }
  if (!shape.IsArray()) return;
  std::vector<int64_t> dynamic;
  for (int64_t i = 0; i < shape.rank(); ++i)
    dynamic.push_back(shape.IsDynamic(i) || shape.dim(i) == Shape::kUnbounded ? 1 : 0);
  out.Ints(S::dimensions, shape.dims());
  out.Ints(S::is_dynamic_dimension, dynamic);
  WriteLayout(shape.layout(), out.Part(S::layout));
}

void WriteLiteral(const Literal& literal, MessageWriter& out) {
  using L = proto::LiteralProto;
  const Shape& shape = literal.shape();
  WriteShape(shape, out.Part(L::shape));
  if (shape.IsTuple()) {
    for (const Literal& element : literal.elements()) WriteLiteral(element, out.Add(L::tuple_literals));
    return;
  }
  const ProtoField* const field = LiteralField(shape.type());
  CHECK(field != nullptr, "no field has elements of ", shape.type());
  const int64_t count = shape.NumElements();
  if (count == 0) return;
  const std::vector<int64_t> order = MemoryOrder(shape);
  if (field->kind == ProtoKind::kInt) {
    std::vector<int64_t> values(count);
    for (int64_t i = 0; i < count; ++i) values[i] = literal.GetInt(order[i]);
    return out.Ints(*field, values);
  }
  const int64_t width = literal.byte_size() / count;
  std::string bytes(literal.byte_size(), '\0');
  for (int64_t i = 0; i < count; ++i) std::memcpy(&bytes[i * width], literal.raw() + order[i] * width, width);
  out.Bytes(*field, bytes);  // Packed numbers are encoded like bytes.
}

void WriteWindow(const Window& window, MessageWriter& out) {
  using W = proto::WindowDimension;
  for (const WindowDim& dim : window.dims) {
    MessageWriter& one = out.Add(proto::Window::dimensions);
    one.Int(W::size, dim.size);
    one.Int(W::stride, dim.stride);
    one.Int(W::padding_low, dim.pad_low);
    one.Int(W::padding_high, dim.pad_high);
    one.Int(W::window_dilation, dim.window_dilation);
    one.Int(W::base_dilation, dim.base_dilation);
    one.Int(W::window_reversal, dim.reversed ? 1 : 0);
  }
}

void WriteDimLabels(const DimLabels& labels, MessageWriter& out) {
  using C = proto::ConvolutionDimensionNumbers;
  out.Int(C::input_batch_dimension, labels.lhs_batch);
  out.Int(C::input_feature_dimension, labels.lhs_feature);
  out.Ints(C::input_spatial_dimensions, labels.lhs_spatial);
  out.Int(C::kernel_input_feature_dimension, labels.rhs_input_feature);
  out.Int(C::kernel_output_feature_dimension, labels.rhs_output_feature);
  out.Ints(C::kernel_spatial_dimensions, labels.rhs_spatial);
  out.Int(C::output_batch_dimension, labels.out_batch);
  out.Int(C::output_feature_dimension, labels.out_feature);
  out.Ints(C::output_spatial_dimensions, labels.out_spatial);
}

void WriteSharding(const Sharding& sharding, MessageWriter& out) {
  using S = proto::OpSharding;
  switch (sharding.kind) {
    case ShardingKind::kTiled:
      out.Int(S::type, EnumNumber(S::type, "OTHER"));
      WriteTiles(*sharding.tiles, out);
      break;
    case ShardingKind::kNamed: {
      MessageWriter& named = out.Part(S::named_sharding);
      WriteNamedSharding(*sharding.named, sharding.reduction, named);
      for (const Metadata& metadata : sharding.metadata)
        WriteMetadata(metadata, "", named.Add(proto::NamedShardingProto::metadata));
      break;
    }
    case ShardingKind::kTuple:
      out.Int(S::type, EnumNumber(S::type, "TUPLE"));
      for (const Sharding& leaf : sharding.leaves) WriteSharding(leaf, out.Add(S::tuple_shardings));
      break;
    case ShardingKind::kMaximal:
      out.Int(S::type, EnumNumber(S::type, "MAXIMAL"));
      out.Ints(S::tile_assignment_dimensions, std::vector<int64_t>{1});
      out.Ints(S::tile_assignment_devices, std::vector<int64_t>{sharding.device});
      break;
    default: out.Int(S::type, EnumNumber(S::type, ToString(sharding.kind)));
  }
  if (sharding.group != Sharding::Group::kNone) {
    out.Int(S::is_shard_group, 1);
    out.Int(S::shard_group_id, sharding.group_id);
    out.Int(S::shard_group_type,
            EnumNumber(S::shard_group_type, sharding.group == Sharding::Group::kAs ? "AS" : "LIKE"));
  }
  if (sharding.kind == ShardingKind::kNamed) return;
  if (NeedsReduction(sharding)) WriteMetadata(MetadataOf(sharding.reduction), "", out.Add(S::metadata));
  for (const Metadata& metadata : sharding.metadata) WriteMetadata(metadata, "", out.Add(S::metadata));
}

void WriteReplicaGroups(const ReplicaGroups& groups, MessageWriter& inst) {
  using I = proto::HloInstructionProto;
  if (const auto* lists = std::get_if<std::vector<std::vector<int64_t>>>(&groups.groups)) {
    for (const std::vector<int64_t>& ids : *lists)
      inst.Add(I::replica_groups).Ints(proto::ReplicaGroup::replica_ids, ids);
    return;
  }
  if (const auto* iota = std::get_if<IotaGroups>(&groups.groups)) {
    using G = proto::IotaReplicaGroupListProto;
    MessageWriter& list = inst.Part(I::iota_collective_device_list);
    list.Int(G::num_replica_groups, iota->count);
    list.Int(G::num_devices_per_group, iota->size);
    list.Ints(G::iota_reshape_dims, iota->devices.dims);
    list.Ints(G::iota_transpose_perm, PermutationOf(iota->devices));
    return;
  }
  const auto& mesh = std::get<MeshGroups>(groups.groups);
  MessageWriter& list = inst.Part(I::mesh_axes_replica_group_list);
  WriteMesh(mesh.mesh, list.Part(proto::MeshAxesReplicaGroupListProto::mesh));
  WriteAxes(mesh.axes, proto::MeshAxesReplicaGroupListProto::axes, list);
}

void WriteMetadata(const Metadata& metadata, std::string_view own, MessageWriter& out) {
  using M = proto::OpMetadata;
  const auto text = [&](const ProtoField& field, std::string_view value) {
    if (!value.empty()) out.Bytes(field, value);
  };
  const auto number = [&](const ProtoField& field, int64_t value) {
    if (value != 0) out.Int(field, value);
  };
  text(M::op_type, metadata.op_type.view());
  text(M::op_name, metadata.op_name.view());
  text(M::source_file, metadata.source_file.view());
  number(M::source_line, metadata.source_line);
  number(M::source_end_line, metadata.source_end_line);
  number(M::source_column, metadata.source_column);
  number(M::source_end_column, metadata.source_end_column);
  out.Ints(M::profile_type, metadata.profile_type);
  text(M::deduplicated_name, metadata.deduplicated_name.view());
  text(M::scheduling_name, metadata.scheduling_name.NameFor(own));
  number(M::stack_frame_id, metadata.stack_frame_id);
  if (!metadata.payload.empty()) out.Part(M::metadata_payload).Bytes(proto::Payload::value, metadata.payload.view());
}

void WriteFrontendAttributes(const FrontendAttributes& attributes, MessageWriter& out) {
  const std::string_view text = attributes.text;
  const char *at = text.data() + 1, *const end = text.data() + text.size() - 1;
  while (at < end) {
    const char* const name = at;
    while (at < end && *at != '=') ++at;
    MessageWriter& entry = out.Add(proto::FrontendAttributes::map);
    entry.Bytes(proto::MapEntry::key, {name, at});
    const char* const value = ++at;
    std::string bytes;
    if (at < end && *at == '{') {
      at = SkipBalanced(at, end);
      bytes = std::string(value, at);
    } else {
      for (++at; at < end && *at != '"'; ++at) at += *at == '\\' ? 1 : 0;
      ++at;
      Unquote({value, at}, bytes);
    }
    entry.Bytes(proto::MapEntry::value, bytes);
    ++at;
  }
}

// Writes {mode=highest} or {tolerance={atol=0.5,rtol=0,ulps=2}}.
void WriteResultAccuracy(const ResultAccuracy& accuracy, MessageWriter& out) {
  using R = proto::ResultAccuracy;
  const std::string_view text = accuracy.text;
  const auto value_of = [&](std::string_view key) {
    const size_t at = text.find(key);
    if (at == text.npos) return std::string();
    const size_t begin = at + key.size();
    return std::string(text.substr(begin, text.find_first_of(",}", begin) - begin));
  };
  if (const std::string mode = value_of("mode="); !mode.empty()) return out.Int(R::mode, EnumNumber(R::mode, mode));
  using T = proto::Tolerance;
  MessageWriter& tolerance = out.Part(R::tolerance);
  tolerance.Real(T::atol, std::strtod(value_of("atol=").c_str(), nullptr));
  tolerance.Real(T::rtol, std::strtod(value_of("rtol=").c_str(), nullptr));
  int64_t ulps = 0;
  if (ParseInt(value_of("ulps="), &ulps)) tolerance.Int(T::ulps, ulps);
}

void WriteParameterReplication(const LeafFlags& flags, MessageWriter& out) {
  const std::string_view text = flags.text;
  std::vector<int64_t> leaves;
  for (const std::string_view leaf : Split(text.substr(1, text.size() - 2), ','))
    leaves.push_back(Trim(leaf) == "true" ? 1 : 0);
  out.Ints(proto::ParameterReplication::replicated_at_leaf_buffers, leaves);
}

std::string BytesOf(const BackendConfig& config) {
  const std::string_view text = config.text;
  std::string bytes(text);
  if (text.starts_with('"')) Unquote(text, bytes);
  return bytes;
}

// Entries are lines such as "1 {line=3 end_line=3}" or "1 \"a.py\"" under the titles of sections.
void WriteStackFrames(std::string_view tables, MessageWriter& out) {
  using F = proto::StackFrameIndexProto;
  using L = proto::FileLocation;
  using S = proto::StackFrame;
  static constexpr ProtoField kLocation[] = {L::file_name_id, L::function_name_id, L::line,
                                             L::end_line,     L::column,           L::end_column};
  static constexpr ProtoField kFrame[] = {S::file_location_id, S::parent_frame_id};
  struct Section {
    std::string_view title;
    ProtoField field;
    std::span<const ProtoField> numbers;
  };
  static constexpr Section kSections[] = {{"FileNames", F::file_names, {}},
                                          {"FunctionNames", F::function_names, {}},
                                          {"FileLocations", F::file_locations, kLocation},
                                          {"StackFrames", F::stack_frames, kFrame}};
  const Section* section = nullptr;
  for (const std::string_view line : Split(tables, '\n')) {
    const auto titled = std::ranges::find(kSections, line, &Section::title);
    if (titled != std::end(kSections)) section = titled;
    const size_t space = line.find(' ');
    if (section == nullptr || space == line.npos) continue;
    const std::string_view entry = line.substr(space + 1);
    if (section->numbers.empty()) {
      std::string name;
      Unquote(entry, name);
      out.Bytes(section->field, name);
      continue;
    }
    MessageWriter& message = out.Add(section->field);
    size_t at = 0;
    for (const ProtoField& field : section->numbers) {
      at = entry.find('=', at) + 1;
      int64_t value = 0;
      ParseInt(entry.substr(at, entry.find_first_of(" }", at) - at), &value);
      // The text adds 1 to ids of parents (docs/language.md#stack-frames).
      message.Int(field,
                  field.number == S::parent_frame_id.number && section->numbers.data() == kFrame ? value - 1 : value);
    }
  }
}

}  // namespace hlo
