// Makes the factor rule of one op. Dimensions without a factor become `whole`.
#ifndef HLO_IR_FACTORS_RULE_BUILDER_H_
#define HLO_IR_FACTORS_RULE_BUILDER_H_

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "ir/dimensions.h"
#include "ir/factors/factor_rules.h"
#include "ir/instruction.h"

namespace hlo {

// A dimension of an operand's leaf, or of the result.
struct Spot {
  static constexpr int64_t kResult = -1;
  int64_t operand = 0, dim = 0, leaf = 0;
};
inline Spot InOperand(int64_t operand, int64_t dim) { return {operand, dim}; }
inline Spot InResult(int64_t dim, int64_t leaf = 0) { return {Spot::kResult, dim, leaf}; }

class RuleBuilder {
 public:
  explicit RuleBuilder(const Instruction& inst);

  // Appends a factor, as the minor one, to the dimensions at `spots`. Does nothing for a size of at most 1.
  void Add(Factor factor, std::span<const Spot> spots);
  void Add(Factor factor, std::initializer_list<Spot> spots) { Add(std::move(factor), std::vector<Spot>(spots)); }
  void AddFree(int64_t size, std::span<const Spot> spots) { Add({.size = size, .kind = FactorKind::kFree}, spots); }
  void AddFree(int64_t size, std::initializer_list<Spot> spots) { AddFree(size, std::vector<Spot>(spots)); }
  void AddWhole(int64_t size, std::initializer_list<Spot> spots) { Add({.size = size}, spots); }
  // Adds a kFree factor if the only window reads just the element at the same place, otherwise a kWindow.
  void AddWindows(int64_t size, std::vector<FactorWindow> windows);

  FactorRule Finish(std::string why_whole = "");

 private:
  DimFactors& At(Spot spot);
  void Append(Factor factor, std::span<const Spot> spots);
  void FillWhole(int64_t operand, const Shape& shape, std::vector<LeafFactors>& leaves);

  const Instruction& inst_;
  FactorRule rule_;
};

std::vector<const Shape*> LeavesOf(const Shape& shape);

// Whether the window at each position holds only the element at this position.
bool IsTrivial(const WindowDim& window);

}  // namespace hlo

#endif  // HLO_IR_FACTORS_RULE_BUILDER_H_
