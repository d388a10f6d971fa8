// Checks whether a module's results are independent of the order of computation. This holds if every intermediate value
// is a multiple of a power of two, and no partial result needs more bits than its type has. Then nothing is rounded,
// and differences are errors. Profile `exact` generates arguments for this check (docs/comparison.md#exact).
#ifndef HLO_JUDGE_BOUNDS_EXACT_PLAN_H_
#define HLO_JUDGE_BOUNDS_EXACT_PLAN_H_

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>

#include "ir/literal.h"

namespace hlo {

class Instruction;

// Every element is a multiple of 2^unit and at most `most`.
struct Magnitude {
  double most = 0;
  int unit = 0;
};

struct ExactOptions {
  bool allow_tf32 = false;  // Products may round f32 operands to tf32.
};

// Observes one interpretation: `Saw` is its `on_value` callback.
class ExactPlan {
 public:
  explicit ExactPlan(const ExactOptions& options = {}) : options_(options) {}

  void Saw(const Instruction& inst, const Literal& value);

  // Why the instruction may round for these operands, or "".
  static std::string WhyRounds(const Instruction& inst, std::span<const Literal> operands, const Literal& value);

  bool exact() const { return reason_.empty(); }
  // The first instruction that may round: "'dot.3' (dot) has sums of at most 2048, which bf16 with 8 bits cannot hold".
  const std::string& reason() const { return reason_; }
  int64_t instructions() const { return instructions_; }
  // False after sums, whose order determines the sign of zero.
  bool zeros_have_signs() const { return !sums_; }

 private:
  void Keep(const Instruction& inst, const Literal& value);
  std::string ReasonOf(const Instruction& inst);
  Magnitude Of(const Instruction& inst);
  std::string Fits(const Instruction& inst, const Magnitude& magnitude, const char* what) const;
  std::string SumFits(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init);
  std::string Folds(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init);
  std::string OfSum(const Instruction& inst);
  std::string OfProduct(const Instruction& inst);
  std::string OfQuotient(const Instruction& inst);
  std::string OfConvert(const Instruction& inst);
  std::string OfReducePrecision(const Instruction& inst);
  std::string OfIota(const Instruction& inst);
  std::string OfProducts(const Instruction& inst);
  std::string OfReduction(const Instruction& inst);
  std::string OfSelectAndScatter(const Instruction& inst);
  std::string OfScatter(const Instruction& inst);
  std::string OfMap(const Instruction& inst);
  std::string OfSort(const Instruction& inst);
  std::string MayRound(const Instruction& inst);

  ExactOptions options_;
  std::unordered_map<const Instruction*, Magnitude> seen_;
  std::string reason_;
  int64_t instructions_ = 0;
  bool sums_ = false;
};

Magnitude MagnitudeOf(const Literal& literal);

}  // namespace hlo

#endif  // HLO_JUDGE_BOUNDS_EXACT_PLAN_H_
