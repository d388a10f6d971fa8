// Builds programs for tests of the shadow, and judges results of implementations.
#ifndef HLO_TESTS_JUDGE_COMPARE_SHADOW_CASES_H_
#define HLO_TESTS_JUDGE_COMPARE_SHADOW_CASES_H_

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

#include "interp/interpreter.h"
#include "ir/module.h"
#include "judge/bounds/shadow.h"
#include "judge/compare/compare.h"

namespace hlo {

constexpr PrimitiveType kF32 = PrimitiveType::kF32;

struct Program {
  Module module{"test"};
  Computation& entry = module.AddComputation("entry");
  int64_t parameters = 0;

  Program() { module.SetEntry(entry); }
  Instruction& Parameter(PrimitiveType type, const std::vector<int64_t>& dims) {
    return entry.AddParameter(parameters++, Shape(type, dims));
  }
  Instruction& Op(Opcode opcode, std::vector<Instruction*> operands, Attributes attrs = NoAttrs()) {
    return entry.Add(opcode, operands[0]->shape(), operands, std::move(attrs));
  }
  // A computation with the parameters value, index, next value, next index. It returns the first pair if `direction`
  // holds between the two values, otherwise the second pair.
  Computation& Argmax(ComparisonDirection direction) {
    const Shape value = Shape::Scalar(kF32), index = Shape::Scalar(PrimitiveType::kS32);
    Computation& body = module.AddComputation("argmax");
    Instruction& best = body.AddParameter(0, value);
    Instruction& best_at = body.AddParameter(1, index);
    Instruction& next = body.AddParameter(2, value);
    Instruction& next_at = body.AddParameter(3, index);
    Instruction& keep =
        body.Add(Opcode::kCompare, Shape::Scalar(PrimitiveType::kPred), {&best, &next}, CompareAttrs{direction});
    body.SetRoot(body.AddTuple({&body.Add(Opcode::kSelect, value, {&keep, &best, &next}),
                                &body.Add(Opcode::kSelect, index, {&keep, &best_at, &next_at})}));
    return body;
  }
  Instruction& Scalar(PrimitiveType type, double value) { return entry.AddConstant(Literal::Scalar(type, value)); }
  Instruction& Broadcast(Instruction& x, const std::vector<int64_t>& dims, std::vector<int64_t> dimensions = {}) {
    return entry.Add(Opcode::kBroadcast, Shape(x.shape().type(), dims), {&x}, DimensionsAttrs{std::move(dimensions)});
  }
  Computation& Binary(Opcode opcode, PrimitiveType type) {
    Computation& body = module.AddComputation("combine");
    Instruction& a = body.AddParameter(0, Shape::Scalar(type));
    Instruction& b = body.AddParameter(1, Shape::Scalar(type));
    body.SetRoot(body.Add(opcode, Shape::Scalar(type), {&a, &b}));
    return body;
  }
  Comparison Local(Instruction& root, std::vector<Literal> inputs, const Literal& actual,
                   const LocalOptions& options = {}) {
    entry.SetRoot(root);
    auto comparison = CompareLocal(entry, inputs, actual, options);
    EXPECT_TRUE(comparison.has_value()) << (comparison ? "" : comparison.error().message());
    return comparison ? *comparison : Comparison();
  }
};

inline Literal Floats(const std::vector<int64_t>& dims, const std::function<float(int64_t)>& f) {
  Literal literal(Shape(kF32, dims));
  auto data = literal.mutable_data<float>();
  for (size_t i = 0; i < data.size(); ++i) data[i] = f(i);
  return literal;
}

inline Literal Random(const std::vector<int64_t>& dims, uint32_t seed, float low = -1, float high = 1) {
  std::mt19937 random(seed);
  return Floats(dims, [&](int64_t) { return low + (high - low) * static_cast<float>(random() >> 8) * 0x1p-24f; });
}

inline Literal ToBF16(const Literal& from) {
  Literal to(from.shape().WithType(PrimitiveType::kBF16));
  for (int64_t i = 0; i < from.shape().NumElements(); ++i) to.SetDouble(i, from.GetDouble(i));
  return to;
}

inline DotAttrs MatrixTimesMatrix() { return {.lhs_contracting = {1}, .rhs_contracting = {0}}; }

}  // namespace hlo

#endif  // HLO_TESTS_JUDGE_COMPARE_SHADOW_CASES_H_
