// Reads shardings, domains and replica groups. Forms: docs/language.md#sharding, docs/language.md#replica-groups.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "ir/mesh/shardy_text.h"
#include "parser/reader.h"

namespace hlo {
namespace {

constexpr size_t kMostAxes = 64;  // The limit for dimensions of an array is the same.

template <class List>
bool IsPermutation(List values) {
  std::sort(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

bool Precedes(const AxisRef& a, const AxisRef& b) { return std::pair(a.axis, a.before) < std::pair(b.axis, b.before); }

}  // namespace

struct Reader::ShardingParts {
  std::vector<ShardingKind> kinds;
  std::optional<int64_t> device;
  std::vector<int64_t> tiles;
  DeviceOrder devices;
  bool replicate_last = false;
  std::optional<std::vector<ShardingKind>> subgroups;
  Sharding::Group group = Sharding::Group::kNone;
  int64_t group_id = 0;
  std::vector<Metadata> metadata;
  SourceRange range;
};

// ---- Devices -----------------------------------------------------------------------------------------------------

bool Reader::ReadInts(char open, char close, Dims& values, const char* what) {
  return ReadList(open, close, [&] {
    int64_t value = 0;
    if (!ReadInt(value, what)) return false;
    values.push_back(value);
    return true;
  });
}

// Reads [2,2,2]T(1,0,2): the numbers 0 to 7, reshaped and transposed.
bool Reader::ReadIota(DeviceOrder& order) {
  Dims dims, permutation = {0};
  const SourceRange range = token_.range();
  if (!ReadInts('[', ']', dims, "a dimension")) return false;
  if (dims.empty() || std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }))
    return Fail("P037", "the device list needs at least one dimension, each of size 0 or more",
                {range.begin, last_end_});
  if (dims.size() > 1) {
    permutation.clear();
    if (!token_.IsWord("T")) return FailExpected("T(...), the order of the dimensions");
    Advance();
    const SourceRange list = token_.range();
    if (!ReadInts('(', ')', permutation, "a dimension")) return false;
    if (permutation.size() != dims.size() || !IsPermutation(permutation)) {
      return Fail("P037", Str("expected a permutation of 0 to ", dims.size() - 1), {list.begin, last_end_});
    }
  }
  if (CountDevices(dims) == INT64_MAX) return Fail("P042", "there are too many devices to count in 64 bits", range);
  order = IotaOrder(dims, permutation);
  return true;
}

// Reads [2,4]0,1,2,3,4,5,6,7 or [2,4]<=[8].
bool Reader::ReadTileDevices(ShardingParts& parts) {
  const uint32_t begin = token_.begin;
  parts.tiles.clear();
  if (!ReadList('[', ']', [&] { return ReadInt(parts.tiles.emplace_back(), "a number of tiles"); })) return false;
  const SourceRange range = {begin, last_end_};
  if (parts.tiles.empty()) return Fail("P037", "expected the number of tiles along each dimension", range);
  for (const int64_t tiles : parts.tiles) {
    if (tiles < 1) return Fail("P037", Str("a dimension has ", tiles, " tiles, expected 1 or more"), range);
  }
  const int64_t count = CountDevices(parts.tiles);
  if (count == INT64_MAX) return Fail("P042", "there are too many tiles to count in 64 bits", range);
  int64_t devices = 0;
  if (token_.kind == TokenKind::kLessEqual) {
    Advance();
    if (!ReadIota(parts.devices)) return false;
    devices = CountDevices(parts.devices.dims);
  } else {
    std::vector<int64_t>& ids = parts.devices.listed;
    ids.clear();
    do {
      if (!ReadInt(ids.emplace_back(), "the id of a device or '<='")) return false;
    } while (Accept(','));
    devices = static_cast<int64_t>(ids.size());
    if (devices == 1)
      return Fail("P037", "a tiled sharding needs more than one device; write maximal device=N for one",
                  {begin, last_end_});
  }
  if (devices == count) return true;
  return Fail("P037", Str("found ", devices, devices == 1 ? " device for " : " devices for ", count, " tiles"),
              {begin, last_end_});
}

// Reads {manual, replicated}.
bool Reader::ReadSubgroups(std::vector<ShardingKind>& kinds) {
  return ReadList('{', '}', [&] {
    using enum ShardingKind;
    for (const ShardingKind kind : {kMaximal, kManual, kUnreduced, kReplicated}) {
      if (!token_.IsWord(ToString(kind))) continue;
      kinds.push_back(kind);
      Advance();
      return true;
    }
    return FailExpected("maximal, replicated, manual or unreduced");
  });
}

// Reads {op_name="a"} or {{op_name="a"}, {op_name="b"}}.
bool Reader::ReadShardingMetadata(std::vector<Metadata>& metadata) {
  if (!token_.Is('{')) return FailExpected("'{' of metadata");
  const char* inside = lexer_.Pointer(token_.end);
  if (!SkipSpace(inside)) return false;
  const bool is_list = *inside == '{';
  lexer_.Seek(lexer_.Pointer(token_.end));
  // Instructions share shardings, so metadata must not refer to the instruction being defined.
  const std::string_view name = std::exchange(defining_, {});
  const auto read = [&] { return Read(metadata.emplace_back()); };
  const bool good = is_list ? ReadList('{', '}', read) : read();
  defining_ = name;
  return good;
}

// ---- One sharding ------------------------------------------------------------------------------------------------

bool Reader::ReadShardingPart(ShardingParts& parts) {
  const Token token = token_;
  if (token.kind == TokenKind::kAttribute) {
    Advance();
    if (token.text == "device") return ReadInt(parts.device.emplace(), "the id of a device");
    if (token.text == "devices") return ReadTileDevices(parts);
    if (token.text == "last_tile_dims") return ReadSubgroups(parts.subgroups.emplace());
    if (token.text == "metadata") return ReadShardingMetadata(parts.metadata);
    return Fail("P034", Str("'", token.text, "' is not an item of a sharding"), token.range());
  }
  using enum ShardingKind;
  for (const ShardingKind kind : {kReplicated, kMaximal, kManual, kUnknown, kUnreduced}) {
    if (!token.IsWord(ToString(kind))) continue;
    parts.kinds.push_back(kind);
    Advance();
    return true;
  }
  if (token.IsWord("last_tile_dim_replicate")) {
    parts.replicate_last = true;
    Advance();
    return true;
  }
  if (!token.IsWord("shard_as") && !token.IsWord("shard_like"))
    return FailExpected("an item of a sharding, such as replicated or devices=");
  parts.group = token.IsWord("shard_as") ? Sharding::Group::kAs : Sharding::Group::kLike;
  Advance();
  return ReadInt(parts.group_id, "the number of a group");
}

// Of several kinds, the first in the list below counts, as in XLA.
bool Reader::FinishSharding(ShardingParts& parts, Sharding& value) {
  using enum ShardingKind;
  value.kind = kTiled;
  for (const ShardingKind kind : {kReplicated, kMaximal, kManual, kUnknown, kUnreduced}) {
    if (std::find(parts.kinds.begin(), parts.kinds.end(), kind) == parts.kinds.end()) continue;
    value.kind = kind;
    break;
  }
  if (parts.kinds.size() > 1)
    Warn("W010", Str("there are several kinds of sharding, of which only ", value.kind, " is used"), parts.range);
  const bool is_maximal = value.kind == kMaximal;
  if (is_maximal != parts.device.has_value() || (is_maximal && !parts.tiles.empty() && !parts.devices.IsFormula())) {
    return Fail("P037",
                is_maximal ? "a maximal sharding needs exactly one device, as in maximal device=0"
                           : "device= is allowed only in a maximal sharding",
                parts.range);
  }
  if (value.kind == kTiled) {
    if (parts.tiles.empty())
      return Fail("P037", "expected a kind of sharding, such as replicated or devices=", parts.range);
    if (parts.replicate_last && parts.subgroups)
      return Fail("P037", "last_tile_dim_replicate and last_tile_dims= are both given, expected one of them",
                  parts.range);
    if (parts.replicate_last) parts.subgroups = {kReplicated};
    const std::vector<ShardingKind> subgroups = parts.subgroups.value_or(std::vector<ShardingKind>());
    if (subgroups.size() > parts.tiles.size()) {
      return Fail("P037",
                  Str("found ", subgroups.size(), " kinds of subgroups for ", parts.tiles.size(),
                      " tile dimensions, expected at most as many"),
                  parts.range);
    }
    value = TiledSharding(std::move(parts.tiles), std::move(parts.devices), subgroups);
  } else if (value.kind != kMaximal && !parts.devices.IsFormula()) {
    return Fail("P037", Str("a ", ToString(value.kind), " sharding has no devices"), parts.range);
  }
  value.device = parts.device.value_or(0);
  value.group = parts.group;
  value.group_id = parts.group_id;
  value.metadata = std::move(parts.metadata);
  for (const Reduction reduction : {Reduction::kSum, Reduction::kMax, Reduction::kMin}) {
    if (!NeedsReduction(value) || std::erase(value.metadata, MetadataOf(reduction)) == 0) continue;
    value.reduction = reduction;
  }
  return true;
}

bool Reader::Read(Sharding& value) {
  const uint32_t begin = token_.begin;
  if (!Expect('{', "'{' of a sharding")) return false;
  if (token_.Is('{') || token_.Is('}')) {  // One sharding for each leaf.
    value.kind = ShardingKind::kTuple;
    if (Accept('}')) return true;
    do {
      if (!token_.Is('{')) return FailExpected("'{' of a sharding");
      const SourceRange brace = token_.range();
      if (!Read(value.leaves.emplace_back())) return false;
      if (value.leaves.back().kind == ShardingKind::kTuple)
        return Fail("P037", "a tuple of shardings cannot hold tuples; write its leaves side by side", brace);
    } while (Accept(','));
    return Expect('}', "',' or '}'");
  }
  if (token_.IsWord("mesh") || token_.IsWord("maximal_mesh") || token_.IsWord("single_device")) {
    return ReadNamedSharding(value) && Expect('}', "',' or '}'");
  }
  ShardingParts parts;
  while (!token_.Is('}')) {
    if (!ReadShardingPart(parts)) return false;
  }
  Advance();
  parts.range = {begin, last_end_};
  return FinishSharding(parts, value);
}

void Reader::SpreadSharding(Instruction& inst) {
  if (!inst.HasCommon() || !inst.shape().IsTuple()) return;
  const Shared<Sharding>& written = inst.common().sharding;
  if (written.empty() || written->kind == ShardingKind::kTuple) return;
  const int64_t leaves = std::max<int64_t>(1, inst.shape().LeafCount());
  Shared<Sharding>& spread = spread_shardings_[{written.get(), leaves}];
  if (spread.empty()) {
    Sharding tuple = {.kind = ShardingKind::kTuple};
    tuple.leaves.assign(leaves, *written);
    spread = std::move(tuple);
  }
  inst.mutable_common().sharding = spread;
}

// ---- Shardings over a mesh ---------------------------------------------------------------------------------------

// Reads mesh['x'=2,'y'=4], or single_device[device_id=1] (formerly maximal_mesh).
bool Reader::ReadMesh(Mesh& mesh) {
  const SourceRange begin = token_.range();
  if (!token_.IsWord("mesh")) {
    Advance();
    return Expect('[', "'['") && ExpectAttributeName("device_id", "device_id=") &&
           ReadInt(mesh.single_device.emplace(), "the id of a device") && Expect(']', "']'");
  }
  Advance();
  const bool good = ReadList('[', ']', [&] {
    MeshAxis& axis = mesh.axes.emplace_back();
    const SourceRange range = token_.range();
    if (!Read(axis.name) || !Expect('=', "'=' and the size of the axis") || !ReadInt(axis.size, "a size")) return false;
    if (axis.size < 1)
      return Fail("P037", Str("an axis has size ", axis.size, ", expected 1 or more"), {range.begin, last_end_});
    const auto same = [&](const MeshAxis& other) { return &other != &axis && other.name == axis.name; };
    if (std::none_of(mesh.axes.begin(), mesh.axes.end(), same)) return true;
    return Fail("P035", Str("axis '", Escaped(axis.name), "' is given twice"), range);
  });
  if (mesh.axes.size() > kMostAxes)
    return FailLimit("P094", Str("a mesh has ", mesh.axes.size(), " axes, but the limit is ", kMostAxes), begin);
  mesh.devices = CountingOrder(mesh.DeviceCount());
  if (good && mesh.DeviceCount() == INT64_MAX)
    return Fail("P042", "there are too many devices to count in 64 bits", begin);
  return good;
}

// Reads ([4,2]T(1,0)) or (3,2,1,0).
bool Reader::ReadMeshDevices(Mesh& mesh) {
  const uint32_t begin = token_.begin;
  const int64_t count = mesh.DeviceCount();
  if (!Expect('(', "'(' and the ids of devices")) return false;
  int64_t devices = 0;
  if (token_.Is('[')) {
    if (!ReadIota(mesh.devices)) return false;
    devices = CountDevices(mesh.devices.dims);
  } else {
    std::vector<int64_t> ids;
    while (!token_.Is(')')) {
      if (!ids.empty() && !Expect(',', "',' or ')'")) return false;
      if (!ReadInt(ids.emplace_back(), "the id of a device")) return false;
    }
    devices = static_cast<int64_t>(ids.size());
    if (devices == count && !IsPermutation(ids))
      return Fail("P037", Str("expected each device from 0 to ", count - 1, " once"), {begin, token_.end});
    mesh.devices = std::is_sorted(ids.begin(), ids.end()) ? CountingOrder(count) : DeviceOrder{std::move(ids), {}, {}};
  }
  if (!Expect(')', "')'")) return false;
  if (devices == count) return true;
  return Fail("P037",
              Str("found ", devices, devices == 1 ? " device" : " devices", " for a mesh of ", count, " devices"),
              {begin, last_end_});
}

// Reads 'y' or 'y':(2)4.
bool Reader::ReadAxis(const Mesh& mesh, AxisRef& ref) {
  const SourceRange range = token_.range();
  std::string name;
  if (!Read(name)) return false;
  int64_t number = 0;
  const auto named =
      std::find_if(mesh.axes.begin(), mesh.axes.end(), [&](const MeshAxis& a) { return a.name == name; });
  if (named != mesh.axes.end()) {
    ref.axis = named - mesh.axes.begin();
  } else if (ParseInt(name, &number) && number >= 0 && number < static_cast<int64_t>(mesh.axes.size())) {
    ref.axis = number;
  } else {
    return Fail("P037", Str("the mesh has no axis '", Escaped(name), "'"), range);
  }
  if (!Accept(':')) return true;
  if (!Expect('(', "'('") || !ReadInt(ref.before, "the size of the parts before") || !Expect(')', "')'") ||
      !ReadInt(ref.size, "a size"))
    return false;
  const int64_t whole = mesh.axes[ref.axis].size;
  const bool divides = ref.before >= 1 && ref.size > 1 && ref.size < whole && whole % ref.before == 0 &&
                       whole / ref.before % ref.size == 0;
  if (divides) return true;
  return Fail("P037", Str("(", ref.before, ")", ref.size, " is not a part of an axis of size ", whole),
              {range.begin, last_end_});
}

// Reads {'x', 'y':(1)2}, and {'x', ?} if `open` is not null.
bool Reader::ReadAxes(const Mesh& mesh, std::vector<AxisRef>& axes, bool* open) {
  return ReadList('{', '}', [&] {
    if (open != nullptr && *open) return Fail("P037", "'?' must be the last axis of a dimension", token_.range());
    if (open != nullptr && Accept('?')) {
      *open = true;
      return true;
    }
    return ReadAxis(mesh, axes.emplace_back());
  });
}

// Rejects combinations of axes on which XLA would abort.
bool Reader::CheckAxes(const NamedSharding& named, SourceRange range) {
  std::vector<AxisRef> used;
  const auto check = [&](const std::vector<AxisRef>& axes, bool sorted) {
    for (size_t i = 0; i < axes.size(); ++i) {
      const AxisRef& axis = axes[i];
      const std::string name = Escaped(named.mesh.axes[axis.axis].name);
      for (const AxisRef& other : used) {
        if (Overlap(named.mesh, axis, other)) return Fail("P037", Str("axis '", name, "' is used twice"), range);
      }
      used.push_back(axis);
      if (i == 0) continue;
      if (sorted && !Precedes(axes[i - 1], axis))
        return Fail("P037", Str("axis '", name, "' follows an axis that comes later in the mesh"), range);
      if (axis.axis == axes[i - 1].axis && axis.before == axes[i - 1].before * axes[i - 1].size)
        return Fail("P037", Str("two adjacent parts of axis '", name, "' must be written as one"), range);
    }
    return true;
  };
  for (const NamedSharding::Dim& dim : named.dims) {
    if (!check(dim.axes, false)) return false;
  }
  return check(named.replicated, true) && check(named.unreduced, true) && check(named.manual, true);
}

// Reads {'y'} or max{'y'}.
bool Reader::ReadUnreduced(NamedSharding& named, Reduction& reduction) {
  if (token_.kind == TokenKind::kWord && !Read(reduction)) return false;
  return ReadAxes(named.mesh, named.unreduced, nullptr);
}

// Reads [{'x'}, {'y', ?}], or a word for all axes.
bool Reader::ReadNamedSpec(NamedSharding& named, Reduction& reduction) {
  std::vector<AxisRef> all(named.mesh.axes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i].axis = static_cast<int64_t>(i);
  if (token_.IsWord("replicated") || token_.IsWord("manual")) {
    if (token_.IsWord("manual")) named.manual = all;
    Advance();
    return true;
  }
  const bool reduces = token_.kind == TokenKind::kAttribute && token_.text == "unreduced";
  if (reduces || token_.IsWord("unreduced")) {
    Advance();
    if (reduces && !Read(reduction)) return false;
    named.unreduced = std::move(all);
    if (!token_.Is('{')) return true;
    named.unreduced.clear();
    return ReadAxes(named.mesh, named.unreduced, nullptr);
  }
  if (!token_.Is('[')) return FailExpected("replicated, manual, unreduced or '[' and the axes of each dimension");
  return ReadList('[', ']', [&] {
    NamedSharding::Dim& dim = named.dims.emplace_back();
    return ReadAxes(named.mesh, dim.axes, &dim.open);
  });
}

bool Reader::ReadNamedSharding(Sharding& value) {
  const uint32_t begin = token_.begin;
  value.kind = ShardingKind::kNamed;
  NamedSharding& named = value.named.Mutable();
  if (!ReadMesh(named.mesh)) return false;
  if (!named.mesh.single_device) {
    Accept(',');
    if (token_.kind == TokenKind::kAttribute && token_.text == "device_ids") {
      Advance();
      if (!ReadMeshDevices(named.mesh)) return false;
      Accept(',');
    }
    if (!ReadNamedSpec(named, value.reduction)) return false;
  }
  while (Accept(',')) {
    const Token name = token_;
    if (name.kind != TokenKind::kAttribute) return FailExpected("replicated=, unreduced=, manual= or metadata=");
    Advance();
    std::vector<AxisRef>* axes = name.text == "replicated"  ? &named.replicated
                                 : name.text == "manual"    ? &named.manual
                                 : name.text == "unreduced" ? &named.unreduced
                                                            : nullptr;
    if (axes != nullptr && !axes->empty()) return Fail("P035", Str("'", name.text, "' is given twice"), name.range());
    if (name.text == "metadata") {
      if (!ReadShardingMetadata(value.metadata)) return false;
    } else if (axes == nullptr || named.mesh.single_device) {
      return Fail("P034", Str("'", name.text, "' is not an item of a sharding over a mesh"), name.range());
    } else if (axes == &named.unreduced ? !ReadUnreduced(named, value.reduction)
                                        : !ReadAxes(named.mesh, *axes, nullptr)) {
      return false;
    }
  }
  if (named.unreduced.empty()) value.reduction = Reduction::kSum;
  return CheckAxes(named, {begin, last_end_});
}

// ---- Domains and groups ------------------------------------------------------------------------------------------

// Reads {kind="sharding", entry={maximal device=0}, exit={replicated}}.
bool Reader::Read(Domain& value) {
  if (!Expect('{', "'{' of a domain")) return false;
  bool has_kind = false, has_entry = false, has_exit = false;
  for (bool more = Accept(','); more || !token_.Is('}'); more = Accept(',')) {
    if (token_.kind != TokenKind::kAttribute) return FailExpected("kind=, entry= or exit=");
    const Token name = token_;
    Advance();
    bool good = false;
    if (name.text == "kind") {
      std::string kind;
      const SourceRange range = token_.range();
      good = Read(kind);
      if (good && kind != "sharding")
        return Fail("P038", Str("the kind of a domain is \"", Escaped(kind), "\", expected \"sharding\""), range);
      has_kind = true;
    } else if (name.text == "entry") {
      good = Read(value.entry);
      has_entry = true;
    } else if (name.text == "exit") {
      good = Read(value.exit);
      has_exit = true;
    } else {
      return Fail("P034", Str("'", name.text, "' is not an item of a domain"), name.range());
    }
    if (!good) return false;
  }
  if (!has_kind || !has_entry || !has_exit) return FailExpected("kind=, entry= and exit= of a domain");
  Advance();
  return true;
}

bool Reader::Read(ReplicaGroups& value) {
  if (token_.Is('[')) {
    const uint32_t begin = token_.begin;
    IotaGroups& iota = value.groups.emplace<IotaGroups>();
    Dims dims;
    if (!ReadInts('[', ']', dims, "a number")) return false;
    const bool two = dims.size() == 2 && dims[0] >= 0 && dims[1] >= 0;
    if (!two) return Fail("P037", "expected two numbers, [NUMBER_OF_GROUPS,SIZE_OF_A_GROUP]", {begin, last_end_});
    if (token_.kind != TokenKind::kLessEqual) return FailExpected("'<=' and the devices");
    Advance();
    if (!ReadIota(iota.devices)) return false;
    iota.count = dims[0];
    iota.size = dims[1];
    const int64_t devices = CountDevices(iota.devices.dims);
    if (devices == CountDevices(dims)) return true;
    return Fail(
        "P037",
        Str("found ", devices, devices == 1 ? " device" : " devices", " for ", iota.count, " groups of ", iota.size),
        {begin, last_end_});
  }
  if (token_.IsWord("mesh") || token_.IsWord("maximal_mesh") || token_.IsWord("single_device")) {
    const uint32_t begin = token_.begin;
    MeshGroups& groups = value.groups.emplace<MeshGroups>();
    if (!ReadMesh(groups.mesh)) return false;
    if (Accept(',')) {
      if (!ExpectAttributeName("device_ids", "device_ids= or the axes of groups, {'x'}")) return false;
      if (!ReadMeshDevices(groups.mesh)) return false;
    }
    if (!ReadAxes(groups.mesh, groups.axes, nullptr)) return false;
    NamedSharding along;
    along.mesh = groups.mesh;
    along.dims.push_back({groups.axes, false});
    return CheckAxes(along, {begin, last_end_});
  }
  if (!token_.Is('{')) return FailExpected("{{0,1},{2,3}}, [2,2]<=[4] or a mesh");
  auto& listed = value.groups.emplace<0>();
  return ReadList('{', '}', [&] { return Read(listed.emplace_back()); });
}

}  // namespace hlo
