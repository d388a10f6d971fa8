#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "interp/arguments/argument_files.h"
#include "interp/arguments/leaf_maker.h"
#include "ir/module.h"

namespace hlo {
namespace {

Result<int64_t> ParameterOf(const Module& module, const std::string& which) {
  const auto parameters = module.entry().parameters();
  int64_t number;
  if (ParseInt(which, &number)) {
    if (number >= 0 && number < static_cast<int64_t>(parameters.size())) return number;
    FAIL(UsageError("A005", Str("--arg=", which, "=...: the module has ", parameters.size(),
                                parameters.size() == 1 ? " parameter" : " parameters", ", counted from 0")));
  }
  std::vector<std::string_view> names;
  for (const Instruction* parameter : parameters) {
    if (parameter->name() == which) return parameter->parameter_number();
    names.push_back(parameter->name());
  }
  // XLA may rename "x" of the program to "x.1".
  const auto is_numbered = [&](std::string_view name) {
    return name.size() > which.size() + 1 && name.starts_with(which) && name[which.size()] == '.' &&
           name.find_first_not_of("0123456789", which.size() + 1) == std::string_view::npos;
  };
  if (std::ranges::count_if(names, is_numbered) == 1) return std::ranges::find_if(names, is_numbered) - names.begin();
  const std::vector<std::string> near = NearNames(which, names);
  Error error =
      UsageError("A005", Str("--arg=", Escaped(which), "=...: no parameter is called '", Escaped(which), "'"));
  if (!near.empty()) return std::unexpected(std::move(error).Hint(Str("did you mean ", Join(near, ", "), "?")));
  FAIL(std::move(error));
}

bool ParseCall(std::string_view text, std::string_view name, double* a, double* b) {
  if (!text.starts_with(name) || !text.ends_with(")")) return false;
  text.remove_prefix(name.size());
  if (!text.starts_with("(")) return false;
  const auto parts = Split(text.substr(1, text.size() - 2), ',');
  return parts.size() == 2 && ParseDouble(Trim(parts[0]), a) && ParseDouble(Trim(parts[1]), b);
}

// Sum of twelve uniform numbers less 6: mean 0, variance 1, cut at 6. Its terms are multiples of 2^-16, so it is the
// same on all machines, unlike logarithms of C libraries.
double StandardNormal(uint64_t seed, int64_t i, uint64_t high) {
  double sum = -6;
  for (int part = 0; part < 2; ++part) {
    const PhiloxBlock block = Philox(seed, static_cast<uint64_t>(2 * i + part), high);
    for (int k = 0; k < 3; ++k)
      sum += (static_cast<double>(block.words[k] & 0xFFFF) + static_cast<double>(block.words[k] >> 16) + 1) * 0x1p-16;
  }
  return sum;
}

constexpr std::string_view kSpecs =
    "--arg takes zeros, ones, iota, special, replica_id, uniform(a,b), normal(m,s), randint(a,b), x.npy, x.npz:KEY, "
    "@x.bin or a literal: {1,2}";

// Texts that are not literals are misspelt generators.
bool IsLiteralText(std::string_view spec) {
  if (spec.empty() || spec.find_first_of("{[") != std::string_view::npos) return !spec.empty();
  for (const std::string_view word : {"inf", "nan", "true", "false"}) {
    if (spec.starts_with(word)) return true;
  }
  return std::string_view("+-.(0123456789").find(spec[0]) != std::string_view::npos;
}

Error InArgument(const Instruction& parameter, Error error) {
  std::string& message = error.diagnostics.front().message;
  message = Str("argument ", parameter.parameter_number(), " ('", parameter.name(), "'): ", message);
  return error;
}

Result<Literal> Made(const Instruction& parameter, std::string_view spec, const ArgumentOptions& options) {
  if (parameter.shape().IsTuple() && spec.starts_with('(') && options.parse_literal)
    return options.parse_literal(parameter.shape(), spec);
  int64_t leaf = 0;
  return ByLeaf(parameter.shape(), leaf, [&](const Shape& part, int64_t i) {
    return MakeLiteral(part, spec, options.seed, parameter.parameter_number(), i, options);
  });
}

Result<Literal> Given(const Instruction& parameter, std::string_view spec, const ArgumentOptions& options) {
  if (NamesTensor(spec)) return ReadTensor(std::string(spec), parameter, options.cast);
  auto literal = Made(parameter, spec, options);
  if (!literal) FAIL(InArgument(parameter, std::move(literal).error()));
  return literal;
}

}  // namespace

Result<Literal> MakeLiteral(const Shape& shape, std::string_view spec, uint64_t seed, int64_t parameter, int64_t leaf,
                            const ArgumentOptions& options) {
  ArgumentOptions own;
  own.seed = seed;
  own.constrain = false;
  double a = 0, b = 0;
  const auto make = [&] { return MakeLeaf(shape, {}, own, parameter, leaf); };
  if (spec == "zeros" || spec == "ones" || spec == "iota" || spec == "special") {
    own.profile = *FromText<InputProfile>(spec);
    return make();
  }
  if (spec == "replica_id") {
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, static_cast<double>(options.replica));
    return literal;
  }
  if (ParseCall(spec, "uniform", &a, &b)) {
    if (!IsFloat(shape.type()) || !(a <= b))
      FAIL(UsageError("A006", Str("uniform(a,b) needs a float parameter and a <= b; the parameter is ", shape)));
    own.range = {{a, b}};
    return make();
  }
  const uint64_t high = CounterOf(parameter, leaf);
  if (ParseCall(spec, "normal", &a, &b)) {
    if (!IsFloat(shape.type()) || !(b >= 0))
      FAIL(UsageError("A006", Str("normal(m,s) needs a float parameter and s >= 0; the parameter is ", shape)));
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) literal.SetDouble(i, a + b * StandardNormal(seed, i, high));
    return literal;
  }
  if (ParseCall(spec, "randint", &a, &b)) {
    if (a != std::trunc(a) || b != std::trunc(b) || a > b || std::max(-a, b) >= 0x1p63)
      FAIL(UsageError("A006", "randint(a,b) needs integers a <= b of at most 64 bits"));
    Literal literal(shape);
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      literal.SetInt(i, Between(Philox(seed, i, high), static_cast<int64_t>(a), static_cast<int64_t>(b)));
    }
    return literal;
  }
  if (IsLiteralText(spec) && options.parse_literal) {
    auto literal = options.parse_literal(shape, spec);
    if (literal) return literal;
    FAIL(std::move(literal).error().Hint(Str("--arg was read as the elements of ", shape, "; ", kSpecs)));
  }
  FAIL(UsageError("A006", Str("'", Escaped(spec), "' is not a value for --arg")).Hint(std::string(kSpecs)));
}

Result<std::map<int64_t, Literal>> GivenArguments(const Module& module, const ArgumentOptions& options) {
  std::map<int64_t, Literal> given;
  for (const ArgumentSpec& spec : options.specs) {
    const int64_t number = TRY(ParameterOf(module, spec.which));
    const Instruction& parameter = module.entry().parameter(number);
    if (given.contains(number))
      FAIL(UsageError("A005", Str("--arg gives parameter ", number, " ('", parameter.name(), "') twice")));
    given.emplace(number, TRY(Given(parameter, Trim(spec.spec), options)));
  }
  return given;
}

}  // namespace hlo
