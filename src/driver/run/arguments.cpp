#include "driver/run/arguments.h"

#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>

#include "base/text.h"
#include "interp/arguments/argument_files.h"
#include "interp/arguments/arguments.h"
#include "interp/devices/parts.h"
#include "interp/dynamic.h"
#include "ir/mesh/parts.h"
#include "ir/module.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

using ByDevice = std::vector<std::vector<Literal>>;

Result<ArgumentSpec> ParseSpec(const std::string& text) {
  const size_t cut = text.find_first_of("=:");
  if (cut == std::string::npos || cut == 0)
    FAIL(UsageError("F004", Str("--arg wants WHICH=SPEC, not '", Escaped(text), "'")));
  return ArgumentSpec{text.substr(0, cut), text.substr(cut + 1)};
}

// Parses "{1,2}" or "f32[2]{1,2}". A layout may follow the shape.
Result<Literal> ReadLiteralText(const Shape& shape, std::string_view text) {
  const size_t bracket = shape.IsArray() ? text.find(']') : std::string_view::npos;
  if (bracket == std::string_view::npos) return ParseLiteral(text, shape);
  const auto stated = ParseShape(text.substr(0, bracket + 1));
  if (!stated) return ParseLiteral(text, shape);
  if (!Fits(*stated, shape)) FAIL(Rejected("A004", Str("the parameter is ", shape, ", but the literal is ", *stated)));
  text = Trim(text.substr(bracket + 1));
  const size_t brace = text.find('}');
  if (brace != std::string_view::npos && Trim(text.substr(brace + 1)).starts_with('{')) text.remove_prefix(brace + 1);
  return ParseLiteral(text, shape.HasDynamicDims() ? *stated : shape);
}

// Skips .npz and .npy files, which may be large.
Result<std::optional<RecordedValues>> ReadRecorded(const std::string& path) {
  std::string start(2, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(start.data(), 2) || start == "PK" || start == "\x93N") return std::nullopt;
  return ReadRecordedValues(TRY(ReadSource(path)));
}

// Gives `value` the layout of `shape`. Error: [A004] another shape.
Result<Literal> Fitting(Literal value, const Shape& shape, std::string_view what) {
  if (!Compatible(value.shape(), shape))
    FAIL(Rejected("A004", Str(what, " is recorded as ", value.shape(), ", but the module has ", shape)));
  if (shape.IsArray()) value.SetLayout(shape.layout());
  return value;
}

// Joins the parts of an argument that XLA may record for each partition.
Result<std::vector<Literal>> FittingPartitions(std::vector<Literal> values, const Instruction& parameter,
                                               std::vector<std::string>* notes) {
  const Shape& shape = parameter.shape();
  const std::string what = Str("argument ", parameter.parameter_number());
  const Sharding* sharding = values.size() > 1 && shape.IsArray() ? ShardingOfLeaf(parameter, 0) : nullptr;
  const auto table = sharding == nullptr ? Result<PartTable>(PartTable())
                                         : PartTable::Make(*sharding, shape.rank(), std::ssize(values));
  const auto is_part = [&](const Literal& value) {
    return value.shape().IsArray() && value.shape().type() == shape.type() &&
           table->Fits(shape.dims(), value.shape().dims());
  };
  if (!table || !table->IsCut() || !std::ranges::all_of(values, is_part)) {
    for (Literal& value : values) value = TRY(Fitting(std::move(value), shape, what));
    return values;
  }
  std::vector<const Literal*> parts;
  for (const Literal& value : values) parts.push_back(&value);
  JoinedParts joined = JoinParts(parts, shape, *table);
  if (joined.differing)
    notes->push_back(Str("partitions ", joined.differing->first, " and ", joined.differing->second,
                         " hold the same part of ", what, ", which was recorded with different values"));
  return std::vector<Literal>(values.size(), joined.whole);
}

Result<ByDevice> RecordedByDevice(RecordedValues recorded, const std::string& path, const Module& module,
                                  int64_t devices, std::vector<std::string>* notes) {
  const auto parameters = module.entry().parameters();
  const auto partitions = std::ssize(recorded.arguments);
  const auto wrong_count = [&](size_t count) {
    return Rejected(
        "A003", Str("'", Escaped(path), "' records ", count, count == 1 ? " argument" : " arguments",
                    ", but the module has ", parameters.size(), parameters.size() == 1 ? " parameter" : " parameters"));
  };
  if (recorded.arguments.empty() && !parameters.empty()) FAIL(wrong_count(0));
  for (const std::vector<Literal>& arguments : recorded.arguments) {
    if (arguments.size() != parameters.size()) FAIL(wrong_count(arguments.size()));
  }
  const int64_t of_header = module.header.replica_count * module.header.num_partitions;
  if (partitions > 1 && partitions != of_header && partitions != module.header.num_partitions)
    FAIL(Rejected("A003", Str("'", Escaped(path), "' records the arguments of ", partitions,
                              " partitions, but the module is for ", module.header.num_partitions)));
  ByDevice by_device(devices, std::vector<Literal>(parameters.size()));
  for (size_t i = 0; i < parameters.size(); ++i) {
    std::vector<Literal> values;
    for (std::vector<Literal>& arguments : recorded.arguments) values.push_back(std::move(arguments[i]));
    values = TRY(FittingPartitions(std::move(values), *parameters[i], notes));
    for (int64_t device = 0; device < devices; ++device) by_device[device][i] = values[device % partitions];
  }
  return by_device;
}

std::string FirstOf(const std::vector<std::string>& words) {
  constexpr size_t kMost = 8;
  if (words.size() <= kMost) return Join(words, ", ");
  return Str(Join(std::span(words).first(kMost), ", "), " and ", words.size() - kMost, " more");
}

// ---- Arguments that differ between devices -------------------------------------------------------------------------

Literal FilledWith(const Shape& shape, int64_t number) {
  Literal literal(shape);
  for (Literal& element : literal.mutable_elements()) element = FilledWith(element.shape(), number);
  if (!shape.IsArray()) return literal;
  for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, static_cast<double>(number));
  return literal;
}

struct DeviceSpec {
  OfDevice of;  // -1 as replica or partition means all.
  ArgumentSpec spec;
};

// Removes and returns specs that depend on the device.
Result<std::vector<DeviceSpec>> TakeDeviceSpecs(std::vector<ArgumentSpec>& specs, const Module& module) {
  std::vector<DeviceSpec> taken;
  std::vector<ArgumentSpec> shared;
  const auto parameters = module.entry().parameters();
  for (ArgumentSpec& spec : specs) {
    const bool is_name = std::ranges::any_of(parameters, [&](const Instruction* p) { return p->name() == spec.which; });
    const auto of = is_name ? std::nullopt : SplitDevicePrefix(spec.which);
    if (of) {
      TRY(CheckDevice(*of, module, Str("--arg=", Escaped(spec.which), "=...")));
      taken.push_back({{of->replica, of->partition, {}}, {std::string(of->key), spec.spec}});
    } else if (Trim(spec.spec) == "replica_id") {
      taken.push_back({{-1, -1, {}}, spec});
    } else {
      shared.push_back(std::move(spec));
    }
  }
  specs = std::move(shared);
  return taken;
}

Result<std::optional<std::pair<double, double>>> ParseArgRange(const std::string& text, InputProfile profile) {
  if (text.empty()) return std::nullopt;
  const auto parts = Split(text, ',');
  double low = 0, high = 0;
  const bool read = parts.size() == 2 && ParseDouble(Trim(parts[0]), &low) && ParseDouble(Trim(parts[1]), &high);
  if (!read || !(low <= high) || !std::isfinite(low) || !std::isfinite(high))
    FAIL(UsageError("F004", Str("--arg_range wants two numbers a,b with a <= b, not '", Escaped(text), "'")));
  for (const InputProfile fixed : {InputProfile::kExact, InputProfile::kFingerprint, InputProfile::kOnes,
                                   InputProfile::kZeros, InputProfile::kIota}) {
    if (profile == fixed)
      FAIL(UsageError(
          "F004", Str("--arg_range limits random floats, but --input_profile=", ToString(profile), " generates none")));
  }
  return std::pair(low, high);
}

// Arguments that replace shared ones, by device and parameter.
using OwnArguments = std::vector<std::map<int64_t, Literal>>;

Result<OwnArguments> MakeOwnArguments(const Module& module, const RunOptions& options, ArgumentOptions make,
                                      std::span<const DeviceSpec> specs, int64_t devices) {
  OwnArguments own(devices);
  if (specs.empty() && options.argument_mode != ArgumentMode::kDeviceId) return own;
  const int64_t partitions = module.header.num_partitions;
  const std::map<int64_t, Literal> shared = TRY(GivenArguments(module, make));
  for (int64_t device = 0; device < devices; ++device) {
    if (options.argument_mode == ArgumentMode::kDeviceId) {
      for (const Instruction* parameter : module.entry().parameters()) {
        if (!shared.contains(parameter->parameter_number()))
          own[device][parameter->parameter_number()] = FilledWith(parameter->shape(), device);
      }
    }
    // Specs for fewer devices override specs for more.
    make.replica = device / partitions;
    for (int nearness = 0; nearness < 3; ++nearness) {
      make.specs.clear();
      for (const auto& [of, spec] : specs) {
        if ((of.replica >= 0) + (of.partition >= 0) != nearness) continue;
        if (of.replica >= 0 && of.replica != device / partitions) continue;
        if (of.partition >= 0 && of.partition != device % partitions) continue;
        make.specs.push_back(spec);
      }
      for (auto& [number, value] : TRY(GivenArguments(module, make))) own[device][number] = std::move(value);
    }
  }
  return own;
}

ByDevice WithOwn(ByDevice by_device, const OwnArguments& own) {
  for (size_t device = 0; device < by_device.size(); ++device) {
    for (const auto& [number, value] : own[device]) by_device[device][number] = value;
  }
  return by_device;
}

Result<DeviceArguments> ReadByDevice(const RunOptions& options, const Module& module, int64_t devices, CastArgs cast,
                                     const std::set<int64_t>& given, std::vector<std::string>* notes) {
  const std::string& path = options.args;
  if (auto recorded = TRY(ReadRecorded(path)))
    return DeviceArguments{.by_device = TRY(RecordedByDevice(std::move(*recorded), path, module, devices, notes))};
  if (module.header.replica_count > 1 || module.header.num_partitions > 1)
    return ReadArgumentsByDevice(path, module, cast, given, options.args_are, devices);
  return DeviceArguments{.by_device = {TRY(ReadArguments(path, module, cast, given))}};
}

// Parameters with a value on all devices, which need no file.
std::set<int64_t> NumbersOf(const std::map<int64_t, Literal>& shared, const OwnArguments& own) {
  std::set<int64_t> numbers;
  for (const auto& [number, value] : shared) numbers.insert(number);
  for (const auto& [number, value] : own.front()) {
    if (std::ranges::all_of(own, [&](const auto& of_device) { return of_device.contains(number); }))
      numbers.insert(number);
  }
  return numbers;
}

}  // namespace

Result<InputProfile> ParseProfile(std::string_view text) {
  if (const auto profile = FromText<InputProfile>(text)) return *profile;
  FAIL(UsageError("F004", Str("--input_profile wants one of ", Join(EnumWords<InputProfile>::kWords, ", "), ", not '",
                              Escaped(text), "'")));
}

Result<std::vector<InputProfile>> ParseProfiles(std::string_view text) {
  std::vector<InputProfile> profiles;
  for (const std::string_view part : Split(text, ',')) {
    if (part == "all") {
      for (size_t i = 0; i < std::size(EnumWords<InputProfile>::kWords); ++i)
        profiles.push_back(static_cast<InputProfile>(i));
    } else {
      profiles.push_back(TRY(ParseProfile(part)));
    }
  }
  return profiles;
}

Result<RunArguments> PrepareArguments(const Module& module, const RunOptions& options, bool interpret,
                                      const InterpretOptions& interpreter, Progress* progress) {
  const int64_t devices = options.is_interpreter() ? TRY(DeviceCount(module)) : 1;
  TRY(CheckMemory(module.entry(), interpreter, devices));
  RunArguments arguments;
  ArgumentOptions make;
  make.seed = static_cast<uint64_t>(options.seed);
  make.profile = options.input_profile;
  make.constrain = options.constrain_inputs;
  make.cast = options.cast_args;
  // Arguments that cause NaN or infinities must stay if the run looks for these.
  if (options.watch.detects()) make.max_tries = 0;
  make.exact_bound = options.exact_bound;
  make.range = TRY(ParseArgRange(options.arg_range, make.profile));
  for (const std::string& text : options.arg) make.specs.push_back(TRY(ParseSpec(text)));
  make.parse_literal = ReadLiteralText;
  const std::string given = make.specs.empty() ? "" : Str(", ", make.specs.size(), " given");
  const std::vector<DeviceSpec> own_specs = TRY(TakeDeviceSpecs(make.specs, module));
  const OwnArguments own = TRY(MakeOwnArguments(module, options, make, own_specs, devices));
  // The first device decides whether the arguments suit the program.
  const auto timed_interpret = [&](const ByDevice& values) -> Result<Literal> {
    if (progress != nullptr) progress->Stage("interpreting (reference)");
    const auto begin = std::chrono::steady_clock::now();
    Literal result = devices == 1 ? TRY(Interpret(module, values[0], interpreter))
                                  : std::move(TRY(InterpretDevices(module, values, interpreter))[0]);
    arguments.reference_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    if (progress != nullptr) progress->Stage("judging the arguments");
    return result;
  };
  const auto keep = [&](ByDevice by_device) {
    arguments.values = by_device[0];
    if (devices > 1) arguments.by_device = std::move(by_device);
  };
  if (!options.args.empty()) {
    const std::map<int64_t, Literal> shared = TRY(GivenArguments(module, make));
    DeviceArguments read =
        TRY(ReadByDevice(options, module, devices, make.cast, NumbersOf(shared, own), &arguments.notes));
    arguments.are_whole = devices > 1 && (read.are_whole || options.args_are == ArgsAre::kWhole);
    const int64_t partitions = module.header.num_partitions;
    std::string cut;
    if (read.were_cut) cut = devices > 1 ? Str(", cut for ", partitions, " partitions") : ", cut for partition 0";
    if (read.were_cut && devices > 1 && !read.parts.empty()) {
      cut += Str(" except ", Join(read.parts, ", "));
      arguments.notes.push_back(Str("each partition gets the same ", Join(read.parts, ", "), ", because ",
                                    read.parts.size() == 1 ? "it has the shape of a part" : "they have shapes of parts",
                                    ", although other arrays of ", Escaped(options.args), " are whole"));
    }
    ByDevice by_device = std::move(read.by_device);
    for (const auto& [number, value] : shared) {
      for (std::vector<Literal>& values : by_device) values[number] = value;
    }
    by_device = WithOwn(std::move(by_device), own);
    arguments.description = Str(options.recorded_arguments == Recorded::kTaken ? "recorded in the file" : options.args,
                                options.recorded_arguments == Recorded::kTaken ? given : "", cut);
    if (interpret) arguments.reference = TRY(timed_interpret(by_device));
    keep(std::move(by_device));
    return arguments;
  }
  if (options.recorded_arguments == Recorded::kMissing && options.arg.size() < module.entry().parameters().size())
    arguments.notes.emplace_back(
        "the snapshot has no arguments, perhaps because the file is truncated, so arguments are generated");
  const auto on_all = [&](std::span<const Literal> shared) {
    return WithOwn(ByDevice(devices, std::vector<Literal>(shared.begin(), shared.end())), own);
  };
  if (interpret) make.interpret = [&](std::span<const Literal> shared) { return timed_interpret(on_all(shared)); };
  Arguments made = TRY(MakeArgumentsChecked(module, make));
  keep(on_all(made.values));
  arguments.reference = std::move(made.reference);
  arguments.non_finite_share = made.non_finite_share;
  std::ranges::move(made.notes, std::back_inserter(arguments.notes));
  arguments.description = Str(options.input_profile, ", seed ", options.seed, given);
  return arguments;
}

Result<Literal> ReadExpected(const std::string& path, const Shape& shape, CastArgs cast,
                             std::vector<std::string>* notes) {
  if (auto recorded = TRY(ReadRecorded(path)); recorded && recorded->result)
    return Fitting(std::move(*recorded->result), shape, "the result");
  const auto read_arrays = ReadNpz(path);
  std::error_code ignored;
  if (!read_arrays && !std::filesystem::is_regular_file(path, ignored)) FAIL(read_arrays.error());
  if (!read_arrays) {
    FAIL(Error(read_arrays.error())
             .Hint("--reference wants results: 'hlo run --save_outputs=FILE.npz' saves the results of another module, "
                   "and 'hlo diff --mode=values OTHER MODULE' runs both modules on the same arguments"));
  }
  const NpzArrays& arrays = *read_arrays;
  std::set<std::string> unused;
  for (const auto& [name, array] : arrays) {
    if (!name.starts_with("arg")) unused.insert(Str("'", Escaped(name), "'"));
  }
  const auto read = [&](const Shape& leaf, const std::string& key) -> Result<Literal> {
    for (const auto& [name, array] : arrays) {
      if (name != key) continue;
      unused.erase(Str("'", key, "'"));
      return LiteralFromNpy(array, leaf, Str("result ", key), Str(path, ":", key), cast);
    }
    std::vector<std::string> keys;
    for (const auto& [name, array] : arrays) keys.push_back(Str("'", Escaped(name), "'"));
    Error error = Rejected("A003", Str("--reference: ", Escaped(path), " has no key '", key, "' for a result ", leaf));
    const bool has_keys = arrays.size() != 1 || !arrays.begin()->first.empty();
    FAIL(std::move(error).Hint(
        Str(has_keys ? Str("the keys of the file are ", FirstOf(keys)) : "it is one array without a key",
            "; hlo-run --save_outputs=FILE writes such a file")));
  };
  // The leaves of a nested tuple are named out1.0, out1.1, ...
  const std::function<Result<Literal>(const Shape&, const std::string&, const char*)> read_all =
      [&](const Shape& part, const std::string& key, const char* separator) -> Result<Literal> {
    if (part.IsToken()) return Literal(part);
    if (!part.IsTuple()) return read(part, key);
    std::vector<Literal> elements;
    for (size_t i = 0; i < part.elements().size(); ++i)
      elements.push_back(TRY(read_all(part.element(i), Str(key, separator, i), ".")));
    return Literal::Tuple(std::move(elements));
  };
  Literal expected = shape.IsTuple() ? TRY(read_all(shape, "out", "")) : TRY(read_all(shape, "out0", "."));
  if (!unused.empty()) {
    notes->push_back(Str("--reference: ", Escaped(path), " also has ", FirstOf({unused.begin(), unused.end()}),
                         ", which are not results of the module"));
  }
  return expected;
}

Result<std::unique_ptr<gpu::Device>> OpenPlatform(const std::string& platform,
                                                  const std::vector<std::string>& library_path,
                                                  std::vector<std::string>* notes) {
  if (KindOfPlatform(platform) != PlatformKind::kAuto) return gpu::OpenDevice(platform, library_path);
  auto cuda = gpu::OpenDevice("cuda", library_path);
  if (cuda) return cuda;
  notes->push_back("no usable GPU, so the kernels run on the host ('hlo doctor' says why)");
  return gpu::OpenDevice("cpu");
}

}  // namespace hlo
