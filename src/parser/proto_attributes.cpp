#include "parser/proto_attributes.h"

#include <algorithm>
#include <array>
#include <concepts>
#include <optional>
#include <type_traits>

#include "base/text.h"
#include "ir/text/attribute_text.h"
#include "ir/text/printer.h"
#include "parser/proto_literal.h"
#include "parser/proto_rows.h"
#include "parser/proto_values.h"

namespace hlo {
namespace {

using I = proto::HloInstructionProto;

// ---- The field of each attribute -----------------------------------------------------------------------------------

// A message in HloInstructionProto, or in a message of it.
struct Path {
  ProtoField outer, inner = {};
};
// A field of HloInstructionProto, or of the message at the end of `path`.
struct Place {
  ProtoField field;
  Path path;
};

// Attributes whose field has another name, or "" if XLA lacks the attribute.
constexpr std::pair<std::string_view, std::string_view> kFieldNames[] = {
    {"algorithm", "rng_algorithm"},
    {"api_version", "custom_call_api_version"},
    {"convolution_kind", "conv_kind"},
    {"dim_labels", "convolution_dimension_numbers"},
    {"direction", "comparison_direction"},
    {"index", "tuple_index"},
    {"inferred_dimension", "dimensions"},
    {"iota_dimension", "dimensions"},
    {"kind", "fusion_kind"},
    {"lhs_batch_dims", "lhs_batch_dimensions"},
    {"lhs_contracting_dims", "lhs_contracting_dimensions"},
    {"lhs_ragged_dims", "lhs_ragged_dimensions"},
    {"operand_layout_constraints", "operand_shapes_with_layout"},
    {"origin", "original_value"},
    {"output_to_operand_aliasing", "output_operand_aliasing"},
    {"padding", "padding_config"},
    {"rhs_batch_dims", "rhs_batch_dimensions"},
    {"rhs_contracting_dims", "rhs_contracting_dimensions"},
    {"rhs_group_dims", "rhs_group_dimensions"},
    {"schedule", "custom_call_schedule"},
    {"slice", "slice_dimensions"},
    {"slice_sizes", "gather_slice_sizes"},
    {"statistics", "statistics_viz"},
    {"type", "comparison_type"},
};

// The messages with fields of a struct of attributes.
constexpr Path kPrecision = {I::precision_config};
template <class Struct>
constexpr std::array<Path, 0> kPaths = {};
template <>
constexpr std::array kPaths<GatherAttrs> = {Path{I::gather_dimension_numbers}};
template <>
constexpr std::array kPaths<ScatterAttrs> = {Path{I::scatter_dimension_numbers}};
template <>
constexpr std::array kPaths<DotAttrs> = {Path{I::dot_dimension_numbers}, kPrecision};
template <>
constexpr std::array kPaths<RaggedDotAttrs> = {
    Path{I::ragged_dot_dimension_numbers, proto::RaggedDotDimensionNumbers::dot_dimension_numbers},
    Path{I::ragged_dot_dimension_numbers}, kPrecision};
template <>
constexpr std::array kPaths<ConvolutionAttrs> = {kPrecision};
template <>
constexpr std::array kPaths<CustomCallAttrs> = {kPrecision};
template <>
constexpr std::array kPaths<TriangularSolveAttrs> = {Path{I::triangular_solve_options}};
template <>
constexpr std::array kPaths<CholeskyAttrs> = {Path{I::cholesky_options}};
template <>
constexpr std::array kPaths<ShuffleAttrs> = {Path{I::shuffle_mode, proto::ShuffleMode::rotate}};

constexpr std::string_view FieldNameOf(std::string_view attribute) {
  for (const auto& [name, field] : kFieldNames) {
    if (name == attribute) return field;
  }
  return attribute;
}

template <class Struct>
constexpr Place PlaceOf(std::string_view attribute) {
  const std::string_view name = FieldNameOf(attribute);
  for (const Path& path : kPaths<Struct>) {
    const auto message = static_cast<ProtoType>((path.inner.number == 0 ? path.outer : path.inner).of);
    const ProtoField* field = FindField(message, name);
    if (field == nullptr) field = FindField(message, attribute);
    if (field != nullptr) return {*field, path};
  }
  const ProtoField* field = FindField(ProtoType::kHloInstructionProto, name);
  return {field == nullptr ? ProtoField() : *field, {}};
}

template <class Struct, size_t... N>
constexpr auto MakePlaces(std::index_sequence<N...>) {
  [[maybe_unused]] constexpr auto fields = Struct::Fields();
  return std::array<Place, sizeof...(N)>{PlaceOf<Struct>(fields.template Get<N>().name)...};
}
// In the order of Struct::Fields().
template <class Struct>
constexpr auto kPlaces = MakePlaces<Struct>(std::make_index_sequence<decltype(Struct::Fields())::kSize>());

template <class T>
constexpr bool kNeedsField =
    !std::same_as<T, Computation*> && !std::same_as<T, std::vector<Computation*>> && !std::same_as<T, Domain> &&
    !std::same_as<T, GroupModeWord> && !std::same_as<T, ShuffleMode>;

template <class Struct>
constexpr bool HasFields() {
  bool all = true;
  size_t next = 0;
  ForEachField<Struct>([&]<class T>(const Field<Struct, T>& field) {
    all = all && (!kNeedsField<T> || kPlaces<Struct>[next].field.number != 0 || FieldNameOf(field.name).empty());
    ++next;
  });
  return all;
}
template <class... Structs>
constexpr bool HaveFields(const StructList<Structs...>*) {
  return (HasFields<Structs>() && ...);
}
static_assert(HaveFields(static_cast<const AttributeStructs*>(nullptr)) && HasFields<CommonAttrs>(),
              "each attribute of ir/attrs.h needs a field in proto_schema.def or a row in kFieldNames");

// ---- Reading: the text of a value by its type. "" omits the attribute
// ------------------------------------------------

struct Source {
  const AttributeSource& from;
  const WireMessage& message;
  const ProtoField& field;
  Presence presence;

  bool Omits(bool is_default) const { return is_default && presence == Presence::kOptional; }
  WireMessage Part() const { return message.Message(field); }
};

template <class T>
using Type = std::type_identity<T>;

std::string Text(const Source& source, Type<bool>) {
  const int64_t value = source.message.Int(source.field);
  if (source.field.kind == ProtoKind::kEnum) return value == 1 ? "true" : value == 2 ? "false" : "";  // A TriState.
  if (value != 0) return "true";
  // A topk in a proto from before 2026 lacks `is_stable` but is stable, which is the default of topk.
  return source.Omits(true) || source.field.number == I::is_stable.number ? "" : "false";
}
std::string Text(const Source& source, Type<int64_t>) {
  const bool is_list = source.field.count == ProtoCount::kMany;  // The attribute is its first entry.
  const std::vector<int64_t> values = is_list ? source.message.Ints(source.field) : std::vector<int64_t>();
  if (is_list) return values.empty() ? "" : Str(values[0]);
  const int64_t value = source.message.Int(source.field);
  return source.Omits(value == 0) ? "" : Str(value);
}
// A channel_id or a cross_program_prefetch_index.
std::string Text(const Source& source, Type<std::optional<int64_t>>) {
  const WireMessage& inst = source.message;
  if (source.field.number == I::cross_program_prefetch_index.number) {
    if (inst.Has(source.field)) return Str(inst.Int(source.field));
    return inst.Int(I::is_cross_program_prefetch) != 0 ? "0" : "";
  }
  const int64_t id = inst.Int(inst.Int(I::channel_id) > 0 ? I::channel_id : I::all_reduce_id);
  return id > 0 ? Str(id) : "";  // Numbers below 1 mean no channel.
}
std::string Text(const Source& source, Type<double>) {
  return Str(static_cast<float>(source.message.Real(source.field)));
}
std::string Text(const Source& source, Type<std::string>) {
  const std::string_view value = source.message.Bytes(source.field);
  return source.Omits(value.empty()) ? "" : Quoted(value);
}
std::string Text(const Source& source, Type<std::vector<int64_t>>) {
  const std::vector<int64_t> values = source.message.Ints(source.field);
  return source.Omits(values.empty()) ? "" : ListText(values);
}
std::string Text(const Source& source, Type<OneDimension>) { return Text(source, Type<std::vector<int64_t>>()); }

// The attribute's word for a number, or the proto's word, which the parser reports.
template <class Enum>
std::string Word(const ProtoField& field, int64_t number) {
  for (const std::string_view word : EnumWords<Enum>::kWords) {
    if (FindEnumNumber(field, word) == number) return std::string(word);
  }
  return EnumText(static_cast<ProtoEnum>(field.of), number);
}
template <class Enum>
  requires std::is_enum_v<Enum>
std::string Text(const Source& source, Type<Enum>) {
  if (source.field.kind == ProtoKind::kBytes) return WordText(source.message.Bytes(source.field));
  const int64_t number = source.message.Int(source.field);
  return source.Omits(number == 0) ? "" : Word<Enum>(source.field, number);
}
template <class Enum>
  requires std::is_enum_v<Enum>
std::string Text(const Source& source, Type<std::vector<Enum>>) {
  std::vector<std::string> words;
  for (const int64_t number : source.message.Ints(source.field)) words.push_back(Word<Enum>(source.field, number));
  return words.empty() ? "" : Str("{", Join(words, ","), "}");
}
std::string Text(const Source& source, Type<ShuffleMode>) {
  return source.from.inst.Message(I::shuffle_mode).Has(proto::ShuffleMode::rotate) ? "rotate" : "";
}
std::string Text(const Source&, Type<GroupModeWord>) { return ""; }

std::string Text(const Source& source, Type<Window>) {
  if (source.Part().IsEmpty()) return "";
  return AttributeText(Window{LoadAll<WindowDim>(source.Part(), proto::Window::dimensions)});
}
std::string Text(const Source& source, Type<PaddingConfig>) {
  return AttributeText(PaddingConfig{LoadAll<PaddingDim>(source.Part(), proto::PaddingConfig::dimensions)});
}
std::string Text(const Source& source, Type<SliceRanges>) {
  return AttributeText(SliceRanges{LoadAll<SliceDim>(source.message, source.field)});
}
std::string Text(const Source& source, Type<OperandAliases>) {
  if (!source.message.Has(source.field)) return "";
  return AttributeText(LoadAll<OperandAlias>(source.message, source.field));
}
std::string Text(const Source& source, Type<DimLabels>) {
  return source.Omits(source.Part().IsEmpty()) ? "" : DimLabelsText(Load<DimLabels>(source.Part()));
}
template <class Side>
std::string Text(const Source& source, Type<ForEachSide<Side>>) {
  const auto sides = Load<ForEachSide<Side>>(source.Part());
  return sides.empty() ? "" : AttributeText(sides);
}
std::string Text(const Source& source, Type<Shape>) { return source.Part().IsEmpty() ? "" : ShapeText(source.Part()); }
std::string Text(const Source& source, Type<ShapeList>) {
  if (source.message.Int(I::constrain_layout) == 0) return "";
  std::vector<std::string> shapes;
  for (const WireMessage& shape : source.message.Messages(source.field)) shapes.push_back(ShapeText(shape));
  return Str("{", Join(shapes, ", "), "}");
}
std::string Text(const Source& source, Type<ListOfLists>) {
  if (source.field.number != I::source_target_pairs.number) return "";
  ListOfLists pairs;
  for (const WireMessage& pair : source.message.Messages(source.field))
    pairs.push_back({pair.Int(proto::SourceTarget::source), pair.Int(proto::SourceTarget::target)});
  return AttributeText(pairs);
}
std::string Text(const Source& source, Type<LiteralValue>) { return std::string(source.from.literal); }
std::string Text(const Source& source, Type<ReplicaGroups>) { return ReplicaGroupsText(source.message); }
// A proto calls the sharding on the users' side `exit`, the text `entry`.
std::string Text(const Source& source, Type<Domain>) {
  return Str("{kind=\"sharding\", entry=", ShardingText(source.message.Message(I::domain_exit_sharding)),
             ", exit=", ShardingText(source.message.Message(I::domain_entry_sharding)), "}");
}
template <class T>
std::string Text(const Source& source, Type<std::optional<T>>) {
  return Text(source, Type<T>());
}

// Attributes of any instruction.
std::string Text(const Source& source, Type<LeafFlags>) {
  std::vector<std::string> leaves;
  for (const int64_t leaf : source.Part().Ints(proto::ParameterReplication::replicated_at_leaf_buffers))
    leaves.push_back(Str(leaf != 0));
  return leaves.empty() ? "" : Str("{", Join(leaves, ","), "}");
}
std::string Text(const Source& source, Type<Shared<Sharding>>) {
  return source.message.Has(source.field) ? ShardingText(source.Part()) : "";
}
std::string Text(const Source& source, Type<FrontendAttributes>) {
  return source.Part().IsEmpty() ? "" : FrontendAttributesText(source.Part());
}
std::string Text(const Source& source, Type<Statistics>) {
  return source.Part().IsEmpty() ? "" : StatisticsText(source.Part());
}
std::string Text(const Source& source, Type<ResultAccuracy>) {
  return source.Part().IsEmpty() ? "" : ResultAccuracyText(source.Part());
}
std::string Text(const Source& source, Type<Origin>) {
  return source.Part().IsEmpty() ? "" : OriginText(source.Part(), source.message.Message(I::shape));
}
std::string Text(const Source& source, Type<Metadata>) {
  return source.Part().IsEmpty() ? "" : Str(Load<Metadata>(source.Part()));
}
std::string Text(const Source& source, Type<BackendConfig>) {
  std::string_view config = source.message.Bytes(source.field);
  if (config.empty()) config = source.message.Message(I::backend_config_payload).Bytes(proto::Payload::value);
  return config.empty() ? "" : Quoted(config);
}

template <class T>
std::string TextAt(const AttributeSource& from, const Place& place, Presence presence, Type<T> type) {
  if (place.path.outer.number == 0) return Text({from, from.inst, place.field, presence}, type);
  const WireMessage outer = from.inst.Message(place.path.outer);
  if (place.path.inner.number == 0) return Text({from, outer, place.field, presence}, type);
  return Text({from, outer.Message(place.path.inner), place.field, presence}, type);
}

// The computation of attribute number `index` among those of the struct. XLA lists a loop's body before the condition.
template <class Struct>
std::string CalledText(const AttributeSource& from, size_t index) {
  if constexpr (std::same_as<Struct, WhileAttrs>) index = 1 - index;
  // The attribute called_computations lists to_apply, too. Without a pred as selector, branch_computations has the
  // branches.
  if (std::same_as<Struct, CustomCallAttrs> || (std::same_as<Struct, ConditionalAttrs> && !from.pred_selector))
    return "";
  return index < from.called.size() ? Str("%", from.called[index]) : "";
}

template <class Struct>
void AppendTexts(std::string& out, const AttributeSource& from) {
  size_t next = 0, next_called = 0;
  ForEachField<Struct>([&]<class T>(const Field<Struct, T>& field) {
    const Place& place = kPlaces<Struct>[next++];
    if (kNeedsField<T> && place.field.number == 0) return;
    std::string text;
    if constexpr (std::same_as<T, Computation*>) {
      text = CalledText<Struct>(from, next_called++);
    } else if constexpr (std::same_as<T, std::vector<Computation*>>) {
      if (!from.called.empty() && !from.pred_selector) text = Str("{%", Join(from.called, ", %"), "}");
    } else {
      text = TextAt(from, place, field.presence, Type<T>());
    }
    if (!text.empty()) out += Str(", ", field.name, "=", text);
  });
}

// ---- Writing: one overload for each type that has a field
// ------------------------------------------------------------

struct Target {
  MessageWriter& inst;
  const Place& place;

  MessageWriter& Message() const {
    MessageWriter* message = &inst;
    for (const ProtoField& field : {place.path.outer, place.path.inner}) {
      if (field.number != 0) message = &message->Part(field);
    }
    return *message;
  }
  MessageWriter& Part() const { return Message().Part(place.field); }
};

void Write(const Target& to, bool value) {
  if (to.place.field.kind == ProtoKind::kEnum) to.Message().Int(to.place.field, value ? 1 : 2);  // A TriState.
  else to.Message().Int(to.place.field, value ? 1 : 0);
}
void Write(const Target& to, int64_t value) { to.Message().Int(to.place.field, value); }
void Write(const Target& to, double value) { to.Message().Real(to.place.field, value); }
void Write(const Target& to, const std::string& value) {
  if (!value.empty()) to.Message().Bytes(to.place.field, value);
}
void Write(const Target& to, const std::vector<int64_t>& values) { to.Message().Ints(to.place.field, values); }
void Write(const Target& to, OneDimension value) { Write(to, std::vector{value.value}); }
template <class Enum>
  requires std::is_enum_v<Enum>
void Write(const Target& to, Enum value) {
  if (to.place.field.kind == ProtoKind::kBytes) Write(to, std::string(ToString(value)));
  else to.Message().Int(to.place.field, EnumNumber(to.place.field, ToString(value)));
}
void Write(const Target& to, DotAlgorithm algorithm) {
  if (algorithm == DotAlgorithm::kUnset) return;
  to.Message().Int(to.place.field, EnumNumber(to.place.field, ToString(algorithm)));
}
void Write(const Target& to, const std::vector<Precision>& precisions) {
  std::vector<int64_t> numbers;
  for (const Precision one : precisions) numbers.push_back(EnumNumber(to.place.field, ToString(one)));
  if (!numbers.empty()) to.Message().Ints(to.place.field, numbers);
}
void Write(const Target& to, ShuffleMode) { to.inst.Part(I::shuffle_mode).Part(proto::ShuffleMode::rotate); }
void Write(const Target&, GroupModeWord) {}
void Write(const Target& to, const Window& window) {
  if (!window.dims.empty()) SaveAll(window.dims, proto::Window::dimensions, to.Part());
}
void Write(const Target& to, const DimLabels& labels) { Save(labels, to.Part()); }
void Write(const Target& to, const PaddingConfig& padding) {
  SaveAll(padding.dims, proto::PaddingConfig::dimensions, to.Part());
}
void Write(const Target& to, const SliceRanges& slice) { SaveAll(slice.dims, to.place.field, to.inst); }
void Write(const Target& to, const OperandAliases& aliases) { SaveAll(aliases, to.place.field, to.inst); }
template <class Side>
void Write(const Target& to, const ForEachSide<Side>& sides) {
  if (!sides.empty()) Save(sides, to.Part());
}
void Write(const Target& to, const ListOfLists& lists) {
  if (to.place.field.number != I::source_target_pairs.number) return;
  for (const std::vector<int64_t>& pair : lists) {
    MessageWriter& one = to.inst.Add(to.place.field);
    if (!pair.empty()) one.Int(proto::SourceTarget::source, pair.front());
    if (!pair.empty()) one.Int(proto::SourceTarget::target, pair.back());
  }
}
void Write(const Target& to, const Shape& shape) { WriteShape(shape, to.Part()); }
void Write(const Target& to, const ShapeList& list) {
  to.inst.Int(I::constrain_layout, 1);
  for (const Shape& shape : list.shapes) WriteShape(shape, to.inst.Add(to.place.field));
}
void Write(const Target& to, const LiteralValue& literal) {
  if (literal.value) WriteLiteral(*literal.value, to.Part());
}
void Write(const Target& to, const ReplicaGroups& groups) { WriteReplicaGroups(groups, to.inst); }
void Write(const Target& to, const Domain& domain) {
  WriteSharding(domain.exit, to.inst.Part(I::domain_entry_sharding));
  WriteSharding(domain.entry, to.inst.Part(I::domain_exit_sharding));
}
template <class T>
void Write(const Target& to, const std::optional<T>& value) {
  if (value) Write(to, *value);
}

template <class Struct>
void WriteAll(const Struct& attrs, MessageWriter& out) {
  std::vector<const Computation*> called;
  size_t next = 0;
  ForEachField<Struct>([&]<class T>(const Field<Struct, T>& field) {
    const Place& place = kPlaces<Struct>[next++];
    if (kNeedsField<T> && place.field.number == 0) return;
    const T& value = attrs.*field.member;
    if constexpr (std::same_as<T, Computation*>) {
      const bool is_first = std::same_as<Struct, WhileAttrs>;  // XLA lists the body before the condition.
      if (value != nullptr) called.insert(is_first ? called.begin() : called.end(), value);
    } else if constexpr (std::same_as<T, std::vector<Computation*>>) {
      called.insert(called.end(), value.begin(), value.end());
    } else if constexpr (std::same_as<Struct, ReshapeAttrs>) {
      if (value >= 0) Write({out, place}, value);
    } else if constexpr (std::same_as<Struct, AsyncAttrs> && std::same_as<T, std::string>) {
      // The default thread is omitted. The called computation then determines it.
      if (value != AsyncAttrs().thread) Write({out, place}, value);
    } else {
      Write({out, place}, value);
    }
  });
  std::vector<int64_t> ids;
  for (const Computation* computation : called) ids.push_back(IdOf(*computation));
  out.Ints(I::called_computation_ids, ids);
}

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
  if (!common.backend_config.empty()) out.Bytes(I::backend_config, UnquotedValue(common.backend_config.text));
}

}  // namespace

std::string AttributesText(Opcode opcode, const AttributeSource& source) {
  std::string out;
  const Attributes attributes = RowOf(opcode).make_attrs();
  Visit(attributes, [&]<class Struct>(const Struct&) { AppendTexts<Struct>(out, source); });
  // `order` is the newer spelling of `type`.
  if (const std::string_view order = source.inst.Bytes(I::comparison_order); !order.empty())
    out += Str(", order=", WordText(order));
  AppendTexts<CommonAttrs>(out, source);
  return out;
}

void WriteAttributes(const Instruction& inst, MessageWriter& out) {
  Visit(inst.attributes(), [&](const auto& attrs) { WriteAll(attrs, out); });
  if (inst.Is(Opcode::kCompare)) out.Bytes(I::comparison_order, OrderOf(inst));
  if (inst.HasCommon()) WriteCommon(inst, out);
}

}  // namespace hlo
