// Compares cached data of a computation with newly computed data, and changes of many instructions at once with single
// changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/side_effects.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

const Shape kShape(PrimitiveType::kF32, {2, 3});

std::vector<std::string> Names(const std::vector<Instruction*>& list) {
  std::vector<std::string> names;
  for (const Instruction* inst : list) names.emplace_back(inst->name());
  return names;
}

// A module of adds whose operands are earlier values and a parameter with many users. The root uses the last value.
std::unique_ptr<Module> RandomModule(int adds, uint32_t seed) {
  auto module = std::make_unique<Module>("random");
  Computation& main = module->AddComputation("main");
  module->SetEntry(main);
  std::mt19937 random(seed);
  std::vector<Instruction*> values = {&main.AddParameter(0, kShape)};
  for (int i = 0; i < adds; ++i) {
    Instruction& a = *values[random() % 2 == 0 ? 0 : random() % values.size()];
    values.push_back(&main.Add(Opcode::kAdd, kShape, {&a, values[random() % values.size()]}));
  }
  main.SetRoot(main.Add(Opcode::kNegate, kShape, {values.back()}));
  return module;
}

std::vector<Instruction*> Dead(const Computation& computation) {
  const std::vector<Instruction*> order = computation.PostOrder();
  std::vector<bool> needed(computation.place_limit());
  needed[computation.root().place()] = true;
  std::vector<Instruction*> dead;
  for (size_t i = order.size(); i-- > 0;) {
    if (!needed[order[i]->place()] && !order[i]->Is(Opcode::kParameter)) {
      dead.push_back(order[i]);
      continue;
    }
    for (const Instruction* operand : order[i]->operands()) needed[operand->place()] = true;
  }
  return dead;
}

TEST(Computation, RemoveAllEqualsRepeatedRemove) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const auto at_once = RandomModule(200, seed), one_by_one = RandomModule(200, seed);
    std::vector<Instruction*> dead = Dead(at_once->entry());
    ASSERT_FALSE(dead.empty());
    std::ranges::reverse(dead);  // RemoveAll accepts the instructions in any order.
    at_once->entry().RemoveAll(dead);
    for (Instruction* inst : Dead(one_by_one->entry())) one_by_one->entry().Remove(*inst);
    const std::vector<Instruction*> left = at_once->entry().Instructions(), model = one_by_one->entry().Instructions();
    ASSERT_EQ(Names(left), Names(model));
    for (size_t i = 0; i < left.size(); ++i) {
      const Users users = left[i]->users(), others = model[i]->users();
      EXPECT_EQ(Names({users.begin(), users.end()}), Names({others.begin(), others.end()}));
      EXPECT_EQ(left[i]->UseCount(), model[i]->UseCount());
    }
    at_once->Sweep();
    EXPECT_TRUE(Verify(*at_once).has_value());
  }
}

TEST(Computation, RemoveParametersRenumbersTheOthers) {
  constexpr int kParameters = 50'000;
  Module module("parameters");
  Computation& main = module.AddComputation("main");
  module.SetEntry(main);
  std::vector<bool> goes(kParameters);
  for (int i = 0; i < kParameters; ++i) {
    main.AddParameter(i, kShape);
    goes[i] = i % 3 != 0;
  }
  main.SetRoot(main.parameter(0));
  main.RemoveParameters(goes);
  ASSERT_EQ(std::ssize(main.parameters()), (kParameters + 2) / 3);
  for (int64_t i = 0; i < std::ssize(main.parameters()); ++i) {
    ASSERT_EQ(main.parameter(i).parameter_number(), i);
    ASSERT_EQ(main.parameter(i).name(), "param_" + std::to_string(3 * i));
  }
}

TEST(Computation, PostOrderFollowsChanges) {
  const auto module = RandomModule(300, 1);
  Computation& main = module->entry();
  std::mt19937 random(2);
  for (int step = 0; step < 100; ++step) {
    // A new instruction replaces an operand of earlier ones, so the order of creation is no longer a valid order.
    const std::vector<Instruction*> all = main.PostOrder();
    Instruction& old = *all[random() % all.size()];
    if (step % 3 == 0) {
      Instruction& fresh = main.Add(Opcode::kNegate, kShape, {&main.parameter(0)});
      if (&old != &main.parameter(0)) old.ReplaceAllUses(fresh);
    } else if (step % 3 == 1) {
      main.RemoveAll(Dead(main));
    } else if (step % 10 == 2) {
      main.SetOrder(main.PostOrder());
    } else {
      module->Sweep();
    }
    ASSERT_EQ(Names(main.PostOrder()), Names(module->Clone()->entry().PostOrder()));
  }
}

TEST(Computation, SideEffectsAndCalleesFollowChanges) {
  Module module("calls");
  // The chain of calls is f.0 <- f.1 <- ... <- main.
  std::vector<Computation*> chain;
  for (int i = 0; i < 5; ++i) {
    Computation& f = module.AddComputation("f");
    Instruction& x = f.AddParameter(0, kShape);
    if (i > 0) f.SetRoot(f.Add(Opcode::kCall, kShape, {&x}, CallAttrs{.to_apply = chain.back()}));
    chain.push_back(&f);
  }
  module.SetEntry(*chain.back());
  EXPECT_FALSE(module.entry().HasSideEffect());
  EXPECT_EQ(module.PostOrder(), chain);
  CustomCallAttrs effect;
  effect.has_side_effect = true;
  Instruction& send = chain[0]->Add(Opcode::kCustomCall, kShape, {}, effect);
  EXPECT_TRUE(module.entry().HasSideEffect());
  EXPECT_TRUE(HasSideEffect(module.entry().root()));
  EXPECT_FALSE(IsSideEffect(module.entry().root()));
  chain[0]->Remove(send);
  EXPECT_FALSE(HasSideEffect(module.entry().root()));
  chain[3]->root().mutable_attrs<CallAttrs>().to_apply = chain[0];
  EXPECT_EQ(module.PostOrder(), (std::vector<Computation*>{chain[0], chain[3], chain[4]}));
  EXPECT_EQ(chain[3]->Callees(), std::vector<Computation*>{chain[0]});
  module.RemoveUnreachable();
  EXPECT_EQ(std::ssize(module.Computations()), 3);
}

TEST(Literal, TreatsNonzeroBytesAsTrue) {
  Literal literal(Shape(PrimitiveType::kPred, {3}));
  const uint8_t left[] = {0, 255, 1};
  std::ranges::copy(left, literal.mutable_data<uint8_t>().begin());
  const Literal bools = Literal::Tuple({literal}).WithBools();
  EXPECT_EQ(bools.elements()[0].data<uint8_t>()[0], 0);
  EXPECT_EQ(bools.elements()[0].data<uint8_t>()[1], 1);
  EXPECT_EQ(bools.elements()[0].data<uint8_t>()[2], 1);
  EXPECT_EQ(literal.data<uint8_t>()[1], 255) << "shared bytes are another's";
}

}  // namespace
}  // namespace hlo
