// Makes modules and values for tests of the interpreter.
#ifndef HLO_TESTS_INTERP_VALUES_H_
#define HLO_TESTS_INTERP_VALUES_H_

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/source_text.h"
#include "interp/interpreter.h"
#include "ir/module.h"
#include "parser/parser.h"

namespace hlo {

inline std::unique_ptr<Module> ParseText(const std::string& text) {
  auto module = Parse(std::make_shared<SourceText>("test", text));
  EXPECT_TRUE(module.has_value()) << (module ? "" : Render(module.error(), "test"));
  return module ? std::move(*module) : nullptr;
}

inline Literal Values(PrimitiveType type, const std::vector<int64_t>& dims, const std::vector<double>& values) {
  Literal literal(Shape(type, dims));
  for (size_t i = 0; i < values.size(); ++i) literal.SetDouble(static_cast<int64_t>(i), values[i]);
  return literal;
}

inline Literal Random(const Shape& shape, int seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  Literal literal(shape);
  for (int64_t i = 0; i < shape.NumElements(); ++i) {
    if (IsFloat(shape.type())) literal.SetDouble(i, normal(generator));
    else literal.SetInt(i, static_cast<int64_t>(generator() % 8) - 2);
  }
  return literal;
}

inline std::vector<Literal> RandomArguments(const Module& module) {
  std::vector<Literal> args;
  for (const Instruction* parameter : module.entry().parameters())
    args.push_back(Random(parameter->shape(), static_cast<int>(args.size()) + 1));
  return args;
}

inline std::vector<double> Doubles(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.shape().NumElements(); ++i) values.push_back(literal.GetDouble(i));
  return values;
}

}  // namespace hlo

#endif  // HLO_TESTS_INTERP_VALUES_H_
