#include "driver/arguments.h"

#include <chrono>
#include <fstream>

#include "base/text.h"
#include "interp/arguments.h"
#include "interp/npz.h"
#include "parser/read_proto.h"

namespace hlo {
namespace {

// One --arg=WHICH=SPEC.
Result<ArgumentSpec> ParseSpec(const std::string& text) {
  const size_t cut = text.find_first_of("=:");
  if (cut == std::string::npos || cut == 0)
    FAIL(UsageError("F004", Str("--arg wants WHICH=SPEC, not '", Escaped(text), "'")));
  return ArgumentSpec{text.substr(0, cut), text.substr(cut + 1)};
}

// "{1,2}" or "f32[2]{1,2}", the way XLA writes literals; a layout may stand between the two.
Result<Literal> ReadLiteralText(const Shape& shape, std::string_view text) {
  const size_t bracket = shape.IsArray() ? text.find(']') : std::string_view::npos;
  if (bracket == std::string_view::npos) return ParseLiteral(text, shape);
  const auto stated = ParseShape(text.substr(0, bracket + 1));
  if (!stated) return ParseLiteral(text, shape);
  if (stated->type() != shape.type() || stated->dims() != shape.dims())
    FAIL(Rejected("A004", Str("--arg gives a literal ", *stated, " for a parameter ", shape)));
  text = Trim(text.substr(bracket + 1));
  const size_t brace = text.find('}');
  if (brace != std::string_view::npos && Trim(text.substr(brace + 1)).starts_with('{')) text.remove_prefix(brace + 1);
  return ParseLiteral(text, shape);
}

// What a snapshot recorded; none of files of arrays, which may be large and are not read here.
Result<std::optional<RecordedValues>> ReadRecorded(const std::string& path) {
  std::string start(2, '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(start.data(), 2) || start == "PK" || start == "\x93N") return std::nullopt;
  return ReadRecordedValues(TRY(ReadSource(path)));
}

// `value` as a value of `shape`, whose layout it gets.
Result<Literal> Fitting(Literal value, const Shape& shape, std::string_view what) {
  if (!Compatible(value.shape(), shape))
    FAIL(Rejected("A004", Str(what, " is recorded as ", value.shape(), ", the module has ", shape)));
  if (shape.IsArray()) value.SetLayout(shape.layout());
  return value;
}

Result<std::vector<Literal>> ReadArgumentsOf(const std::string& path, const Module& module) {
  auto recorded = TRY(ReadRecorded(path));
  if (!recorded) return ReadArguments(path, module);
  const auto parameters = module.entry().parameters();
  if (recorded->arguments.size() != parameters.size()) {
    FAIL(Rejected("A003", Str("'", Escaped(path), "' records ", recorded->arguments.size(),
                              " arguments, the module has ", parameters.size(), " parameters")));
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    Literal& value = recorded->arguments[i];
    value = TRY(Fitting(std::move(value), parameters[i]->shape(), Str("argument ", i)));
  }
  return std::move(recorded->arguments);
}

}  // namespace

Result<RunArguments> PrepareArguments(const Module& module, const RunOptions& options, bool interpret,
                                      const InterpretOptions& interpreter) {
  TRY(CheckMemory(module.entry(), interpreter));
  RunArguments arguments;
  const auto timed_interpret = [&](std::span<const Literal> values) -> Result<Literal> {
    const auto begin = std::chrono::steady_clock::now();
    auto result = Interpret(module, values, interpreter);
    arguments.reference_ms =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    return result;
  };
  ArgumentOptions make;
  make.seed = static_cast<uint64_t>(options.seed);
  const auto profile = InputProfileFromText(options.input_profile);
  if (!profile)
    FAIL(UsageError("F004", Str("--input_profile: unknown profile '", Escaped(options.input_profile), "'")));
  make.profile = *profile;
  for (const std::string& text : options.arg) make.specs.push_back(TRY(ParseSpec(text)));
  make.parse_literal = ReadLiteralText;
  if (!options.args.empty()) {
    arguments.values = TRY(ReadArgumentsOf(options.args, module));
    for (auto& [number, value] : TRY(GivenArguments(module, make))) arguments.values[number] = std::move(value);
    arguments.description = options.args;
    if (interpret) arguments.reference = TRY(timed_interpret(arguments.values));
    return arguments;
  }
  if (interpret) make.interpret = timed_interpret;
  Arguments made = TRY(MakeArgumentsChecked(module, make));
  arguments.values = std::move(made.values);
  arguments.reference = std::move(made.reference);
  arguments.non_finite_share = made.non_finite_share;
  arguments.notes = std::move(made.notes);
  const std::string given = make.specs.empty() ? "" : Str(", ", make.specs.size(), " given");
  arguments.description = Str(options.input_profile, ", seed ", options.seed, given);
  return arguments;
}

Result<Literal> ReadExpected(const std::string& path, const Shape& shape) {
  if (auto recorded = TRY(ReadRecorded(path)); recorded && recorded->result)
    return Fitting(std::move(*recorded->result), shape, "the result");
  const NpzArrays arrays = TRY(ReadNpz(path));
  const auto read = [&](const ShapeIndex& index, const Shape& leaf) -> Result<Literal> {
    const std::string key = Str("out", index.empty() ? "0" : Join(index, "."));
    for (const auto& [name, array] : arrays) {
      if (name == key) return LiteralFromNpy(array, leaf, Str("result ", key), Str(path, ":", key));
    }
    FAIL(Rejected("A003", Str("'", Escaped(path), "' has no '", key, "' for a result ", leaf)));
  };
  if (!shape.IsTuple()) return read({}, shape);
  std::vector<Literal> elements;
  for (size_t i = 0; i < shape.elements().size(); ++i) {
    if (shape.element(i).IsTuple()) FAIL(Unsupported("U030", Str("--reference for nested tuples: ", shape)));
    elements.push_back(TRY(read({static_cast<int64_t>(i)}, shape.element(i))));
  }
  return Literal::Tuple(std::move(elements));
}

Result<std::unique_ptr<gpu::Device>> OpenPlatform(const std::string& platform, std::vector<std::string>* notes) {
  if (platform != "auto") return gpu::OpenDevice(platform);
  auto cuda = gpu::OpenDevice("cuda");
  if (cuda) return cuda;
  notes->push_back("no usable GPU, so the kernels run on the host ('hlo doctor' says why)");
  return gpu::OpenDevice("cpu");
}

}  // namespace hlo
