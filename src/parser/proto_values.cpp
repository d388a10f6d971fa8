#include "parser/proto_values.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <span>

#include "base/check.h"
#include "base/text.h"
#include "ir/frontend_attributes.h"
#include "ir/text/attribute_text.h"
#include "ir/text/printer.h"
#include "parser/lexer.h"
#include "parser/proto_rows.h"
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

std::string TypeText(int64_t type) {
  const std::string word = Lower(EnumText(ProtoEnum::kPrimitiveType, type));
  return word == "opaque_type" ? "opaque" : word;
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

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  return lower;
}

std::string EnumText(ProtoEnum type, int64_t value) {
  const auto words = WordsOf(type);
  const bool known = value >= 0 && value < static_cast<int64_t>(words.size());
  return known ? std::string(words[value]) : Str("value_", value);
}
std::string EnumText(const WireMessage& message, const ProtoField& field) {
  return EnumText(static_cast<ProtoEnum>(field.of), message.Int(field));
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

std::optional<int64_t> FindEnumNumber(const ProtoField& field, std::string_view word) {
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
  return std::nullopt;
}
int64_t EnumNumber(const ProtoField& field, std::string_view word) {
  const std::optional<int64_t> number = FindEnumNumber(field, word);
  CHECK(number.has_value(), "no word of ", field.name, " is '", word, "'");
  return *number;
}

// ---- Shapes ------------------------------------------------------------------------------------------------------

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

// ---- Attributes --------------------------------------------------------------------------------------------------

std::string DimLabelsText(const DimLabels& labels) {
  constexpr int64_t kMostLabels = 64;
  bool has_text = true;
  ForEachRow<DimLabels>([&](const ProtoField&, auto member) {
    const auto fits = [](int64_t at) { return at >= 0 && at < kMostLabels; };
    const auto& value = labels.*member;
    if constexpr (std::same_as<decltype(value), const int64_t&>) has_text = has_text && fits(value);
    else has_text = has_text && value.size() <= 10 && std::ranges::all_of(value, fits);
  });
  return has_text ? AttributeText(labels) : "?";
}

std::string FrontendAttributesText(const WireMessage& attributes) {
  std::vector<std::string> items;
  for (const WireMessage& entry : attributes.Messages(proto::FrontendAttributes::map))
    items.push_back(Str(WordText(entry.Bytes(proto::MapEntry::key)), "=", Quoted(entry.Bytes(proto::MapEntry::value))));
  return Str("{", Join(items, ","), "}");
}

std::string UnquotedValue(std::string_view text) {
  std::string bytes(text);
  if (text.starts_with('"')) Unquote(text, bytes);
  return bytes;
}

void WriteFrontendAttributes(const FrontendAttributes& attributes, MessageWriter& out) {
  for (const FrontendEntry& entry : FrontendEntries(attributes.text)) {
    MessageWriter& one = out.Add(proto::FrontendAttributes::map);
    one.Bytes(proto::MapEntry::key, entry.name);
    one.Bytes(proto::MapEntry::value, UnquotedValue(entry.value));
  }
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

void WriteMetadata(const Metadata& metadata, std::string_view own, MessageWriter& out) {
  const Metadata defaults;
  ForEachRow<Metadata>([&](const ProtoField& field, auto member) {
    const auto& value = metadata.*member;
    if (value == defaults.*member) return;
    if constexpr (std::same_as<decltype(value), const SchedulingName&>) {
      if (!value.NameFor(own).empty()) out.Bytes(field, value.NameFor(own));
    } else if constexpr (std::same_as<decltype(value), const Interned&>) {
      if (field.kind == ProtoKind::kMessage) out.Part(field).Bytes(proto::Payload::value, value);
      else out.Bytes(field, value);
    } else {
      Save(value, field, out);
    }
  });
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
  StackFrameTables tables;
  for (const std::string_view name : frames.AllBytes(F::file_names)) tables.file_names.emplace_back(name);
  for (const std::string_view name : frames.AllBytes(F::function_names)) tables.function_names.emplace_back(name);
  tables.file_locations = LoadAll<FileLocation>(frames, F::file_locations);
  tables.stack_frames = LoadAll<StackFrame>(frames, F::stack_frames);
  for (StackFrame& frame : tables.stack_frames) ++frame.parent_frame_id;  // docs/language.md#stack-frames
  return ToString(tables);
}

// Entries are lines such as "1 {line=3 end_line=3}" or "1 \"a.py\"" under the titles of sections.
void WriteStackFrames(std::string_view tables, MessageWriter& out) {
  static constexpr std::string_view kTitles[] = {"FileNames", "FunctionNames", "FileLocations", "StackFrames"};
  const ProtoField* section = nullptr;
  for (const std::string_view line : Split(tables, '\n')) {
    const auto title = std::ranges::find(kTitles, line) - kTitles;
    if (title < std::ssize(kTitles)) section = &FieldsOf(ProtoType::kStackFrameIndexProto)[title];
    const size_t space = line.find(' ');
    if (section == nullptr || space == line.npos) continue;
    const std::string_view entry = line.substr(space + 1);
    if (section->kind == ProtoKind::kBytes) {
      out.Bytes(*section, UnquotedValue(entry));
      continue;
    }
    MessageWriter& message = out.Add(*section);
    for (const std::string_view item : Split(entry.substr(1, entry.size() - 2), ' ')) {
      const size_t equals = item.find('=');
      const ProtoField* field = FindField(static_cast<ProtoType>(section->of), item.substr(0, equals));
      int64_t value = 0;
      ParseInt(item.substr(equals + 1), &value);
      message.Int(*field, value - (field->name == proto::StackFrame::parent_frame_id.name ? 1 : 0));
    }
  }
}

}  // namespace hlo
