// Comparison of values, and its reports.
//
// `local` compares a kernel's outputs with the shadow of its actual inputs, each element within its derived bound.
// `tolerance` compares with a reference, by a table or given bounds. `bitwise` compares bits. Purposes:
// docs/comparison.md#judges. Reports: docs/reports.md.
#ifndef HLO_JUDGE_COMPARE_COMPARE_H_
#define HLO_JUDGE_COMPARE_COMPARE_H_

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/enum_words.h"
#include "base/json.h"
#include "base/result.h"
#include "ir/literal.h"
#include "ir/precision_plan.h"

namespace hlo {

class Computation;
struct ShadowValue;
struct WorkMeter;

enum class ElementClass : uint8_t {
  kExact,
  kWithin,
  kSuspicious,    // Within the bound, but beyond the likely bound.
  kViolation,     // No permitted implementation gives this value.
  kUndetermined,  // The bound permits more than one outcome.
  kVacuous,       // Within an uninformative bound: over a quarter of the value and of the rms.
};
inline constexpr int kElementClasses = 6;
std::string_view ToString(ElementClass element_class);

// Above these shares of elements, the verdict is inconclusive.
inline constexpr double kMostUndetermined = 0.01, kMostVacuous = 0.5;

enum class Verdict : uint8_t { kMatch, kMismatch, kInconclusive, kUnsupported };
// "MATCH", "MISMATCH", "INCONCLUSIVE(reason)", "UNSUPPORTED(what)".
std::string VerdictText(Verdict verdict, std::string_view reason);
ExitCode ExitCodeOf(Verdict verdict);
// From the worst: unsupported, mismatch, inconclusive, match.
Verdict Worse(Verdict a, Verdict b);

// In `local`, `expected` is the shadow's value.
struct ElementReport {
  int64_t linear = 0;  // Row-major index.
  std::vector<int64_t> index;
  ElementClass element_class = ElementClass::kExact;
  double expected = 0, actual = 0;
  double bound = 0;  // Limit on |actual - expected|.
  double abs_error = 0, rel_error = 0, ratio = 0;
  int64_t ulps = 0;         // Steps of the type between actual and expected.
  std::string actual_bits;  // 0x...
};

struct TensorComparison {
  ShapeIndex output;
  std::string key;  // The key of an array in a file, which replaces `output`.
  Shape shape;
  bool of_complex = false;            // Numbers are parts of complex numbers, and `shape` is [.., 2].
  int64_t elements = 0, checked = 0;  // A sample has checked < elements.
  std::array<int64_t, kElementClasses> counts = {};
  // Errors of determined elements that are finite on both sides. norm_rel: ||actual - expected|| / ||expected||.
  double max_abs = 0, max_rel = 0, rms_rel = 0, norm_rel = 0;
  int64_t max_ulps = 0;
  double worst_ratio = 0, median_ratio = 0;
  int64_t worst_element = -1;  // -1 if none.
  int64_t nan_actual = 0, nan_expected = 0, inf_actual = 0, inf_expected = 0, zero_actual = 0, zero_expected = 0;
  int64_t nan_for_finite = 0, inf_for_finite = 0;
  double max_abs_bad = 0, max_rel_bad = 0;  // Tolerances that would accept all violations, or infinity.
  std::vector<ElementReport> worst;         // NaN and infinity first, then sorted by `top_by`.
  std::string where;                        // "dim 1 in [960,999], all of dim 0 (40 of 1000)".
  std::map<int, int64_t> error_decades;     // Violations by floor(log10 |error|).
  std::map<int, int64_t> ulp_bins;          // Elements by ulps. Keys are the ends of bins: 0, 1, 2, 4, 8.
  std::map<int, int64_t> ratio_bins;        // Counts by floor(log2 ratio). 1024 means infinite.
  std::vector<std::string> looks_like;      // Known mistakes that violations resemble: "PARTIAL TILE: ...".
  bool heuristic = false;                   // The bound is not proven, because the reducer is unknown.
  int64_t disproved = 0;  // Elements with the interpreter's bits beyond their bound. Such bounds are wrong.
  Verdict verdict = Verdict::kMatch;
  std::string reason;  // Set for kInconclusive, or if a size differs at run time.

  int64_t Count(ElementClass c) const { return counts[static_cast<int>(c)]; }
  int64_t bad() const { return Count(ElementClass::kViolation); }
  std::string ShapeText() const;
};

struct Comparison {
  std::vector<TensorComparison> outputs;  // One comparison for each leaf, depth first.
  Verdict verdict = Verdict::kMatch;
  std::string reason;

  int64_t elements() const;
  int64_t checked() const;
  int64_t Count(ElementClass c) const;
  int64_t bad() const { return Count(ElementClass::kViolation); }
  double worst_ratio() const;
};

enum class TopBy : uint8_t { kRel, kAbs, kUlp, kIndex, kRatio };
template <>
struct EnumWords<TopBy> {
  static constexpr std::string_view kWords[] = {"rel", "abs", "ulp", "index", "ratio"};
};

struct CompareOptions {
  int64_t max_mismatches = 5;  // Most reported elements of each output.
  TopBy top_by = TopBy::kRel;
  bool strict_nan = false;  // With a bound of 0, NaNs are compared by their bits.
};

struct LocalOptions : CompareOptions {
  const PrecisionPlan* plan = nullptr;
  int64_t work_limit = 0;  // A check that takes more scalar steps checks a sample. 0 means no limit.
  // See ShadowOptions::meter. A kernel that exceeds it is unsupported.
  WorkMeter* meter = nullptr;
  int64_t max_loop_iterations = 1'000'000;  // 0 means no limit.
  uint64_t seed = 0;
  // Elements with the interpreter's bits are right, even beyond a bound. Bounds are computed only where bits differ. A
  // sample with a dot or convolution is not interpreted.
  bool interpret = false;
};

// Judges one kernel, whose meaning is `computation`. An op without error bounds gives kUnsupported. Errors: wrong
// arguments, internal failures.
Result<Comparison> CompareLocal(const Computation& computation, std::span<const Literal> inputs, const Literal& actual,
                                const LocalOptions& options = {});
// Elements with the bits of `interpreted`, if given, are right.
Comparison CompareWithBounds(const ShadowValue& expected, const Literal& actual, const CompareOptions& options = {},
                             const Literal* interpreted = nullptr);
// `expected` and `actual` contain only the sampled elements. `points` has their ascending row-major indices in each
// leaf of `shape`.
Comparison CompareSample(const ShadowValue& expected, const Literal& actual, const Shape& shape,
                         std::span<const std::vector<int64_t>> points, const CompareOptions& options = {},
                         const Literal* interpreted = nullptr);

// ---- Comparisons with a reference -----------------------------------------------------------------------------------

struct Tolerance {
  // An element is wrong if |a - e| > abs + rel |e|. With `both`, as in XLA, |a - e| must exceed abs and also rel |e|.
  double abs = 0, rel = 0;
  bool both = false;
  std::optional<int64_t> max_ulps;  // Elements within this distance are right, too.
  bool fewer_infs_ok = false;       // Accepts the largest finite number in place of infinity.
};
// The tolerance without a precision plan. `rms` is the root mean square of the reference.
Tolerance DefaultTolerance(PrimitiveType type, double rms);
Tolerance XlaTolerance();  // 1e-3, absolute or relative, as in XLA's runner.

// Each output has its DefaultTolerance if there is no `tolerance`.
Comparison CompareTolerance(const Literal& expected, const Literal& actual,
                            const std::optional<Tolerance>& tolerance = {}, const CompareOptions& options = {});
// Any two NaNs are equal unless `strict_nan`.
Comparison CompareBitwise(const Literal& expected, const Literal& actual, const CompareOptions& options = {});

// ---- Reports --------------------------------------------------------------------------------------------------------

// `mismatch` adds columns for wrong elements and NaNs.
std::string OutputTable(const Comparison& comparison, bool mismatch);
std::string Details(const TensorComparison& tensor);
// "0 undetermined, 0 vacuous, 0 sampled".
std::string CoverageText(const Comparison& comparison);
void WriteJson(JsonWriter& json, const Comparison& comparison);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_COMPARE_H_
