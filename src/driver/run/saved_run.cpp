#include "driver/run/saved_run.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/source_text.h"
#include "base/text.h"
#include "driver/bundle.h"
#include "driver/inspect/text.h"
#include "driver/run/step_alone.h"
#include "gpu/runtime/executable.h"
#include "interp/arguments/npz.h"
#include "ir/instruction.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "judge/compare/compare.h"

namespace hlo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kValues = "values.npz";

using OnValue = std::function<Status(const std::string& key, const gpu::StepInfo& step, const Literal& value)>;

// Names by id. Origins of optimized instructions are these ids.
std::map<int, std::string> NamesOf(const Module& input) {
  std::map<int, std::string> names;
  for (const Computation* computation : input.Computations()) {
    for (const Instruction* inst : computation->instructions()) names[inst->id()] = inst->name();
  }
  return names;
}

Status EachValue(Experiment& experiment, const OnValue& on_value) {
  const std::map<int, std::string> names = NamesOf(*TRY(experiment.Input())->module);
  gpu::Executable& executable = *TRY(experiment.Placed());
  std::map<int, const gpu::StepInfo*> steps;
  for (const gpu::StepInfo& step : executable.steps()) steps[step.instruction->id()] = &step;
  std::set<int> done;
  std::set<std::string> told;
  const auto tell = [&](const Instruction& inst, const gpu::StepInfo& step, const Literal& value) -> Status {
    if (!inst.shape().IsArray()) return {};
    const auto name = names.find(inst.origin());
    const std::string key = name != names.end() ? name->second : Str("~", inst.name());
    return told.insert(key).second ? on_value(key, step, value) : Status();
  };
  const gpu::Observer look = {
      .wants = [&](const Instruction& inst, std::span<const gpu::LoopStep>) { return !done.contains(inst.id()); },
      .reads_operands = false,
      .observe = [&](const Instruction& inst, std::span<const gpu::LoopStep>, std::span<const Literal>,
                     const Literal& output) -> Status {
        done.insert(inst.id());
        const gpu::StepInfo& step = *steps.at(inst.id());
        if (step.kind == gpu::StepKind::kCopy) return {};
        const Literal value = output.WithBools();
        TRY(tell(inst, step, value));
        for (const Instruction* user : inst.users()) {
          if (user->Is(Opcode::kGetTupleElement)) TRY(tell(*user, step, value.At(ShapeIndex{user->tuple_index()})));
        }
        return {};
      }};
  return executable.Execute({.observer = &look});
}

Error Broken(const std::string& folder, std::string_view what) {
  return Rejected("A018", Str("--reference: '", Escaped(folder), "' ", what));
}

// `value` returns nothing if the key is missing or its shape differs.
struct OtherRun {
  std::string name;
  std::function<Result<std::optional<Literal>>(const std::string& key, const Shape& shape)> value;
  bool same_module = false;
};

Result<std::optional<OtherRun>> OfBundle(Experiment& experiment, std::string* skipped) {
  const std::string& folder = experiment.options().reference_file;
  const std::string path = Str(folder, "/", kValues);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    *skipped = Str("'", Escaped(folder), "' has only outputs; --save_run=DIR also saves the values");
    return std::nullopt;
  }
  const auto arrays = std::make_shared<const NpzArrays>(TRY(ReadNpz(path)));
  const auto optimized = ReadSource(folder + "/module.opt.hlo");
  OtherRun other{.name = folder,
                 .same_module = optimized && (*optimized)->text() == Print(*TRY(experiment.Planned())->module)};
  other.value = [arrays, path](const std::string& key, const Shape& shape) -> Result<std::optional<Literal>> {
    const auto array = std::ranges::find(*arrays, key, &NpzArrays::value_type::first);
    if (array == arrays->end()) return std::nullopt;
    auto value = LiteralFromNpy(array->second, shape, Str("value ", key), Str(path, ":", key));
    return value ? std::optional(std::move(*value)) : std::nullopt;
  };
  return other;
}

Result<OtherRun> OfPlatform(Experiment& experiment, Experiment& platform) {
  const auto values = std::make_shared<std::map<std::string, Literal>>();
  TRY(EachValue(platform, [&](const std::string& key, const gpu::StepInfo&, const Literal& value) -> Status {
    OwnBytes(values->emplace(key, value).first->second);
    return {};
  }));
  OtherRun other{
      .name = "platform cpu",
      .same_module = Fingerprint(*TRY(experiment.Planned())->module) == Fingerprint(*TRY(platform.Planned())->module)};
  other.value = [values](const std::string& key, const Shape& shape) -> Result<std::optional<Literal>> {
    const auto value = values->find(key);
    if (value == values->end() || !Compatible(value->second.shape(), shape)) return std::nullopt;
    return value->second;
  };
  return other;
}

}  // namespace

Status SaveValues(Experiment& experiment, const std::string& path) {
  std::vector<std::pair<std::string, Literal>> values;
  TRY(EachValue(experiment, [&](const std::string& key, const gpu::StepInfo&, const Literal& value) -> Status {
    OwnBytes(values.emplace_back(key, value).second);
    return {};
  }));
  NamedLiterals named;
  for (const auto& [key, value] : values) named.emplace_back(key, &value);
  return WriteArrays(path, named);
}

Status CompareValues(Experiment& experiment, RunReport* report) {
  if (experiment.IsInterpreted()) return {};
  Experiment* const platform = TRY(experiment.OtherPlatform());
  if (platform == nullptr && !IsBundle(experiment.options().reference_file)) return {};
  auto values = std::make_shared<ValuesReport>();
  experiment.progress().Stage("comparing the values");
  std::optional<OtherRun> other;
  if (platform != nullptr) other = TRY(OfPlatform(experiment, *platform));
  else other = TRY(OfBundle(experiment, &values->skipped));
  report->values = values;
  if (!other) return {};
  values->against = other->name;
  return EachValue(experiment, [&](const std::string& key, const gpu::StepInfo& step, const Literal& value) -> Status {
    std::optional<Literal> expected;
    if (!key.starts_with('~') || other->same_module) expected = TRY(other->value(key, value.shape()));
    if (!expected) {
      ++values->without;
      return {};
    }
    const CompareOptions& options = experiment.options().compare;
    const Comparison comparison = experiment.options().compare_mode == CompareMode::kBitwise
                                      ? CompareBitwise(*expected, value, options)
                                      : CompareTolerance(*expected, value, experiment.options().tolerance, options);
    ComparedValue row{.name = key, .step = std::string(step.instruction->name()), .shape = Str(value.shape())};
    for (const TensorComparison& tensor : comparison.outputs) {
      row.elements += tensor.elements;
      row.bad += tensor.bad();
      row.max_abs = std::max(row.max_abs, tensor.max_abs);
      row.max_rel = std::max(row.max_rel, tensor.max_rel);
      row.max_ulps = std::max(row.max_ulps, tensor.max_ulps);
    }
    values->values.push_back(std::move(row));
    return {};
  });
}

Result<std::string> ReferenceFile(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return path;
  if (!IsBundle(path)) FAIL(Broken(path, "is not a bundle: it has no manifest.json of a bundle"));
  const Bundle bundle = TRY(ReadBundle(path));
  for (const std::string& note : bundle.notes) {
    // Only changed arrays and modules matter.
    if (note.contains(".npz'") || note.contains("/module")) FAIL(Broken(path, Str("was changed: ", note)));
  }
  std::string file = path + "/actual.npz";
  if (!fs::is_regular_file(file, error)) FAIL(Broken(path, "has no actual.npz, because its run gave no outputs"));
  return file;
}

std::string ToString(const ValuesReport& report) {
  if (!report.skipped.empty()) return Str("not compared: ", report.skipped, "\n");
  constexpr size_t kMostRows = 10;
  const auto parts = [](const ComparedValue& value) { return value.bad > 0; };
  const auto first = std::ranges::find_if(report.values, parts);
  const int64_t bad = std::ranges::count_if(report.values, parts);
  std::string out =
      Str(std::ssize(report.values), " compared with ", report.against, ", ", bad, " beyond the tolerance",
          report.without > 0 ? Str("; ", report.without, " are missing there") : "");
  if (first == report.values.end()) return out + "\n";
  out += Str("; first '", first->name, "', which '", first->step, "' makes\n");
  TextTable table({"", "value", "kernel", "shape", ">bad", ">max abs", ">max rel", ">max ulp"});
  size_t shown = 0;
  for (const ComparedValue& value : report.values) {
    if (!parts(value) || shown++ >= kMostRows) continue;
    table.Row({&value == &*first ? "->" : "", value.name, value.step, value.shape, Str(value.bad),
               Format("%.2e", value.max_abs), Format("%.1e", value.max_rel),
               value.max_ulps == INT64_MAX ? "-" : Str(value.max_ulps)});
  }
  out += table.Text("    ");
  if (shown > kMostRows) out += Str("    ... and ", shown - kMostRows, " later ones\n");
  return out;
}

void WriteJson(JsonWriter& json, const ValuesReport& report) {
  json.Open('{').Key("against").Value(report.against).Key("without").Value(report.without);
  if (!report.skipped.empty()) json.Key("skipped").Value(report.skipped);
  json.Key("values").Open('[');
  for (const ComparedValue& value : report.values) {
    json.Open('{').Key("name").Value(value.name).Key("step").Value(value.step).Key("shape").Value(value.shape);
    json.Key("elements").Value(value.elements).Key("bad").Value(value.bad).Key("max_abs").Value(value.max_abs);
    json.Key("max_rel").Value(value.max_rel).Key("max_ulps").Value(value.max_ulps).Close('}');
  }
  json.Close(']').Close('}');
}

}  // namespace hlo
