#include "interp/arguments/arguments.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "interp/arguments/leaf_maker.h"
#include "interp/arguments/ranges.h"
#include "ir/module.h"

namespace hlo {
namespace {

struct Finiteness {
  int64_t floats = 0, non_finite = 0, constant_outputs = 0;
};

void Count(const Literal& literal, Finiteness& counts) {
  for (const Literal& element : literal.elements()) Count(element, counts);
  if (!literal.shape().IsArray() || !IsFloat(literal.shape().type())) return;
  const int64_t count = literal.shape().NumElements();
  counts.floats += count;
  for (int64_t i = 0; i < count; ++i) counts.non_finite += std::isfinite(literal.GetDouble(i)) ? 0 : 1;
  if (count > 1 && literal.IsSplat()) ++counts.constant_outputs;
}

bool HasFloats(const Shape& shape) {
  bool found = false;
  ForEachLeaf(shape, [&](const ShapeIndex&, const Shape& leaf) { found = found || IsFloat(leaf.type()); });
  return found;
}

std::string TooManyRows(const Instruction& parameter, const LeafRange& range, const Shape& shape) {
  if (!range.rows_unique || !shape.IsArray()) return "";
  const bool vectors = !range.components.empty() && range.component_dim < shape.rank();
  const std::vector<ClosedInterval> components =
      vectors ? range.components
              : std::vector<ClosedInterval>{range.components.empty() ? range.interval : range.components.front()};
  double possible = 1;
  for (const ClosedInterval& interval : components) possible *= std::max(0.0, interval.high - interval.low + 1);
  const int64_t rows = shape.NumElements() / static_cast<int64_t>(components.size());
  if (static_cast<double>(rows) <= possible) return "";
  return Str("'", parameter.name(), "' holds ", rows, " indices for an op that relies on unique ones, but only ",
             possible, " are in range, so some occur twice");
}

Result<std::vector<Literal>> MakeAll(const Module& module, const std::vector<std::vector<LeafRange>>& ranges,
                                     const std::map<int64_t, Literal>& given, const ArgumentOptions& options,
                                     double scale) {
  std::vector<Literal> values;
  for (const Instruction* parameter : module.entry().parameters()) {
    const int64_t number = parameter->parameter_number();
    if (const auto found = given.find(number); found != given.end()) {
      values.push_back(found->second);
      continue;
    }
    int64_t leaf = 0;
    values.push_back(TRY(ByLeaf(parameter->shape(), leaf, [&](const Shape& shape, int64_t i) -> Result<Literal> {
      const LeafRange& range = ranges[number][i];
      return MakeLeaf(shape, range, options, number, i, scale);
    })));
  }
  return values;
}

}  // namespace

Result<Arguments> MakeArgumentsChecked(const Module& module, const ArgumentOptions& options) {
  const std::map<int64_t, Literal> given = TRY(GivenArguments(module, options));
  const std::vector<std::vector<LeafRange>> ranges = CollectRanges(module).parameters;
  Arguments made;
  for (const Instruction* parameter : module.entry().parameters()) {
    size_t leaf = 0;
    ForEachLeaf(parameter->shape(), [&](const ShapeIndex&, const Shape& shape) {
      const LeafRange& range = ranges[parameter->parameter_number()][leaf++];
      if (!range.conflict.empty()) made.notes.push_back(range.conflict);
      if (std::string text = TooManyRows(*parameter, range, shape); !text.empty())
        made.notes.push_back(std::move(text));
    });
  }
  const bool has_made_floats = std::ranges::any_of(module.entry().parameters(), [&](const Instruction* parameter) {
    return !given.contains(parameter->parameter_number()) && HasFloats(parameter->shape());
  });
  double first_share = 0;  // Non-finite share at scale 1.
  for (made.tries = 1;; ++made.tries) {
    made.values = TRY(MakeAll(module, ranges, given, options, made.scale));
    if (!options.interpret) return made;
    made.reference = TRY(options.interpret(made.values));
    Finiteness counts;
    Count(*made.reference, counts);
    made.non_finite_share =
        counts.floats == 0 ? 0 : static_cast<double>(counts.non_finite) / static_cast<double>(counts.floats);
    if (made.tries == 1) first_share = made.non_finite_share;
    const bool tightenable = has_made_floats && !options.range &&
                             (options.profile == InputProfile::kNormal || options.profile == InputProfile::kEdge ||
                              options.profile == InputProfile::kTies || options.profile == InputProfile::kCancel ||
                              options.profile == InputProfile::kLong);
    if (made.non_finite_share <= 0.01 || !tightenable || made.tries > options.max_tries) {
      if (counts.constant_outputs > 0 && !made.values.empty())
        made.notes.push_back(
            Str(counts.constant_outputs, counts.constant_outputs == 1 ? " output is" : " outputs are", " constant"));
      if (made.scale != 1 && made.non_finite_share >= first_share) {
        made.notes.push_back(Str("results are not finite, even with generated floats scaled by ", made.scale));
        made.scale = 1;
        made.values = TRY(MakeAll(module, ranges, given, options, made.scale));
        made.reference = TRY(options.interpret(made.values));
      } else if (made.scale != 1) {
        made.notes.push_back(Str("generated floats scaled by ", made.scale, " to keep results finite"));
      }
      return made;
    }
    made.scale /= 2;
  }
}

Result<std::vector<Literal>> MakeArguments(const Module& module, const ArgumentOptions& options) {
  return TRY(MakeArgumentsChecked(module, options)).values;
}

}  // namespace hlo
