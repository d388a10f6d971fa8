// Comparison of values, and what is reported of it.
//
// `local` (the verdict): a kernel's actual outputs against the shadow evaluated from its actual inputs, each element
// within its own derived bound. `tolerance`: against a reference, by a table or stated bounds. `bitwise`. What
// each is for: docs/comparison.md#judges; the reports: docs/reports.md.
#ifndef HLO_INTERP_COMPARE_COMPARE_H_
#define HLO_INTERP_COMPARE_COMPARE_H_

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "ir/literal.h"
#include "ir/precision_plan.h"

namespace hlo {

class Computation;
struct ShadowValue;
struct WorkMeter;

enum class ElementClass : uint8_t {
  kExact,         // The very value.
  kWithin,        // Within the bound.
  kSuspicious,    // Within the bound, but beyond what roundings do in all likelihood.
  kViolation,     // No permitted implementation gives this.
  kUndetermined,  // The bound leaves more than one outcome.
  kVacuous,  // Within a bound so wide that it says nothing: more than a quarter of the value and of the tensor's rms.
};
inline constexpr int kElementClasses = 6;
std::string_view ToString(ElementClass element_class);

// Shares of the elements above which nothing is decided.
inline constexpr double kMostUndetermined = 0.01, kMostVacuous = 0.5;

enum class Verdict : uint8_t { kMatch, kMismatch, kInconclusive, kUnsupported };
// "MATCH", "MISMATCH", "INCONCLUSIVE(reason)", "UNSUPPORTED(what)".
std::string VerdictText(Verdict verdict, std::string_view reason);
ExitCode ExitCodeOf(Verdict verdict);
// Several verdicts make one: the worst, in the order unsupported, mismatch, inconclusive, match.
Verdict Worse(Verdict a, Verdict b);

// One element worth showing. Numbers are those of the widened values; `expected` of `local` is the exact value.
struct ElementReport {
  int64_t linear = 0;  // Row-major.
  std::vector<int64_t> index;
  ElementClass element_class = ElementClass::kExact;
  double expected = 0, actual = 0;
  double bound = 0;                                // Of `local` and `tolerance`: what |actual - expected| may be.
  double abs_error = 0, rel_error = 0, ratio = 0;  // ratio: abs_error / bound.
  int64_t ulps = 0;                                // Steps of the output's type between actual and expected.
  std::string actual_bits;                         // 0x...
};

struct TensorComparison {
  ShapeIndex output;
  std::string key;  // Of an array of a file, in the place of the index.
  Shape shape;
  bool of_complex = false;            // The numbers are the parts of complex ones: `shape` is [.., 2].
  int64_t elements = 0, checked = 0;  // checked < elements: a sample.
  std::array<int64_t, kElementClasses> counts = {};
  // Over the checked elements where both sides are finite. norm_rel: ||actual - expected|| / ||expected||.
  double max_abs = 0, max_rel = 0, rms_rel = 0, norm_rel = 0;
  int64_t max_ulps = 0;
  double worst_ratio = 0, median_ratio = 0;  // |actual - expected| / bound, where the bound is not 0.
  int64_t worst_element = -1;                // Row-major; of the worst ratio, or of a violation without one.
  int64_t nan_actual = 0, nan_expected = 0, inf_actual = 0, inf_expected = 0, zero_actual = 0, zero_expected = 0;
  // Elements whose expected value is finite.
  int64_t nan_for_finite = 0, inf_for_finite = 0;
  double max_abs_bad = 0, max_rel_bad = 0;  // Over violations: the bounds that would pass; infinity: none does.
  std::vector<ElementReport> worst;         // NaN and infinity first, then by `top_by`.
  std::string where;                        // Of the violations: "dim 1 in [960,999], all of dim 0 (40 of 1000)".
  std::map<int, int64_t> error_decades;     // Of the violations, by floor(log10 |error|).
  std::map<int, int64_t> ulp_bins;          // 0, 1, 2, then by powers of two (upper ends).
  std::map<int, int64_t> ratio_bins;        // By floor(log2 ratio); 1024: infinite.
  std::vector<std::string> looks_like;      // "PARTIAL TILE: ..."; of the violations.
  bool heuristic = false;                   // The bound of an arbitrary reducer, which is not proven.
  int64_t disproved = 0;  // Elements with the interpreter's bits and beyond their bound: there the bound is wrong.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Of kInconclusive; of kMismatch only if the sizes at run time differ.

  int64_t Count(ElementClass c) const { return counts[static_cast<int>(c)]; }
  int64_t bad() const { return Count(ElementClass::kViolation); }
  std::string ShapeText() const;  // As the module has it.
};

struct Comparison {
  std::vector<TensorComparison> outputs;  // By leaf, depth first.
  Verdict verdict = Verdict::kMatch;
  std::string reason;

  int64_t elements() const;
  int64_t checked() const;
  int64_t Count(ElementClass c) const;
  int64_t bad() const { return Count(ElementClass::kViolation); }
  double worst_ratio() const;
};

enum class TopBy : uint8_t { kRel, kAbs, kUlp, kIndex, kRatio };

struct CompareOptions {
  int64_t max_mismatches = 5;  // Rows kept for each output.
  TopBy top_by = TopBy::kRel;
  bool strict_nan = false;  // NaNs compare by their bits where the bound is 0.
};

struct LocalOptions : CompareOptions {
  const PrecisionPlan* plan = nullptr;
  int64_t work_limit = 0;  // Scalar steps; above it a sample of the outputs is checked. 0: all, whatever it takes.
  // ShadowOptions::meter; a kernel that takes more is not supported.
  WorkMeter* meter = nullptr;
  int64_t max_loop_iterations = 1'000'000;  // 0: no limit.
  uint64_t seed = 0;
  // The interpreter computes the kernel first, or the sample of it unless a dot or convolution is in it. An element
  // with its bits is right, also beyond a bound. Bounds are computed only if the kernel has other bits somewhere.
  bool interpret = false;
};

// One kernel: `computation` is what it computes (a fusion's computation), `inputs` what it was given, `actual` what it
// gave. An op without error bounds gives the verdict kUnsupported, with the reason; errors are left for what is wrong
// with the arguments or with us.
Result<Comparison> CompareLocal(const Computation& computation, std::span<const Literal> inputs, const Literal& actual,
                                const LocalOptions& options = {});
// Against a value with bounds. Elements with the bits of `interpreted`, if given, are right.
Comparison CompareWithBounds(const ShadowValue& expected, const Literal& actual, const CompareOptions& options = {},
                             const Literal* interpreted = nullptr);
// Values of `shape` at some points, by leaf: row-major indices, ascending. Both sides have those alone.
Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options = {},
                         const Literal* interpreted = nullptr);

// ---- Against a reference
// ---------------------------------------------------------------------------------------------

struct Tolerance {
  // With `both`, an element is bad when it breaks both bounds (XLA's rule); else bad when |a - e| > abs + rel |e|.
  double abs = 0, rel = 0;
  bool both = false;
  std::optional<int64_t> max_ulps;  // Extra acceptance.
  bool fewer_infs_ok = false;       // Largest finite may stand for infinity.
};
// The bounds for what nobody has a plan of, by type; `rms` of the reference tensor.
Tolerance DefaultTolerance(PrimitiveType type, double rms);
Tolerance XlaTolerance();  // 1e-3 absolute or relative, as in XLA's runner.

// `tolerance` empty: the table, by each output's type.
Comparison CompareTolerance(const Literal& expected, const Literal& actual,
                            const std::optional<Tolerance>& tolerance = {}, const CompareOptions& options = {});
// The same bits; NaNs of any payload are equal unless `strict_nan`.
Comparison CompareBitwise(const Literal& expected, const Literal& actual, const CompareOptions& options = {});

// ---- Reports
// ---------------------------------------------------------------------------------------------------------

// The table of outputs; `mismatch` adds columns: how many are bad, NaN on either side. Each line ends with '\n'.
std::string OutputTable(const Comparison& comparison, bool mismatch);
// Worst elements, where, looks like: for one output with violations.
std::string Details(const TensorComparison& tensor);
// "0 undetermined, 0 vacuous, 0 sampled": what a PASS line must state.
std::string CoverageText(const Comparison& comparison);
void WriteJson(JsonWriter& json, const Comparison& comparison);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_COMPARE_H_
