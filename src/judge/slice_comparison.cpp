#include "judge/slice_comparison.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/text.h"
#include "interp/nan_bits.h"
#include "judge/compare/in_parts.h"
#include "judge/compare/joined.h"
#include "judge/compare/made_constants.h"
#include "judge/residues/residues.h"

namespace hlo {
namespace {

using shadow::SlicesOfTwo;
using Kind = SliceOutcome::Kind;

Result<Literal> InterpretSide(const SlicesOfTwo::Side& side, std::span<const Literal> args, InterpretOptions options,
                              NanBits nan_bits = NanBits::kOwn) {
  options.nan_bits = nan_bits;
  return shadow::InterpretSlice(*side.module, side.wanted, args, options);
}

// The differing elements, except those that depend on the bits of NaNs.
Result<std::vector<int64_t>> DifferentOf(const SlicesOfTwo& slices, const Literal& expected, const Literal& actual,
                                         const InterpretOptions& options) {
  std::vector<int64_t> differ = DifferentElements(expected, actual);
  if (differ.empty() || (!ReadsNanBits(*slices.before.module) && !ReadsNanBits(*slices.after.module))) return differ;
  for (const NanBits bits : {NanBits::kPositive, NanBits::kNegative}) {
    for (const bool of_after : {false, true}) {
      const SlicesOfTwo::Side& side = of_after ? slices.after : slices.before;
      const Literal other = TRY(InterpretSide(side, slices.args, options, bits));
      const std::vector<int64_t> depend = DifferentElements(of_after ? actual : expected, other);
      std::erase_if(differ, [&](int64_t element) { return std::ranges::binary_search(depend, element); });
    }
  }
  return differ;
}

Comparison Shown(const SlicesOfTwo& slices, const Shape& shape, const Literal& expected, const Literal& actual,
                 const std::vector<int64_t>& differ, const CompareOptions& options) {
  Literal shown = expected;
  const int64_t width = ByteWidth(expected.shape().type());
  for (const int64_t i : differ)
    std::memcpy(shown.mutable_raw() + i * width, actual.raw() + i * width, static_cast<size_t>(width));
  return CompareSample(ToShadow(expected), shown, shape, {{slices.points}}, options);
}

Result<SliceOutcome> CompareInF64(const SlicesOfTwo& slices, const Instruction& after, const Shape& whole,
                                  const Module& before, const SampleOptions& options) {
  std::vector<int64_t> points = slices.points;
  if (IsComplex(whole.type())) {
    points.clear();
    for (const int64_t point : slices.points) points.insert(points.end(), {2 * point, 2 * point + 1});
  }
  std::vector<ShadowValue> args;
  for (const Literal& arg : slices.args) args.push_back(ToShadow(arg));
  MadeConstants made(before);
  made.AddBefore(*slices.before.module);
  const auto evaluate = [&](const SlicesOfTwo::Side& side, const MadeConstants* rounded) -> Result<ShadowValue> {
    ShadowOptions widened;
    widened.widened = true;
    widened.max_loop_iterations = options.interpret.max_loop_iterations;
    widened.wanted = &side.wanted;
    if (rounded != nullptr) widened.given = [rounded](const Instruction& inst) { return rounded->Of(inst); };
    return TRY(EvaluateShadow(side.module->entry(), std::span<const ShadowValue>(args), widened)).value;
  };
  const auto expected = evaluate(slices.before, nullptr), actual = evaluate(slices.after, &made);
  if (!expected || !actual) return SliceOutcome{.why_open = (!expected ? expected : actual).error().message()};
  int64_t by_bits = 0;
  const ShadowValue joined = Joined(*expected, *actual, &by_bits);
  Comparison comparison = CompareSample(joined, AsLiteral(*actual), InParts(whole), {{points}}, options.compare);
  if (comparison.bad() > 0) return SliceOutcome{.kind = Kind::kDiffers, .comparison = std::move(comparison)};
  if (comparison.verdict == Verdict::kMatch) return SliceOutcome{.kind = Kind::kEqualInF64};
  return SliceOutcome{.why_open = Str("'", after.name(), "': ", comparison.reason)};
}

}  // namespace

Result<SliceOutcome> CompareSlices(const SlicesOfTwo& slices, const Instruction& after, const Shape& shape,
                                   const Module& before, Preserves promise, const SampleOptions& options) {
  const auto expected = InterpretSide(slices.before, slices.args, options.interpret),
             actual = InterpretSide(slices.after, slices.args, options.interpret);
  for (const auto* side : {&expected, &actual}) {
    if (*side) continue;
    if (side->error().exit == ExitCode::kInterrupted || side->error().exit == ExitCode::kInternal) FAIL(side->error());
    return SliceOutcome{.why_open = Str("'", after.name(), "' cannot be computed: ", side->error().message())};
  }
  const std::vector<int64_t> differ = TRY(DifferentOf(slices, *expected, *actual, options.interpret));
  if (differ.empty()) return SliceOutcome{.kind = Kind::kEqualBits};
  const auto different = [&] {
    return SliceOutcome{.kind = Kind::kDiffers,
                        .comparison = Shown(slices, shape, *expected, *actual, differ, options.compare)};
  };
  if (promise == Preserves::kExact) return different();
  if (slices.before.wanted.empty() && slices.after.wanted.empty()) {
    BitsResult residues = TRY(CompareByResidues(*slices.before.module, *slices.after.module, slices.args,
                                                {.interpret = options.interpret, .compare = options.compare}));
    if (residues.verdict == Verdict::kMatch) return SliceOutcome{.kind = Kind::kEqualResidues};
    if (residues.verdict == Verdict::kMismatch && promise == Preserves::kReassociates) return different();
  }
  return CompareInF64(slices, after, shape, before, options);
}

}  // namespace hlo
