// What is known of an elementwise op besides its row in ops.def stands in tables that have a default: these are where
// it must not be left to that. Each failure names the file.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "driver/fuzz/grower.h"
#include "interp/interpreter.h"
#include "interp/shadow/shadow.h"
#include "ir/cost.h"
#include "ir/fusion.h"
#include "ir/module.h"
#include "ir/shapes/shape_rules.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

constexpr int64_t kElements = 512;

// The op on parameters of `type`, with its smallest attributes; null where HLO has no such use.
std::unique_ptr<Module> Use(Opcode opcode, PrimitiveType type) {
  auto module = std::make_unique<Module>("use");
  Computation& entry = module->AddComputation("entry");
  module->SetEntry(entry);
  std::vector<Instruction*> operands;
  const Shape shape(type, {kElements});
  for (int64_t i = 0; i < RowOf(opcode).arity; ++i) operands.push_back(&entry.AddParameter(i, shape));
  entry.SetRoot(entry.Add(opcode, shape, operands, RowOf(opcode).make_attrs()));
  return Verify(*module, VerifyLevel::kStrict) ? std::move(module) : nullptr;
}

// Numbers of 12 bits in [low, low + 1), where every function has a value for one of the ranges tried.
std::vector<Literal> Arguments(const Module& module, double low) {
  std::vector<Literal> arguments;
  for (const Instruction* parameter : module.entry().parameters()) {
    Literal literal(parameter->shape());
    for (int64_t i = 0; i < kElements; ++i) literal.SetDouble(i, low + ((37 * i + 11) % 4096 + 1) * 0x1p-12);
    arguments.push_back(std::move(literal));
  }
  return arguments;
}

// Is there a result that f32 does not have?
bool Rounds(Opcode opcode) {
  const auto narrow = Use(opcode, PrimitiveType::kF32), wide = Use(opcode, PrimitiveType::kF64);
  for (const double low : {0.0, 1.0}) {
    const auto in_f32 = Interpret(*narrow, Arguments(*narrow, low)), in_f64 = Interpret(*wide, Arguments(*wide, low));
    if (!in_f32 || !in_f64) continue;
    for (int64_t i = 0; i < kElements; ++i) {
      const double x = in_f32->GetDouble(i), y = in_f64->GetDouble(i);
      if (std::isfinite(x) && std::isfinite(y) && x != y) return true;
    }
  }
  return false;
}

bool IsGrown(Opcode opcode) {
  for (const std::span<const GrowRow> family : {ElementwiseRows(), MovementRows(), IndexingRows(), ReductionRows(),
                                                ContractionRows(), ControlRows(), LinearRows()}) {
    if (std::ranges::find(family, opcode, &GrowRow::opcode) != family.end()) return true;
  }
  return false;
}

TEST(OpKnowledge, OfElementwiseOpsIsComplete) {
  int rounding = 0, functions = 0;
  for (int k = 0; k < std::ssize(AllOps()); ++k) {
    const auto opcode = static_cast<Opcode>(k);
    const std::string op = Str("'", ToString(opcode), "' ");
    EXPECT_FALSE(RowOf(opcode).prose.empty()) << op << "has no sentence in src/ir/ops.def";
    if ((RowOf(opcode).traits & kElementwise) == 0) continue;
    EXPECT_TRUE(IsGrown(opcode)) << op << "is in no random module: src/driver/fuzz/grow_elementwise.cpp";
    const auto module = Use(opcode, PrimitiveType::kF32);
    if (module == nullptr) continue;
    const auto shadow = EvaluateShadow(module->entry(), Arguments(*module, 0));
    EXPECT_TRUE(shadow.has_value()) << op << "has no bound: src/interp/shadow/functions.cpp or what stands beside it";
    if (!Rounds(opcode)) continue;
    ++rounding;
    const double ulps = DefaultUlps(opcode, PrimitiveType::kF32);
    EXPECT_GE(ulps, 0.5) << op << "rounds, and its row in src/ir/ops.def says exact";
    if (ulps <= 0.5) continue;
    ++functions;
    EXPECT_GT(InstructionCost(module->entry().root()), 1) << op << "costs what an add does: src/ir/ops.def";
    EXPECT_GT(CostAnalysis(*module).Of(module->entry().root()).transcendentals, 0)
        << op << "is no function in src/ir/ops.def";
  }
  EXPECT_GT(rounding, 20);
  EXPECT_GT(functions, 15);
}

}  // namespace
}  // namespace hlo
