#include "judge/compare/widened_values.h"

#include <algorithm>

#include "base/text.h"
#include "ir/module.h"

namespace hlo {
namespace {

// Made-up operands can prove agreement up to this share of uninformative bounds.
constexpr double kMostVacuousToDecide = 0.1;

}  // namespace

void Classify(const Instruction& inst, const TensorComparison& tensor, int64_t checked, int64_t by_bits, int64_t opened,
              WidenedValue& value) {
  const auto is_much = [](int64_t count, double share, int64_t of) {
    return static_cast<double>(count) > share * static_cast<double>(of);
  };
  const int64_t undetermined = tensor.Count(ElementClass::kUndetermined),
                vacuous = tensor.Count(ElementClass::kVacuous),
                silent = tensor.zero_expected + tensor.inf_expected + tensor.nan_expected;
  if (tensor.verdict == Verdict::kInconclusive) {
    const bool by_passes = is_much(opened, kMostUndetermined, checked),
               is_undetermined = is_much(undetermined, kMostUndetermined, tensor.checked);
    if (value.open.empty() || (by_passes && !value.opened))
      value.open = by_passes ? Str(opened, " of ", checked, " elements of '", inst.name(),
                                   "' are determined before the passes, but not after them")
                             : Str(is_undetermined ? undetermined : vacuous, " of ", tensor.checked, " elements of ",
                                   inst.opcode(), " '", inst.name(), "' ",
                                   is_undetermined ? "undetermined" : "with bounds that are too wide");
    value.opened |= by_passes;
  }
  value.by_bits |= is_much(by_bits, kMostUndetermined, checked);
  value.is_partial |= undetermined + by_bits > 0;
  value.is_vague |= is_much(vacuous, kMostVacuousToDecide, tensor.checked);
  value.is_silent &= tensor.checked > 1 && silent == tensor.checked;
}

void DecideByValues(WidenedResult& result) {
  const auto opened = std::ranges::find_if(result.values, &WidenedValue::opened);
  const auto open = opened != result.values.end()
                        ? opened
                        : std::ranges::find_if(result.values, [](const WidenedValue& v) { return !v.open.empty(); });
  if (open == result.values.end()) return;
  result.verdict = Verdict::kInconclusive;
  result.opened = open->opened;
  result.reason = open->open;
  const auto count = std::ranges::count_if(result.values, [](const WidenedValue& v) { return !v.open.empty(); });
  if (count > 1) result.reason += Str("; ", count - 1, " more");
}

}  // namespace hlo
