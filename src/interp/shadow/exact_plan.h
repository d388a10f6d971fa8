// Are a module's results the same in whatever order it is computed? They are when each value on the way is a whole
// multiple of a power of two, and so small that no permitted partial result needs more bits than its type has: then
// nothing is ever rounded, and results are equal bit for bit or wrong. Profile `exact` makes arguments for that.
// docs/comparison.md#exact
//
// The bounds are intervals that start anew at every instruction from the values that it was given in one run, so that
// they do not grow with the depth of the program; loops and branches are what they were in that run.
#ifndef HLO_INTERP_SHADOW_EXACT_PLAN_H_
#define HLO_INTERP_SHADOW_EXACT_PLAN_H_

#include <cstdint>
#include <string>
#include <unordered_map>

#include "ir/literal.h"

namespace hlo {

class Instruction;

// All elements are multiples of 2^unit, of at most `most`.
struct Magnitude {
  double most = 0;
  int unit = 0;
};

struct ExactOptions {
  bool allow_tf32 = false;  // Products of f32 may be of operands with 11 bits.
};

// Watches one interpretation: `Saw` is its on_value.
class ExactPlan {
 public:
  explicit ExactPlan(const ExactOptions& options = {}) : options_(options) {}

  void Saw(const Instruction& inst, const Literal& value);

  bool exact() const { return reason_.empty(); }
  // "'dot.3' (dot): its terms add up to at most 2048, and bf16 has 8 bits": the first that may round.
  const std::string& reason() const { return reason_; }
  int64_t instructions() const { return instructions_; }
  // The order of additions, which may be any, decides the sign of a zero.
  bool zeros_have_signs() const { return !sums_; }

 private:
  std::string ReasonOf(const Instruction& inst);
  Magnitude Of(const Instruction& inst);
  std::string Fits(const Instruction& inst, const Magnitude& magnitude, const char* what) const;
  std::string SumFits(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init);
  std::string Folds(const Instruction& inst, const Magnitude& term, double terms, const Magnitude& init);
  // The rules, by op.
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

// Of the elements of an array of integers or floats that are finite.
Magnitude MagnitudeOf(const Literal& literal);

}  // namespace hlo

#endif  // HLO_INTERP_SHADOW_EXACT_PLAN_H_
