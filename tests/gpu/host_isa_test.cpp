// Tests that the instruction set level of kernels never changes results.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>

#include "base/text.h"
#include "ir/verifier/verifier.h"
#include "parser/parser.h"
#include "tests/gpu/emitters_harness.h"
#include "tests/gpu/host_isa_levels.h"

namespace hlo::gpu {
namespace {

constexpr PrimitiveType kTypes[] = {
    PrimitiveType::kPred, PrimitiveType::kS8,  PrimitiveType::kS16, PrimitiveType::kS32, PrimitiveType::kS64,
    PrimitiveType::kU8,   PrimitiveType::kU16, PrimitiveType::kU32, PrimitiveType::kU64, PrimitiveType::kF16,
    PrimitiveType::kBF16, PrimitiveType::kF32, PrimitiveType::kF64};
constexpr int64_t kElements = 75;  // Whole vectors of all widths, and a remainder.

std::vector<OpRow> ScalarOps() {
  std::vector<OpRow> ops;
  std::ranges::copy_if(AllOps(), std::back_inserter(ops),
                       [](const OpRow& op) { return (op.traits & kElementwise) != 0; });
  return ops;
}

template <class T>
std::vector<std::string_view> WordsOf() {
  if constexpr (std::is_same_v<T, bool>) return {"false", "true"};
  else if constexpr (std::is_enum_v<T>) return {std::begin(EnumWords<T>::kWords), std::end(EnumWords<T>::kWords)};
  else return {};
}

// The attributes of an op in every combination that changes its results. Numbers are samples.
std::vector<std::string> AttributesOf(const OpRow& op) {
  if (op.text == "reduce-precision")
    return {", exponent_bits=4, mantissa_bits=5", ", exponent_bits=8, mantissa_bits=0"};
  std::vector<std::string> all = {""};
  Visit(op.make_attrs(), [&]<class Struct>(const Struct&) {
    ForEachField<Struct>([&](const auto& field) {
      const std::vector<std::string_view> words = WordsOf<std::remove_cvref_t<decltype(Struct().*field.member)>>();
      std::vector<std::string> more;
      for (const std::string& before : all) {
        for (const std::string_view word : words)
          // An empty word means that the attribute is not written.
          more.push_back(word.empty() ? before : Str(before, ", ", field.name, "=", word));
      }
      if (!more.empty()) all = std::move(more);
    });
  });
  return all;
}

struct Variant {
  PrimitiveType to;
  std::string attributes;
};

std::string ModuleOf(const OpRow& op, PrimitiveType from, std::span<const Variant> variants) {
  std::string text = "ENTRY e {";
  std::vector<std::string> names;
  for (int i = 0; i < op.arity; ++i) {
    const bool is_condition = op.text == "select" && i == 0;
    names.push_back(Str("p", i));
    text += Str(" p", i, " = ", is_condition ? PrimitiveType::kPred : from, "[", kElements, "] parameter(", i, ")");
  }
  std::vector<std::string> roots, shapes;
  for (const Variant& variant : variants) {
    roots.push_back(Str("r", roots.size()));
    shapes.push_back(Str(variant.to, "[", kElements, "]"));
    text += Str(" ", roots.back(), " = ", shapes.back(), " ", op.text, "(", Join(names, ", "), ")", variant.attributes);
  }
  return text + Str(" ROOT t = (", Join(shapes, ", "), ") tuple(", Join(roots, ", "), ") }");
}

// The variants that are valid and have a kernel.
std::vector<Variant> VariantsOf(const OpRow& op, PrimitiveType from) {
  std::vector<Variant> variants;
  for (const PrimitiveType to : kTypes) {
    for (const std::string& attributes : AttributesOf(op)) {
      const Variant variant[] = {{to, attributes}};
      const auto module = Parse(std::make_shared<SourceText>("test.hlo", ModuleOf(op, from, variant)));
      if (module && Verify(**module) && Emit(Fused(ModuleOf(op, from, variant))->entry().root()))
        variants.push_back(variant[0]);
    }
  }
  return variants;
}

void ExpectSameBits(const Literal& a, const Literal& b) {
  for (int64_t i = 0; i < a.shape().NumElements(); ++i) {
    const int64_t width = ByteWidth(a.shape().type());
    if (std::memcmp(a.raw() + i * width, b.raw() + i * width, width) == 0) continue;
    const double x = a.GetDouble(i), y = b.GetDouble(i);
    EXPECT_TRUE(std::isnan(x) && std::isnan(y))
        << "element " << i << " of " << a.shape().ToString() << ": " << x << ", " << y;
  }
}

// The loader of kernels must also know each function that LLVM calls for an op (codegen/jit.cpp).
TEST(HostIsa, EveryScalarOpHasTheSameBitsAtEveryLevel) {
  size_t cells = 0;
  std::vector<std::string_view> left_out;
  for (const OpRow& op : ScalarOps()) {
    const size_t before = cells;
    for (const PrimitiveType from : kTypes) {
      const std::vector<Variant> variants = VariantsOf(op, from);
      if (variants.empty()) continue;
      cells += variants.size();
      const std::string text = ModuleOf(op, from, variants);
      SCOPED_TRACE(text);
      const auto module = Fused(text);
      const std::vector<Literal> inputs = MakeInputs(*module, Inputs::kReals);
      const auto emulated = RunKernels(*module, inputs, On::kEmulator);
      ASSERT_TRUE(emulated) << emulated.error().message();
      AtEveryHostIsa([&] {
        // Kernels compiled with little effort and with full effort must both have these bits.
        for (const On effort : {On::kHostQuickly, On::kHost}) {
          const auto host = RunKernels(*module, inputs, effort);
          ASSERT_TRUE(host) << host.error().message();
          for (size_t i = 0; i < variants.size(); ++i) ExpectSameBits(host->elements()[i], emulated->elements()[i]);
        }
      });
    }
    if (cells == before) left_out.push_back(op.text);
  }
  EXPECT_GE(cells, 600u);
  // tests/gpu/emitters_types_test.cpp tests these two ops, which need complex numbers or a second type besides floats.
  EXPECT_EQ(left_out, (std::vector<std::string_view>{"complex", "stochastic-convert"}))
      << "an op that no module here uses: its attributes, in AttributesOf";
}

}  // namespace
}  // namespace hlo::gpu
