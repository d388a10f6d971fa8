// Random roundings of a run of an ensemble (ensemble.h).
#ifndef HLO_JUDGE_COMPARE_RANDOM_ROUNDINGS_H_
#define HLO_JUDGE_COMPARE_RANDOM_ROUNDINGS_H_

#include <cstdint>
#include <span>
#include <unordered_map>

#include "base/result.h"
#include "ir/literal.h"
#include "judge/compare/ensemble.h"

namespace hlo {

class Instruction;

// The number of devices if they add values, otherwise 1.
double DevicesOfSums(const Module& module);

class RandomRoundings {
 public:
  // `declared` has the types of rounded values, by the instruction's id. A device's sums may be parts of sums over all
  // `devices`, which another program adds in one chain.
  RandomRoundings(const std::unordered_map<int, PrimitiveType>& declared, const EnsembleOptions& options,
                  double devices, int run)
      : declared_(declared), options_(options), devices_(devices), run_(run) {}

  Status Round(const Instruction& inst, std::span<const Literal> operands, Literal& value);
  // Rounds a result that was held in a wider type.
  void Store(const Shape& declared, Literal& value);

 private:
  const std::unordered_map<int, PrimitiveType>& declared_;
  const EnsembleOptions& options_;
  const double devices_;
  const int run_;
  int64_t steps_ = 0;
};

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_RANDOM_ROUNDINGS_H_
