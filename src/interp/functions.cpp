#include "interp/functions.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "interp/formulas.h"

namespace hlo {
namespace {

constexpr double kInf = FunctionFacts::kInf;
constexpr bool kFloat = false, kFloatOrComplex = true;

constexpr FloatFunction kFunctions[] = {
#define FLOAT_FUNCTION(Name, types, of_x, course, ...) \
  {Opcode::k##Name,                                    \
   [](double x) -> double { return of_x; },            \
   [](long double x) -> long double { return of_x; },  \
   types,                                              \
   Course::course,                                     \
   {__VA_ARGS__}},
#include "interp/functions.def"
};

static_assert(std::ranges::all_of(kFunctions,
                                  [](const FloatFunction& function) {
                                    const auto& [low, high] = function.facts.samples;
                                    return -kInf < low && low < high && high < kInf;
                                  }),
              "a row of interp/functions.def without samples");

constexpr FloatFunctionOfTwo kFunctionsOfTwo[] = {
#define FLOAT_FUNCTION_OF_TWO(Name, of_x_and_y, ...)                         \
  {Opcode::k##Name, [](double x, double y) -> double { return of_x_and_y; }, \
   [](long double x, long double y) -> long double { return of_x_and_y; }, __VA_ARGS__},
#include "interp/functions.def"
};

}  // namespace

std::span<const FloatFunctionOfTwo> FloatFunctionsOfTwo() { return kFunctionsOfTwo; }

std::span<const FloatFunction> FloatFunctions() { return kFunctions; }

const FloatFunction* FloatFunctionOf(Opcode opcode) {
  const auto found = std::ranges::find(kFunctions, opcode, &FloatFunction::opcode);
  return found == std::end(kFunctions) ? nullptr : found;
}

}  // namespace hlo
