// Rules of attributes that say something about each leaf of a shape: sharding, origin, parameter_replication. Source:
// spec/verifier.md 3.14 and 3.15; grammar: spec/hlo-text.md 12.
#include <algorithm>

#include "base/text.h"
#include "ir/shape_checks.h"
#include "ir/verifier_checks.h"

namespace hlo {
namespace {

// The parts of "{a,{b,c}}" inside its outer braces, at commas that no bracket holds.
std::vector<std::string_view> PartsOf(std::string_view text) {
  std::vector<std::string_view> parts;
  text = Trim(text);
  if (text.size() < 2) return parts;
  text = text.substr(1, text.size() - 2);
  if (Trim(text).empty()) return parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"' || c == '\'') {
      for (++i; i < text.size() && text[i] != c;) i += text[i] == '\\' ? 2 : 1;
      continue;
    }
    depth += (c == '{' || c == '(' || c == '[') - (c == '}' || c == ')' || c == ']');
    if (c != ',' || depth > 0) continue;
    parts.push_back(Trim(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  parts.push_back(Trim(text.substr(begin)));
  return parts;
}

// One sharding, as far as its devices can be told.
struct OneSharding {
  std::vector<int64_t> tiles;    // devices=[2,2]
  int64_t subgroups = 0;         // Of the tiles, at their end.
  std::vector<int64_t> devices;  // Listed one by one, or the maximal one.
  bool maximal = false;
};

std::vector<int64_t> NumbersIn(std::string_view list) {
  std::vector<int64_t> numbers;
  for (const std::string_view part : Split(list, ',')) {
    int64_t number = 0;
    if (ParseInt(Trim(part), &number)) numbers.push_back(number);
  }
  return numbers;
}

OneSharding ReadSharding(std::string_view text) {
  OneSharding sharding;
  text = text.substr(0, text.find("metadata="));
  const auto after = [&](std::string_view what) {
    const size_t at = text.find(what);
    return at == std::string_view::npos ? std::string_view() : text.substr(at + what.size());
  };
  if (const std::string_view tiles = after("devices=["); !tiles.empty()) {
    const size_t closing = tiles.find(']');
    sharding.tiles = NumbersIn(tiles.substr(0, closing));
    const std::string_view rest = tiles.substr(std::min(tiles.size(), closing + 1));
    if (!rest.starts_with("<=")) sharding.devices = NumbersIn(rest.substr(0, rest.find_first_of(" }")));
    if (const std::string_view types = after("last_tile_dims={"); !types.empty()) {
      sharding.subgroups = static_cast<int64_t>(Split(types.substr(0, types.find('}')), ',').size());
    } else {
      sharding.subgroups = text.find("last_tile_dim_replicate") != std::string_view::npos;
    }
  } else if (const std::string_view device = after("maximal device="); !device.empty()) {
    sharding.maximal = true;
    sharding.devices = NumbersIn(device.substr(0, device.find_first_of(" }")));
  }
  return sharding;
}

Error ErrorAtSharding(const Instruction& inst, const char* code, std::string message) {
  return ErrorAtAttribute(inst, "sharding", code, std::move(message));
}

// V256-V258, V316
Status CheckOne(const Instruction& inst, const Shape& leaf, std::string_view text) {
  const OneSharding sharding = ReadSharding(text);
  if (leaf.IsArray() && !sharding.tiles.empty()) {
    const auto dims = static_cast<int64_t>(sharding.tiles.size()) - sharding.subgroups;
    if (dims != leaf.rank())
      FAIL(ErrorAtSharding(
          inst, "V256",
          Str(dims, dims == 1 ? " tile dimension for " : " tile dimensions for ", leaf, ", expected ", leaf.rank())));
  }
  std::vector<int64_t> ids = sharding.devices;
  std::sort(ids.begin(), ids.end());
  if (!ids.empty() && ids[0] < 0) FAIL(ErrorAtSharding(inst, "V257", Str("device ", ids[0], " is negative")));
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) FAIL(ErrorAtSharding(inst, "V257", Str("device ", *twice, " stands twice")));
  const int64_t partitions = inst.module().header.num_partitions;
  const char* code = partitions == 1 ? "V316" : "V258";
  const std::string has = Str("the module has ", partitions, partitions == 1 ? " partition" : " partitions");
  if (!ids.empty() && ids.back() >= partitions)
    FAIL(ErrorAtSharding(inst, code, Str("device ", ids.back(), ", ", has)));
  if (sharding.tiles.empty() || partitions == 1) return {};
  int64_t named = 1;
  for (const int64_t tile : sharding.tiles) {
    if (__builtin_mul_overflow(named, tile, &named)) named = INT64_MAX;
  }
  if (named != partitions) FAIL(ErrorAtSharding(inst, code, Str("the tiles name ", named, " devices, ", has)));
  return {};
}

std::vector<const Shape*> LeavesOf(const Shape& shape) {
  std::vector<const Shape*> leaves;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { leaves.push_back(&leaf); });
  return leaves;
}

}  // namespace

Status CheckSharding(const Instruction& inst) {
  if (!inst.HasCommon() || inst.common().sharding.empty()) return {};
  const std::string_view text = Trim(inst.common().sharding.text);
  const std::vector<const Shape*> leaves = LeavesOf(inst.shape());
  const std::vector<std::string_view> parts = PartsOf(text);
  const bool is_tuple = parts.empty() || parts[0].starts_with("{");
  if (!is_tuple) {
    for (const Shape* leaf : leaves) TRY(CheckOne(inst, *leaf, text));
    return {};
  }
  if (inst.shape().IsToken()) return {};
  if (!inst.shape().IsTuple())
    FAIL(ErrorAtSharding(inst, "V255", Str("a tuple of shardings for ", inst.shape(), ", which is no tuple")));
  if (leaves.empty() && parts.size() <= 1) return {};
  if (parts.size() != leaves.size()) {
    FAIL(ErrorAtSharding(inst, "V255",
                         Str(parts.size(), parts.size() == 1 ? " sharding for " : " shardings for ", leaves.size(),
                             " leaves of ", inst.shape())));
  }
  for (size_t i = 0; i < parts.size(); ++i) TRY(CheckOne(inst, *leaves[i], parts[i]));
  return {};
}

// V268, V272
Status CheckLeafAttributes(const Instruction& inst) {
  if (!inst.HasCommon()) return {};
  const CommonAttrs& common = inst.common();
  if (!common.parameter_replication.empty()) {
    const size_t flags = PartsOf(common.parameter_replication.text).size();
    const auto leaves = static_cast<size_t>(inst.shape().LeafCount());
    if (flags != leaves) {
      FAIL(ErrorAtAttribute(inst, "parameter_replication", "V272",
                            Str(flags, flags == 1 ? " flag for " : " flags for ", leaves,
                                leaves == 1 ? " leaf of " : " leaves of ", inst.shape())));
    }
  }
  const std::string_view origin = Trim(common.origin.text);
  if (origin.empty() || origin.find("[synthetic_call]") != std::string_view::npos) return {};
  // A tree of parentheses whose leaves are {"name" ...} or {}.
  const std::vector<std::string_view> outer = PartsOf(origin);
  if (outer.empty()) return {};
  const bool is_tree = outer.size() == 1 && outer[0].starts_with("(");
  const size_t leaves = LeavesOf(inst.shape()).size();
  size_t named = 1;
  if (is_tree) {
    named = 0;
    int depth = 0;
    for (const char c : outer[0]) {
      if (c == '{' && depth++ == 0) ++named;
      if (c == '}') --depth;
    }
  }
  if (is_tree != inst.shape().IsTuple() || named != leaves) {
    FAIL(ErrorAtAttribute(inst, "origin", "V268",
                          Str(named, named == 1 ? " value for " : " values for ", leaves,
                              leaves == 1 ? " leaf of " : " leaves of ", inst.shape())));
  }
  return {};
}

}  // namespace hlo
