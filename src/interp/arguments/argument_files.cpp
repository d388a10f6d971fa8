#include "interp/arguments/argument_files.h"

#include <algorithm>
#include <functional>
#include <map>

#include "base/text.h"
#include "interp/devices/parts.h"
#include "interp/elements.h"
#include "ir/mesh/parts.h"
#include "ir/mesh/unpartitioned.h"
#include "ir/module.h"

namespace hlo {
namespace {

using KeyedArrays = std::vector<std::pair<std::string, const NpyArray*>>;

KeyedArrays Keyed(const NpzArrays& arrays) {
  KeyedArrays keyed;
  for (const auto& [name, array] : arrays) keyed.emplace_back(name, &array);
  return keyed;
}

std::string WantedBy(const Instruction& parameter) {
  return Str("argument ", parameter.parameter_number(), " ('", parameter.name(), "')");
}

// `prefix` is that of the device, or "" for all devices.
Error NoKey(const std::string& wanted_by, const Shape& shape, const std::string& path, std::string_view prefix,
            const std::string& key, const KeyedArrays& arrays, std::string_view advice) {
  std::vector<std::string> keys;
  for (const auto& [name, array] : arrays) keys.push_back(Str("'", Escaped(name), "'"));
  return Rejected("A003",
                  Str(wanted_by, " needs ", shape, ", but ", Escaped(path), " has no key '", prefix, Escaped(key), "'"))
      .Hint(Str(prefix.empty() ? "the keys of the file are " : "the keys of the file for this device are ",
                Join(keys, ", "), "; ", advice));
}

struct WholeArray {
  Literal value;
  PartTable table;
};

// Arrays that are for all devices and were not cut.
struct Uncut {
  std::vector<std::string> parts;  // Keys of arrays whose shardings split the parameter.
  bool are_whole = true;           // By their shardings each partition holds the whole arrays.

  void Add(const Sharding* sharding, const Shape& shape, int64_t partitions, std::string_view key) {
    if (sharding == nullptr) {
      are_whole = false;
      return;
    }
    const auto table = PartTable::Make(*sharding, shape.rank(), partitions);
    are_whole &= table && !table->IsCut();
    if (table && table->IsCut()) parts.push_back(Str("'", Escaped(key), "'"));
  }
};

struct Reading {
  const std::string& path;
  const Module& module;
  CastArgs cast = CastArgs::kNever;
  const std::set<int64_t>& given;
  ArgsAre are = ArgsAre::kParts;
  int64_t partition = 0;
  std::set<const NpyArray*> own = {};                       // Arrays for this device only.
  std::string prefix;                                       // "r0.p5." if the file has keys of devices.
  std::map<const NpyArray*, WholeArray>* wholes = nullptr;  // Whole arrays that were read before.
  Uncut* uncut = nullptr;
  bool* were_cut = nullptr;
};

std::string HintOfParts(const Instruction& parameter, const Reading& reading, std::string_view why_not_cut) {
  if (IsUnpartitioned(reading.module)) {
    return "the module is not partitioned, so its arguments are whole arrays; 'hlo opt "
           "--passes=sharding-propagation,spmd-partitioning' makes the program of one partition, which takes parts";
  }
  const int64_t partitions = reading.module.header.num_partitions, number = parameter.parameter_number();
  return Str("the module is one partition of ", partitions,
             ", and its parameters are parts of the arguments: ", "the key 'r0.p0.arg", number,
             "' names the part of partition 0, and 'r0.p1.arg", number,
             "' that of partition 1; the array is not divided into parts, because ", why_not_cut);
}

// For an array of one partition with a wrong shape.
std::string HintOfOwn(const Instruction& parameter, int64_t leaf, const Shape& shape, const Reading& reading) {
  if (IsUnpartitioned(reading.module)) return "the module is not partitioned, so each partition takes whole arrays";
  const Sharding* const sharding = ShardingOfLeaf(parameter, leaf);
  if (sharding == nullptr) return "all partitions take arrays of one shape";
  const auto table = PartTable::Make(*sharding, shape.rank(), reading.module.header.num_partitions);
  if (!table || !table->IsCut()) return "all partitions take arrays of one shape";
  return Str("all parts have one shape. The whole array is ", table->WholesText(shape),
             ", so the last parts may end with padding");
}

// Cuts the partition's part out of a whole array. Returns nullopt, and in `why` the reason, if the array is a part or
// is not cut.
Result<std::optional<Literal>> CutLeaf(const Instruction& parameter, int64_t leaf, const Shape& shape,
                                       const NpyArray& array, const std::string& where, const Reading& reading,
                                       std::string* why) {
  const bool may_be_whole =
      reading.wholes != nullptr && reading.are != ArgsAre::kParts && !reading.own.contains(&array);
  if (!may_be_whole) {
    *why = reading.are == ArgsAre::kParts ? "--args_are=parts is given" : "its key names one partition";
    return std::nullopt;
  }
  if (reading.are == ArgsAre::kAuto && array.dims == shape.dims()) return std::nullopt;
  const auto cut = [&](const WholeArray& whole) { return CutPart(whole.value, shape, whole.table, reading.partition); };
  if (const auto known = reading.wholes->find(&array); known != reading.wholes->end()) return cut(known->second);
  const Sharding* sharding = ShardingOfLeaf(parameter, leaf);
  if (sharding == nullptr) {
    *why = Str("'", parameter.name(), "' has no sharding");
    return std::nullopt;
  }
  const auto refuse = [&](std::string reason) -> Result<std::optional<Literal>> {
    if (reading.are == ArgsAre::kWhole)
      FAIL(Rejected("A028", Str(WantedBy(parameter), " cannot be cut from ", Escaped(where), ": ", reason)));
    *why = std::move(reason);
    return std::nullopt;
  };
  auto table = PartTable::Make(*sharding, shape.rank(), reading.module.header.num_partitions);
  if (!table) return refuse(table.error().message());
  if (!table->IsCut()) {
    *why = "by the parameter's sharding each partition holds the whole array";
    return std::nullopt;
  }
  if (!table->Fits(array.dims, shape.dims()) || shape.HasDynamicDims())
    return refuse(Str("by the parameter's sharding ", shape, " is a part of ", table->WholesText(shape),
                      ", but the array is ", array));
  const Shape whole = Shape(shape.type(), Dims(array.dims.begin(), array.dims.end()));
  Literal value = TRY(LiteralFromNpy(array, whole, WantedBy(parameter), where, reading.cast));
  *reading.were_cut = true;
  return cut(reading.wholes->emplace(&array, WholeArray{std::move(value), std::move(*table)}).first->second);
}

// `stem` is the key of the whole tuple, and `leaf` the number of the next leaf.
Result<Literal> ReadParameter(const Instruction& parameter, const Shape& shape, ShapeIndex& index, int64_t& leaf,
                              const std::string& stem, const KeyedArrays& arrays, const Reading& reading) {
  const std::string wanted_by = WantedBy(parameter);
  if (shape.IsTuple()) {
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.elements().size(); ++i) {
      index.push_back(static_cast<int64_t>(i));
      elements.push_back(TRY(ReadParameter(parameter, shape.element(i), index, leaf, stem, arrays, reading)));
      index.pop_back();
    }
    return Literal::Tuple(std::move(elements));
  }
  const int64_t number = leaf++;
  if (shape.IsToken()) return Literal(shape);
  const std::string key = KeyOf(stem, index);
  for (const auto& [name, array] : arrays) {
    if (name != key) continue;
    const std::string_view prefix = reading.own.contains(array) ? reading.prefix : std::string_view();
    const std::string where = key.empty() ? reading.path : Str(reading.path, ":", prefix, key);
    std::string why_not_cut;
    if (auto part = TRY(CutLeaf(parameter, number, shape, *array, where, reading, &why_not_cut)))
      return std::move(*part);
    const int64_t partitions = reading.module.header.num_partitions;
    if (reading.uncut != nullptr && !reading.own.contains(array))
      reading.uncut->Add(ShardingOfLeaf(parameter, number), shape, partitions, name);
    const bool is_own = reading.own.contains(array);
    auto literal = LiteralFromNpy(
        *array, shape, is_own ? Str(wanted_by, " of partition ", reading.partition) : wanted_by, where, reading.cast);
    if (literal || array->dims == shape.dims() || partitions == 1) return literal;
    FAIL(std::move(literal).error().Hint(is_own ? HintOfOwn(parameter, number, shape, reading)
                                                : HintOfParts(parameter, reading, why_not_cut)));
  }
  FAIL(NoKey(wanted_by, shape, reading.path, reading.prefix, key, arrays,
             "expected 'argN', 'N' or the name of the parameter"));
}

Result<std::vector<Literal>> ArgumentsFrom(KeyedArrays arrays, const Reading& reading) {
  const Module& module = reading.module;
  const std::set<int64_t>& given = reading.given;
  const auto parameters = module.entry().parameters();
  using StemOf = std::function<std::string(const Instruction&)>;
  const auto count_missing = [&](const StemOf& stem_of) {
    int64_t missing = 0;
    for (const Instruction* parameter : parameters) {
      if (given.contains(parameter->parameter_number())) continue;
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
        if (leaf.IsToken()) return;
        const std::string key = KeyOf(stem_of(*parameter), index);
        missing += std::ranges::none_of(arrays, [&](const auto& item) { return item.first == key; });
      });
    }
    return missing;
  };
  const StemOf positional = [](const Instruction& parameter) { return Str("arg", parameter.parameter_number()); };
  const StemOf by_name = [](const Instruction& parameter) { return std::string(parameter.name()); };
  const StemOf by_number = [](const Instruction& parameter) { return Str(parameter.parameter_number()); };
  // If no form has all keys, the form with the fewest missing keys is used.
  StemOf stem_of = positional;
  int64_t missing = count_missing(positional);
  for (const StemOf& form : {by_name, by_number}) {
    if (missing == 0) break;
    const int64_t of_form = count_missing(form);
    if (of_form < missing) stem_of = form;
    missing = std::min(missing, of_form);
  }
  if (missing > 0 && arrays.size() == 1 && arrays[0].first.empty() && parameters.size() == 1) {
    stem_of = [](const Instruction&) { return std::string(); };
  } else if (missing > 0 && !arrays.empty() &&
             std::ranges::all_of(arrays, [](const auto& item) { return item.first.starts_with("arr_"); })) {
    stem_of = positional;
    // Leaves take the arrays in order. Given parameters take none if there are fewer arrays than leaves.
    size_t leaves = 0, next = 0;
    for (const Instruction* parameter : parameters)
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex&, const Shape& leaf) { leaves += leaf.IsToken() ? 0 : 1; });
    for (const Instruction* parameter : parameters) {
      if (arrays.size() < leaves && given.contains(parameter->parameter_number())) continue;
      ForEachLeaf(parameter->shape(), [&](const ShapeIndex& index, const Shape& leaf) {
        if (!leaf.IsToken() && next < arrays.size()) arrays[next++].first = KeyOf(positional(*parameter), index);
      });
    }
  }
  for (const auto& [name, array] : arrays) {
    int64_t number = 0;
    if (!name.starts_with("arg") || !ParseInt(std::string_view(name).substr(3), &number)) continue;
    if (number < static_cast<int64_t>(parameters.size())) continue;
    FAIL(
        Rejected("A004", Str("'", Escaped(reading.path), "' has '", name, "', but '", module.entry().name(), "' takes ",
                             parameters.size(), parameters.size() == 1 ? " argument" : " arguments"))
            .Hint(
                "JAX drops unused arguments, so that later arguments move up; jax.jit(f, keep_unused=True) keeps all"));
  }
  std::vector<Literal> args;
  for (const Instruction* parameter : parameters) {
    if (given.contains(parameter->parameter_number())) {
      args.emplace_back();
      continue;
    }
    ShapeIndex index;
    int64_t leaf = 0;
    args.push_back(
        TRY(ReadParameter(*parameter, parameter->shape(), index, leaf, stem_of(*parameter), arrays, reading)));
  }
  return args;
}

}  // namespace

Result<std::vector<Literal>> ReadArguments(const std::string& path, const Module& module, CastArgs cast,
                                           const std::set<int64_t>& given) {
  const NpzArrays arrays = TRY(ReadNpz(path));
  return ArgumentsFrom(Keyed(arrays), {.path = path, .module = module, .cast = cast, .given = given});
}

std::optional<OfDevice> SplitDevicePrefix(std::string_view key) {
  const auto take = [&](char letter, int64_t* number) {
    const size_t dot = key.find('.');
    if (dot == std::string_view::npos || dot < 2 || key[0] != letter ||
        key.substr(1, dot - 1).find_first_not_of("0123456789") != std::string_view::npos ||
        !ParseInt(key.substr(1, dot - 1), number))
      return false;
    key.remove_prefix(dot + 1);
    return true;
  };
  OfDevice of = {-1, -1, {}};
  if (!take('r', &of.replica)) return std::nullopt;
  take('p', &of.partition);
  of.key = key;
  return of;
}

Status CheckDevice(const OfDevice& of, const Module& module, std::string_view where) {
  const ModuleHeader& header = module.header;
  if (of.replica < header.replica_count && of.partition < header.num_partitions) return {};
  FAIL(UsageError("A005", Str(where, " is for a device that does not exist: the module has replica_count=",
                              header.replica_count, " and num_partitions=", header.num_partitions)));
}

Result<DeviceArguments> ReadArgumentsByDevice(const std::string& path, const Module& module, CastArgs cast,
                                              const std::set<int64_t>& given, ArgsAre are, int64_t most_devices) {
  const NpzArrays arrays = TRY(ReadNpz(path));
  const auto parameters = module.entry().parameters();
  // A parameter may itself be called "r1.x".
  const auto split = [&](std::string_view key) -> std::optional<OfDevice> {
    for (const Instruction* parameter : parameters) {
      if (key.starts_with(parameter->name()) &&
          (key.size() == parameter->name().size() || key[parameter->name().size()] == '.'))
        return std::nullopt;
    }
    return SplitDevicePrefix(key);
  };
  bool any_of_device = false;
  for (const auto& [name, array] : arrays) {
    const auto of = split(name);
    if (of) TRY(CheckDevice(*of, module, Str("'", Escaped(path), "': key '", Escaped(name), "'")));
    any_of_device |= of.has_value();
  }
  DeviceArguments arguments;
  std::map<const NpyArray*, WholeArray> wholes;
  std::optional<std::vector<Literal>> shared;  // Arrays for devices without their own.
  Uncut uncut;                                 // For the first device.
  for (int64_t replica = 0; replica < module.header.replica_count; ++replica) {
    for (int64_t partition = 0; partition < module.header.num_partitions; ++partition) {
      if (std::ssize(arguments.by_device) == most_devices) break;
      // The first array of a key counts, so the device's own arrays come first.
      KeyedArrays own, of_replica, of_all;
      for (const auto& [name, array] : arrays) {
        const auto of = split(name);
        if (!of) of_all.emplace_back(name, &array);
        else if (of->replica == replica && of->partition == partition) own.emplace_back(of->key, &array);
        else if (of->replica == replica && of->partition < 0) of_replica.emplace_back(of->key, &array);
      }
      const bool special = !own.empty() || !of_replica.empty();
      Reading reading = {.path = path,
                         .module = module,
                         .cast = cast,
                         .given = given,
                         .are = are,
                         .partition = partition,
                         .prefix = any_of_device ? Str("r", replica, ".p", partition, ".") : "",
                         .wholes = &wholes,
                         .uncut = arguments.by_device.empty() ? &uncut : nullptr,
                         .were_cut = &arguments.were_cut};
      for (const auto& [key, array] : own) reading.own.insert(array);
      if (!special && shared) {
        arguments.by_device.push_back(*shared);
        continue;
      }
      for (const KeyedArrays& more : {of_replica, of_all}) {
        for (const auto& item : more) {
          if (std::ranges::none_of(own, [&](const auto& known) { return known.first == item.first; }))
            own.push_back(item);
        }
      }
      arguments.by_device.push_back(TRY(ArgumentsFrom(std::move(own), reading)));
      if (!special && !arguments.were_cut) shared = arguments.by_device.back();
    }
  }
  const bool may_be_whole = are != ArgsAre::kParts && !any_of_device && !IsUnpartitioned(module);
  arguments.are_whole = arguments.were_cut || (may_be_whole && uncut.are_whole);
  arguments.parts = std::move(uncut.parts);
  return arguments;
}

Result<Literal> ReadFed(const NpzArrays& arrays, const std::string& path, int64_t number, const Shape& shape,
                        const std::string& wanted_by) {
  Literal value(shape);
  Status read;
  ForEachLeaf(shape, [&](const ShapeIndex& index, const Shape& leaf) {
    if (!read || !leaf.IsArray()) return;
    const std::string key = KeyOf(Str("in", number), index);
    const std::string sent = KeyOf(Str("out", number), index);
    const auto item = std::find_if(arrays.begin(), arrays.end(),
                                   [&](const auto& array) { return array.first == key || array.first == sent; });
    if (item == arrays.end()) {
      read = std::unexpected(Rejected(
          "R007", Str(wanted_by, " needs ", leaf, ", but ", Escaped(path), " has no key '", Escaped(key), "'")));
      return;
    }
    auto literal = LiteralFromNpy(item->second, leaf, wanted_by, Str(path, ":", item->first));
    if (!literal) {
      read = std::unexpected(std::move(literal).error());
      return;
    }
    Literal* place = &value;
    for (const int64_t i : index) place = &place->mutable_elements()[i];
    *place = std::move(*literal);
  });
  if (!read) FAIL(read.error());
  return value;
}

bool NamesTensor(std::string_view text) {
  return text.starts_with('@') || text.ends_with(".npy") || text.ends_with(".npz") ||
         text.find(".npz:") != std::string_view::npos;
}

Result<Literal> ReadTensor(const std::string& text, const Instruction& parameter, CastArgs cast) {
  const Shape& shape = parameter.shape();
  const std::string wanted_by = WantedBy(parameter);
  if (!shape.IsArray())
    FAIL(Rejected("A004", Str(wanted_by, " is ", shape, ", but '", Escaped(text), "' holds one array"))
             .Hint("--args=FILE.npz gives the leaves of tuples as argN.i.j"));
  if (text.starts_with('@')) {
    const std::string path = text.substr(1);
    const int64_t bytes = shape.NumElements() * ByteWidth(shape.type());
    const NpyArray array = RawArray(TRY(ReadBytes(path, static_cast<size_t>(bytes) + 1)), shape);
    const auto found = static_cast<int64_t>(array.bytes.size());
    if (found != bytes)
      FAIL(Rejected("A004", Str(wanted_by, " needs ", shape, ", which is ", bytes, " bytes, but ", Escaped(path),
                                " has ", found > bytes ? std::string("more") : Str(found))));
    return LiteralFromNpy(array, shape, wanted_by, path);
  }
  const size_t colon = text.find(".npz:");
  const std::string path = colon == std::string::npos ? text : text.substr(0, colon + 4);
  const NpzArrays arrays = TRY(ReadNpz(path));
  if (colon == std::string::npos && arrays.size() == 1)
    return LiteralFromNpy(arrays[0].second, shape, wanted_by, path, cast);
  const std::string key = colon == std::string::npos ? "" : text.substr(colon + 5);
  for (const auto& [name, array] : arrays) {
    if (name == key) return LiteralFromNpy(array, shape, wanted_by, text, cast);
  }
  FAIL(NoKey(wanted_by, shape, path, /*prefix=*/"", key, Keyed(arrays), Str("name one as ", Escaped(path), ":KEY")));
}

namespace {

std::span<const Literal> Outputs(const Literal& result) {
  if (result.shape().IsTuple()) return result.elements();
  return {&result, 1};
}

std::string PrefixOf(int64_t device, int64_t partitions) {
  return partitions == 1 ? Str("r", device, ".") : Str("r", device / partitions, ".p", device % partitions, ".");
}

void Append(NamedLiterals& out, const std::string& prefix, std::span<const Literal> values) {
  for (size_t i = 0; i < values.size(); ++i) out.emplace_back(Str(prefix, i), &values[i]);
}

}  // namespace

Status WriteNpz(const std::string& path, std::string_view prefix, std::span<const Literal> values) {
  NamedLiterals named;
  Append(named, std::string(prefix), values);
  return WriteArrays(path, named);
}

Status WriteOutputs(const std::string& path, const Literal& result) { return WriteNpz(path, "out", Outputs(result)); }

Status WriteOutputsByDevice(const std::string& path, std::span<const Literal> results, int64_t partitions) {
  NamedLiterals named;
  for (size_t device = 0; device < results.size(); ++device)
    Append(named, Str(PrefixOf(static_cast<int64_t>(device), partitions), "out"), Outputs(results[device]));
  return WriteArrays(path, named);
}

Status WriteArgumentsByDevice(const std::string& path, std::span<const std::vector<Literal>> args, int64_t partitions) {
  NamedLiterals named;
  for (size_t i = 0; i < args[0].size(); ++i) {
    const bool shared = std::ranges::all_of(args, [&](const auto& of) { return of[i].BitEquals(args[0][i]); });
    for (size_t device = 0; device < (shared ? 1 : args.size()); ++device) {
      const std::string prefix = shared ? "" : PrefixOf(static_cast<int64_t>(device), partitions);
      named.emplace_back(Str(prefix, "arg", i), &args[device][i]);
    }
  }
  return WriteArrays(path, named);
}

}  // namespace hlo
