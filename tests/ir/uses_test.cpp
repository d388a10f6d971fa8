// After random changes, compares users and operands with those of a simple model that searches lists. Instructions have
// few or many users.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "ir/module.h"
#include "ir/verifier/verifier.h"

namespace hlo {
namespace {

const Shape kShape(PrimitiveType::kF32, {2, 3});

// The expected users(): each user once, in the order in which they began to use the value.
class Model {
 public:
  void Begin(Instruction& user) {
    for (Instruction* operand : user.operands()) Add(*operand, user);
  }
  void Add(Instruction& operand, Instruction& user) {
    std::vector<Instruction*>& users = users_[&operand];
    if (std::ranges::find(users, &user) == users.end()) users.push_back(&user);
  }
  void End(Instruction& operand, Instruction& user) { std::erase(users_[&operand], &user); }
  std::vector<Instruction*> Of(Instruction& inst) { return users_[&inst]; }

 private:
  std::map<const Instruction*, std::vector<Instruction*>> users_;
};

void ExpectUsers(Computation& computation, Model& model) {
  for (Instruction* inst : computation.Instructions()) {
    const std::vector<Instruction*> users(inst->users().begin(), inst->users().end());
    ASSERT_EQ(users, model.Of(*inst)) << inst->name();
    ASSERT_EQ(inst->users().size(), users.size());
    int64_t count = 0;
    for (const Instruction* user : users) count += std::ranges::count(user->operands(), inst);
    ASSERT_EQ(inst->UseCount(), count) << inst->name();
  }
}

// Changes operands at random in a module of `values` parameters and of tuples with `width` operands. Most users use the
// first `hubs` parameters.
void ChangeAtRandom(int values, int hubs, int width, int steps, uint32_t seed) {
  Module module("uses");
  Computation& main = module.AddComputation("main");
  module.SetEntry(main);
  Model model;
  std::mt19937 random(seed);
  std::vector<Instruction*> all;
  for (int i = 0; i < values; ++i) all.push_back(&main.AddParameter(i, kShape));
  const auto any = [&]() -> Instruction& { return *all[random() % (random() % 2 == 0 ? hubs : values)]; };
  std::vector<Instruction*> tuples;
  const auto add_tuple = [&] {
    Operands operands;
    for (int i = 0; i < width; ++i) operands.push_back(&any());
    tuples.push_back(&main.AddTuple(operands));
    model.Begin(*tuples.back());
  };
  for (int i = 0; i < 60; ++i) add_tuple();
  main.SetRoot(*tuples.front());

  for (int step = 0; step < steps; ++step) {
    Instruction& tuple = *tuples[random() % tuples.size()];
    switch (random() % 8) {
      case 0: add_tuple(); break;
      case 1: {
        if (tuple.IsRoot() || !tuple.IsDead()) break;
        const std::vector<Instruction*> operands(tuple.operands().begin(), tuple.operands().end());
        for (Instruction* operand : operands) model.End(*operand, tuple);
        std::erase(tuples, &tuple);
        main.Remove(tuple);
        break;
      }
      case 2: {
        Instruction &from = any(), &to = any();
        if (&from == &to) break;
        for (Instruction* user : model.Of(from)) {
          model.End(from, *user);
          model.Add(to, *user);
        }
        from.ReplaceAllUses(to);
        break;
      }
      default: {
        const int64_t i = static_cast<int64_t>(random() % width);
        Instruction &before = tuple.operand(i), &now = any();
        tuple.SetOperand(i, now);
        if (std::ranges::find(tuple.operands(), &before) == tuple.operands().end()) model.End(before, tuple);
        model.Add(now, tuple);
      }
    }
    if (step % 50 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(ExpectUsers(main, model)) << "step " << step;
  }
  ExpectUsers(main, model);
  const auto copy = module.Clone();
  EXPECT_EQ(Fingerprint(*copy), Fingerprint(module));
  EXPECT_TRUE(Verify(*copy)) << "of the copy";
}

TEST(Uses, AreCorrectWithFewUsersAndOperands) { ChangeAtRandom(12, 3, 3, 5000, 1); }
TEST(Uses, AreCorrectWithManyUsers) { ChangeAtRandom(12, 1, 2, 5000, 2); }
TEST(Uses, AreCorrectWithManyOperands) { ChangeAtRandom(60, 4, 40, 5000, 3); }

// Fingerprints of unchanged computations are cached, and must equal new ones.
TEST(Fingerprints, FollowChanges) {
  Module module("prints");
  Computation& main = module.AddComputation("main");
  module.SetEntry(main);
  Instruction& x = main.AddParameter(0, kShape);
  Instruction& y = main.AddParameter(1, kShape);
  Instruction& sum = main.Add(Opcode::kAdd, kShape, {&x, &y});
  Instruction& product = main.Add(Opcode::kMultiply, kShape, {&x, &sum});
  main.SetRoot(product);
  Fingerprinter fingerprints;
  uint64_t before = fingerprints.FingerprintOf(module);
  const auto expect_another = [&](const char* change) {
    const uint64_t now = fingerprints.FingerprintOf(module);
    EXPECT_NE(now, before) << change;
    EXPECT_EQ(now, Fingerprint(module)) << change;
    before = now;
  };
  EXPECT_EQ(fingerprints.FingerprintOf(module), before);
  product.SetOperand(0, y);
  expect_another("operand");
  main.SetRoot(sum);
  expect_another("root");
  sum.SetShape(Shape(PrimitiveType::kF32, {3, 2}));
  expect_another("shape");
  sum.SetShape(kShape);
  expect_another("shape again");
  sum.ReplaceAllUses(x);
  expect_another("uses");
  main.SetOrder({&y, &x, &sum, &product});
  expect_another("order");
  product.AddControlPredecessor(sum);
  expect_another("control predecessor");
  product.ClearControlPredecessors();
  expect_another("no control predecessor");
  Instruction& constant = main.AddConstant(Literal::Scalar(PrimitiveType::kF32, 1.0));
  expect_another("new");
  constant.SetLiteral(Literal::Scalar(PrimitiveType::kF32, 2.0));
  expect_another("literal");
  constant.mutable_attrs<ConstantAttrs>().literal.SetDouble(0, 3.0);
  expect_another("literal's bytes");
  main.Remove(constant);
  expect_another("removed");
  module.header.is_scheduled = true;
  expect_another("schedule");
}

}  // namespace
}  // namespace hlo
