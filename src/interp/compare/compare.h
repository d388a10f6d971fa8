// Comparison of values, and its reports.
//
// `local` judges a kernel: its actual outputs are compared with the shadow of its actual inputs, each element within
// its own derived bound. `tolerance` compares with a reference, by a table or given bounds. `bitwise` compares bits.
// Purposes: docs/comparison.md#judges. Reports: docs/reports.md.
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
  kExact,         // Equal to the expected value.
  kWithin,        // Within the bound.
  kSuspicious,    // Within the bound, but larger than the likely error.
  kViolation,     // No permitted implementation gives this value.
  kUndetermined,  // The bound permits more than one outcome.
  kVacuous,       // Within an uninformative bound: more than a quarter of the value and of the tensor's rms.
};
inline constexpr int kElementClasses = 6;
std::string_view ToString(ElementClass element_class);

// Limits on the shares of undetermined and vacuous elements. Above them, the verdict is inconclusive.
inline constexpr double kMostUndetermined = 0.01, kMostVacuous = 0.5;

enum class Verdict : uint8_t { kMatch, kMismatch, kInconclusive, kUnsupported };
// "MATCH", "MISMATCH", "INCONCLUSIVE(reason)", "UNSUPPORTED(what)".
std::string VerdictText(Verdict verdict, std::string_view reason);
ExitCode ExitCodeOf(Verdict verdict);
// The worse of two verdicts. From worst to best: unsupported, mismatch, inconclusive, match.
Verdict Worse(Verdict a, Verdict b);

// A reported element. Numbers are in f64. In `local`, `expected` is the exact value.
struct ElementReport {
  int64_t linear = 0;  // Row-major index.
  std::vector<int64_t> index;
  ElementClass element_class = ElementClass::kExact;
  double expected = 0, actual = 0;
  double bound = 0;                                // Limit on |actual - expected| in `local` and `tolerance`.
  double abs_error = 0, rel_error = 0, ratio = 0;  // ratio: abs_error / bound.
  int64_t ulps = 0;                                // Steps of the output's type between actual and expected.
  std::string actual_bits;                         // 0x...
};

struct TensorComparison {
  ShapeIndex output;
  std::string key;  // Key of an array in a file, which replaces the index.
  Shape shape;
  bool of_complex = false;            // The numbers are the parts of complex numbers, and `shape` is [.., 2].
  int64_t elements = 0, checked = 0;  // A sample has checked < elements.
  std::array<int64_t, kElementClasses> counts = {};
  // Statistics of the checked elements that are finite on both sides. norm_rel: ||actual - expected|| / ||expected||.
  double max_abs = 0, max_rel = 0, rms_rel = 0, norm_rel = 0;
  int64_t max_ulps = 0;
  double worst_ratio = 0, median_ratio = 0;  // Quotients |actual - expected| / bound, for bounds other than 0.
  int64_t worst_element = -1;                // Row-major index of the worst ratio, or of a violation without a ratio.
  int64_t nan_actual = 0, nan_expected = 0, inf_actual = 0, inf_expected = 0, zero_actual = 0, zero_expected = 0;
  // Counts of NaN and infinity where the expected value is finite.
  int64_t nan_for_finite = 0, inf_for_finite = 0;
  double max_abs_bad = 0, max_rel_bad = 0;  // The tolerances that would accept all violations. Infinity if none does.
  std::vector<ElementReport> worst;         // The worst elements: NaN and infinity first, then sorted by `top_by`.
  std::string where;                     // Position of the violations: "dim 1 in [960,999], all of dim 0 (40 of 1000)".
  std::map<int, int64_t> error_decades;  // Violations by floor(log10 |error|).
  std::map<int, int64_t> ulp_bins;       // Elements by distance in ulps: 0, 1, 2, then the upper ends of powers of two.
  std::map<int, int64_t> ratio_bins;     // Elements by floor(log2 ratio). 1024 means infinite.
  std::vector<std::string> looks_like;   // Known mistakes that the violations resemble: "PARTIAL TILE: ...".
  bool heuristic = false;                // The bound is for a reducer of unknown kind and is not proven.
  int64_t disproved = 0;  // Elements with the interpreter's bits beyond their bound. The bound is wrong there.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Reason of kInconclusive. kMismatch has a reason only if the sizes at run time differ.

  int64_t Count(ElementClass c) const { return counts[static_cast<int>(c)]; }
  int64_t bad() const { return Count(ElementClass::kViolation); }
  std::string ShapeText() const;  // The shape as the module declares it.
};

struct Comparison {
  std::vector<TensorComparison> outputs;  // One entry for each leaf, depth first.
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
  int64_t max_mismatches = 5;  // Limit on reported elements of each output.
  TopBy top_by = TopBy::kRel;
  bool strict_nan = false;  // NaNs are compared by their bits if the bound is 0.
};

struct LocalOptions : CompareOptions {
  const PrecisionPlan* plan = nullptr;
  int64_t work_limit = 0;  // Limit in scalar steps. Above it, a sample of the outputs is checked. 0 means no limit.
  // See ShadowOptions::meter. A kernel that exceeds it is unsupported.
  WorkMeter* meter = nullptr;
  int64_t max_loop_iterations = 1'000'000;  // 0 means no limit.
  uint64_t seed = 0;
  // The interpreter first computes the kernel, or the sample unless it contains a dot or convolution. An element with
  // the interpreter's bits is right, even beyond a bound. Bounds are computed only if some element has other bits.
  bool interpret = false;
};

// Judges one kernel. `computation` is its meaning, such as a fusion's computation. `inputs` and `actual` are its actual
// inputs and results. An op without error bounds gives kUnsupported with a reason. Errors are for wrong arguments and
// internal failures.
Result<Comparison> CompareLocal(const Computation& computation, std::span<const Literal> inputs, const Literal& actual,
                                const LocalOptions& options = {});
// Compares with a value with bounds. Elements with the bits of `interpreted` are right, if it is given.
Comparison CompareWithBounds(const ShadowValue& expected, const Literal& actual, const CompareOptions& options = {},
                             const Literal* interpreted = nullptr);
// Compares a sample of values of `shape`. `points` has the ascending row-major indices for each leaf. Both sides
// contain only these elements.
Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options = {},
                         const Literal* interpreted = nullptr);

// ---- Comparisons with a reference -----------------------------------------------------------------------------------

struct Tolerance {
  // If `both`, an element is wrong if it exceeds both bounds, as in XLA. Otherwise it is wrong if |a - e| > abs + rel
  // |e|.
  double abs = 0, rel = 0;
  bool both = false;
  std::optional<int64_t> max_ulps;  // Elements within this distance are also accepted.
  bool fewer_infs_ok = false;       // The largest finite number is accepted in place of infinity.
};
// Tolerances for values without a precision plan, by type. `rms` is the root mean square of the reference.
Tolerance DefaultTolerance(PrimitiveType type, double rms);
Tolerance XlaTolerance();  // 1e-3, absolute or relative, as in XLA's runner.

// If `tolerance` is empty, the table gives it for each output's type.
Comparison CompareTolerance(const Literal& expected, const Literal& actual,
                            const std::optional<Tolerance>& tolerance = {}, const CompareOptions& options = {});
// Requires equal bits. Any two NaNs are equal unless `strict_nan`.
Comparison CompareBitwise(const Literal& expected, const Literal& actual, const CompareOptions& options = {});

// ---- Reports --------------------------------------------------------------------------------------------------------

// The table of outputs. `mismatch` adds the numbers of wrong elements and NaNs. Each line ends with '\n'.
std::string OutputTable(const Comparison& comparison, bool mismatch);
// The worst elements, their positions and the mistakes that they resemble, for one output with violations.
std::string Details(const TensorComparison& tensor);
// "0 undetermined, 0 vacuous, 0 sampled". Each PASS line contains this.
std::string CoverageText(const Comparison& comparison);
void WriteJson(JsonWriter& json, const Comparison& comparison);

}  // namespace hlo

#endif  // HLO_INTERP_COMPARE_COMPARE_H_
