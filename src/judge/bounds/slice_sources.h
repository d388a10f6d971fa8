// Which operand elements the wanted results of movements, scatters and reduces need. Private to judge/bounds.
#ifndef HLO_JUDGE_BOUNDS_SLICE_SOURCES_H_
#define HLO_JUDGE_BOUNDS_SLICE_SOURCES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "judge/bounds/slice.h"

namespace hlo::shadow {

// Row-major indices. Elementwise instructions share one list.
using Indices = std::shared_ptr<const std::vector<int64_t>>;
inline Indices Shared(std::vector<int64_t> at) { return std::make_shared<const std::vector<int64_t>>(std::move(at)); }

// Result j of a movement is the next element of the list from[number[j]], with one list for each operand. If `number`
// is empty, all results come from from[0].
struct Origins {
  std::vector<int32_t> number;
  std::vector<Indices> from;
};

// Updates of a scatter that reach wanted results, in order, and the positions of these results.
struct Landings {
  Indices update;
  std::vector<int64_t> on;
};

// Integers that depend only on arguments and constants, such as the start of a slice.
class KnownIntegers {
 public:
  explicit KnownIntegers(const Cone& cone) : cone_(cone) {}

  // Nullopt for a value that is unknown before the slice runs, as in the functions below.
  Result<std::optional<Literal>> Of(const Instruction& inst);

 private:
  Result<std::optional<Literal>> Alone(const Instruction& inst) const;
  Result<std::optional<Literal>> FromOperands(const Instruction& inst) const;

  const Cone& cone_;
  std::unordered_map<const Instruction*, std::optional<Literal>> known_;
};

Result<std::optional<Origins>> OriginsAt(const Instruction& movement, const Indices& wanted, KnownIntegers& known);
Result<std::optional<Landings>> LandingsOn(const Instruction& scatter, const std::vector<int64_t>& wanted,
                                           KnownIntegers& known);
std::vector<int64_t> TermsOf(const Instruction& reduce, const std::vector<int64_t>& wanted);

}  // namespace hlo::shadow

#endif  // HLO_JUDGE_BOUNDS_SLICE_SOURCES_H_
