// Judges modules by the comparator for passes that are not exact (judge/compare/widened.h), for tests. A function
// changes the module as a pass would.
#ifndef HLO_TESTS_JUDGE_COMPARE_WIDENED_CASES_H_
#define HLO_TESTS_JUDGE_COMPARE_WIDENED_CASES_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "interp/arguments/arguments.h"
#include "judge/compare/widened.h"
#include "parser/parser.h"

namespace hlo {

constexpr const char* kModule = R"(HloModule m
add {
  a = bf16[] parameter(0)
  b = bf16[] parameter(1)
  ROOT s = bf16[] add(a, b)
}
double {
  d = bf16[6,8] parameter(0)
  ROOT dd = bf16[6,8] add(d, d)
}
ENTRY main {
  x = bf16[6,8] parameter(0)
  y = bf16[6,8] parameter(1)
  c = bf16[] constant(3)
  cs = bf16[6,8] broadcast(c), dimensions={}
  p = bf16[6,8] multiply(x, cs)
  q = bf16[6,8] add(p, y)
  e = bf16[6,8] exponential(q)
  f = bf16[6,8] call(e), to_apply=double
  zero = bf16[] constant(0)
  sum = bf16[6] reduce(f, zero), dimensions={1}, to_apply=add
  ROOT t = (bf16[6,8], bf16[6]) tuple(q, sum)
})";

inline std::unique_ptr<Module> Parsed(std::string text) {
  auto module = Parse(std::make_shared<SourceText>("test.hlo", std::move(text)));
  EXPECT_TRUE(module.has_value()) << (module ? "" : module.error().message());
  return module ? std::move(*module) : nullptr;
}

inline Instruction* Named(const Module& module, std::string_view name) {
  for (const Computation* computation : module.Computations()) {
    for (Instruction* inst : computation->Instructions()) {
      if (inst->name() == name) return inst;
    }
  }
  return nullptr;
}

inline WidenedResult Widened(const std::function<void(Module&)>& pass, const char* text = kModule,
                             const WidenedOptions& options = {}) {
  const auto module = Parsed(text);
  const auto optimized = module->Clone(/*as_input=*/true);
  pass(*optimized);
  const auto args = MakeArguments(*module);
  EXPECT_TRUE(args.has_value());
  auto result = CompareWidened(*module, *optimized, *args, options);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().message());
  if (!result) return {};
  if (result->finding) {  // The finding refers to modules that die here.
    result->reason = ToString(*result);
  }
  return std::move(*result);
}

}  // namespace hlo

#endif  // HLO_TESTS_JUDGE_COMPARE_WIDENED_CASES_H_
