// Compares the arrays of two values.
#ifndef HLO_JUDGE_COMPARE_LEAVES_H_
#define HLO_JUDGE_COMPARE_LEAVES_H_

#include <span>
#include <vector>

#include "judge/compare/compare.h"
#include "judge/compare/leaf.h"

namespace hlo {

Literal WidenAny(const Literal& literal);
void Collect(const ShadowValue& expected, const Literal& actual, ShapeIndex index, std::vector<Leaf>& leaves);
TensorComparison CompareLeaf(const Leaf& leaf, const CompareOptions& options);
Comparison Together(std::vector<TensorComparison> tensors);

void MarkParts(const Literal& literal, Comparison& comparison);

double RmsOf(double squares, int64_t count);
double SquaresOf(const Literal& values);

}  // namespace hlo

#endif  // HLO_JUDGE_COMPARE_LEAVES_H_
