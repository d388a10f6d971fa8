#include "ir/mesh/shardy_text.h"

#include <algorithm>

#include "base/text.h"

namespace hlo {
namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : left_(text) {}

  bool AtEnd() {
    SkipSpace();
    return left_.empty();
  }
  bool Accept(std::string_view token) {
    SkipSpace();
    if (!left_.starts_with(token)) return false;
    left_.remove_prefix(token.size());
    return true;
  }
  // A name may be quoted, as in @"any text".
  std::optional<std::string_view> Name() {
    SkipSpace();
    if (left_.starts_with('"')) return Quoted();
    size_t size = 0;
    while (size < left_.size() && (isalnum(static_cast<unsigned char>(left_[size])) != 0 || left_[size] == '_' ||
                                   left_[size] == '.' || left_[size] == '-'))
      ++size;
    return size == 0 ? std::nullopt : std::optional(Cut(size));
  }
  std::optional<std::string_view> Quoted() {
    if (!Accept("\"")) return std::nullopt;
    const size_t end = left_.find('"');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view text = Cut(end);
    left_.remove_prefix(1);
    return text;
  }
  std::optional<int64_t> Int() {
    SkipSpace();
    size_t size = 0;
    while (size < left_.size() && isdigit(static_cast<unsigned char>(left_[size])) != 0) ++size;
    int64_t value = 0;
    return ParseInt(Cut(size), &value) ? std::optional(value) : std::nullopt;
  }
  // Keeps the first reason why the text cannot be read. Returns false.
  bool Refuse(std::string why) {
    if (why_.empty()) why_ = std::move(why);
    return false;
  }
  const std::string& why() const { return why_; }
  template <class F>
  bool List(std::string_view end, F&& item) {
    if (Accept(end)) return true;
    do {
      if (!item()) return false;
    } while (Accept(","));
    return Accept(end);
  }

 private:
  void SkipSpace() {
    while (left_.starts_with(' ')) left_.remove_prefix(1);
  }
  std::string_view Cut(size_t size) {
    const std::string_view text = left_.substr(0, size);
    left_.remove_prefix(size);
    return text;
  }
  std::string_view left_;
  std::string why_;
};

// Reads ["x"=2, "y"=4], device_ids=[3, 2, 1, 0]>.
bool ReadMesh(Scanner& in, Mesh& mesh) {
  if (!in.Accept("[")) return false;
  int64_t count = 1;
  const bool axes = in.List("]", [&] {
    const auto name = in.Quoted();
    if (!name || !in.Accept("=")) return false;
    const auto size = in.Int();
    if (!size || *size < 1 || *size > (1 << 20) / count) return false;
    count *= *size;
    mesh.axes.push_back({std::string(*name), *size});
    return true;
  });
  if (!axes) return false;
  mesh.devices = CountingOrder(count);
  if (in.Accept(",")) {
    std::vector<int64_t> ids;
    const auto id = [&] {
      const auto value = in.Int();
      if (value) ids.push_back(*value);
      return value.has_value();
    };
    if (!in.Accept("device_ids") || !in.Accept("=") || !in.Accept("[") || !in.List("]", id)) return false;
    if (static_cast<int64_t>(ids.size()) != count) return false;
    if (mesh.axes.empty()) mesh.single_device = ids[0];
    mesh.devices = {std::move(ids), {}, {}};
  }
  return in.Accept(">");
}

struct DefinedMesh {
  std::string_view name;
  Mesh mesh;
};

// Stops at the first definition that cannot be read.
std::vector<DefinedMesh> ReadMeshes(std::string_view text) {
  Scanner in(text);
  std::vector<DefinedMesh> defined;
  if (!in.Accept("{")) return defined;
  in.List("}", [&] {
    const auto key = in.Name();
    Mesh mesh;
    if (!key || !in.Accept("=") || !in.Accept("#sdy.mesh<") || !ReadMesh(in, mesh)) return false;
    defined.push_back({*key, std::move(mesh)});
    return true;
  });
  return defined;
}

std::optional<Mesh> FindMesh(std::string_view name, std::string_view meshes) {
  for (DefinedMesh& defined : ReadMeshes(meshes)) {
    if (defined.name == name) return std::move(defined.mesh);
  }
  return std::nullopt;
}

// Reads "x" or "x":(2)4.
bool ReadAxis(Scanner& in, const Mesh& mesh, std::vector<AxisRef>& axes) {
  const auto name = in.Quoted();
  if (!name) return false;
  const auto axis = std::ranges::find(mesh.axes, *name, &MeshAxis::name);
  if (axis == mesh.axes.end()) return in.Refuse(Str("the mesh has no axis \"", *name, '"'));
  AxisRef ref = {axis - mesh.axes.begin()};
  if (in.Accept(":")) {
    if (!in.Accept("(")) return false;
    const auto before = in.Int();
    if (!before || !in.Accept(")")) return false;
    const auto size = in.Int();
    if (!size || *before < 1 || *size < 1 || *before > axis->size || *size > axis->size ||
        axis->size % (*before * *size) != 0)
      return in.Refuse(Str("the axis \"", *name, "\" of size ", axis->size, " has no such part"));
    ref.before = *before;
    ref.size = *size;
  }
  axes.push_back(ref);
  return true;
}

// Reads {"x", "y", ?}p1.
bool ReadDim(Scanner& in, const Mesh& mesh, NamedSharding::Dim& dim, int64_t& priority) {
  if (!in.Accept("{")) return false;
  const bool fine = in.List("}", [&] {
    if (!in.Accept("?")) return ReadAxis(in, mesh, dim.axes);
    dim.open = true;
    return true;
  });
  if (!fine || !in.Accept("p")) return fine;
  if (dim.axes.empty() && !dim.open)
    return in.Refuse("a closed dimension without axes has a priority, but nothing to propagate");
  const auto stated = in.Int();
  priority = stated.value_or(0);
  return stated.has_value();
}

// Reads @mesh, [{"x"}, {}], replicated={"y"}>.
bool ReadOne(Scanner& in, std::string_view meshes, ShardySharding& read) {
  NamedSharding& sharding = read.named;
  if (in.Accept("@")) {
    const auto name = in.Name();
    auto mesh = name ? FindMesh(*name, meshes) : std::nullopt;
    if (!mesh) return in.Refuse(name ? Str("the header has no readable mesh @", *name) : "it has no name of a mesh");
    sharding.mesh = std::move(*mesh);
  } else if (!in.Accept("mesh<") || !ReadMesh(in, sharding.mesh)) {
    return false;
  }
  if (!in.Accept(",") || !in.Accept("[")) return false;
  const auto dim = [&] {
    return ReadDim(in, sharding.mesh, sharding.dims.emplace_back(), read.priorities.emplace_back(0));
  };
  if (!in.List("]", dim)) return false;
  if (std::ranges::count(read.priorities, 0) == std::ssize(read.priorities)) read.priorities.clear();
  while (in.Accept(",")) {
    const auto role = in.Name();
    std::vector<AxisRef> other;
    std::vector<AxisRef>& axes = role == "replicated"  ? sharding.replicated
                                 : role == "unreduced" ? sharding.unreduced
                                                       : other;
    if (!role || !in.Accept("=") || !in.Accept("{")) return false;
    if (!in.List("}", [&] { return ReadAxis(in, sharding.mesh, axes); })) return false;
  }
  return in.Accept(">");
}

}  // namespace

bool Overlap(const Mesh& mesh, const AxisRef& a, const AxisRef& b) {
  return a.axis == b.axis && a.before < b.before * mesh.SizeOf(b) && b.before < a.before * mesh.SizeOf(a);
}

std::vector<Mesh> ReadShardyMeshes(std::string_view text) {
  std::vector<Mesh> meshes;
  for (DefinedMesh& defined : ReadMeshes(text)) meshes.push_back(std::move(defined.mesh));
  return meshes;
}

std::optional<std::vector<ShardySharding>> ReadShardySharding(std::string_view text, std::string_view meshes,
                                                              std::string* why) {
  Scanner in(text);
  std::vector<ShardySharding> shardings;
  const auto refused = [&] {
    if (why != nullptr) *why = in.why();
    return std::nullopt;
  };
  if (in.Accept("#sdy.sharding<")) {
    if (!ReadOne(in, meshes, shardings.emplace_back()) || !in.AtEnd()) return refused();
    return shardings;
  }
  if (!in.Accept("#sdy.sharding_per_value<") || !in.Accept("[")) return std::nullopt;
  const bool fine = in.List("]", [&] { return in.Accept("<") && ReadOne(in, meshes, shardings.emplace_back()); });
  if (!fine || !in.Accept(">") || !in.AtEnd()) return refused();
  return shardings;
}

std::optional<std::vector<std::string_view>> ReadShardyAxes(std::string_view text) {
  Scanner in(text);
  std::vector<std::string_view> names;
  if (!in.Accept("#sdy<") || !in.Accept("manual_axes") || !in.Accept("{")) return std::nullopt;
  const bool fine = in.List("}", [&] {
    const auto name = in.Quoted();
    if (name) names.push_back(*name);
    return name.has_value();
  });
  if (!fine || !in.Accept(">") || !in.AtEnd()) return std::nullopt;
  return names;
}

}  // namespace hlo
