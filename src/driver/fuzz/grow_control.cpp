#include "base/text.h"
#include "driver/fuzz/grower.h"

namespace hlo {
namespace {

using enum PrimitiveType;

void SetSomeRoot(Grower& g, bool tuple) {
  std::vector<Instruction*> values;
  for (Instruction* inst : g.Unused()) {
    if (inst->shape().IsArray()) values.push_back(inst);
  }
  if (values.empty()) values.push_back(&g.PickOf(IsArrayType));
  if (!tuple) return g.computation().SetRoot(*values.back());
  Operands results(values.end() - std::min<int64_t>(3, std::ssize(values)), values.end());
  g.computation().SetRoot(g.computation().AddTuple(results));
}

bool GrowCall(Grower& g, Opcode opcode) {
  if (g.scalars_only() || g.depth() >= g.most_depth() || g.budget() < 3) return false;
  const int64_t count = std::max<int64_t>(2, g.budget() / 3);
  Operands operands;
  Computation& callee = g.InOpenComputation("callee", &operands, [&] {
    g.GrowSome(count);
    SetSomeRoot(g, g.chance.Percent(30));
  });
  g.SetBudget(g.budget() - count);
  Instruction& inst = g.Add(opcode, operands, CallAttrs{.to_apply = &callee});
  g.SetInterval(inst, {-1e300, 1e300});
  g.Keep(inst);
  return true;
}

bool GrowFusion(Grower& g, Opcode opcode) {
  if (g.scalars_only() || g.depth() >= g.most_depth() || g.budget() < 3) return false;
  const std::vector<GrowRow> rows = [] {
    std::vector<GrowRow> all;
    for (const std::span<const GrowRow> family : {ElementwiseRows(), MovementRows()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  Operands operands;
  const int64_t count = g.chance.Between(1, 6);
  Computation& fused = g.InOpenComputation("fused", &operands, [&] {
    for (int64_t i = 0; i < count; ++i) {
      const GrowRow& row = rows[g.chance.Below(std::ssize(rows))];
      if (row.kernels || g.wide()) row.grow(g, row.opcode);
    }
    // A fusion must have no dead instructions, not even a parameter.
    const auto unused = [&] {
      std::vector<Instruction*> ends = g.Unused();
      for (Instruction* parameter : g.computation().parameters()) {
        if (parameter->users().empty()) ends.push_back(parameter);
      }
      return ends;
    };
    std::vector<Instruction*> ends = unused();
    while (ends.size() > 1 && g.chance.Percent(85)) {
      Instruction& a = *ends[0];
      Instruction& b = g.Adapt(*ends[1], a.shape().type(), a.shape().dims());
      Instruction& merged = g.Add(a.shape().type() == kPred ? Opcode::kXor : Opcode::kAdd, {&a, &b});
      g.SetInterval(merged, {-1e300, 1e300});
      g.Keep(merged);
      ends = unused();
    }
    if (ends.empty()) ends.push_back(&g.PickOf(IsArrayType));
    g.computation().SetRoot(ends.size() == 1 ? *ends[0] : g.computation().AddTuple(Operands(ends.begin(), ends.end())));
  });
  Instruction& inst = g.Add(opcode, operands, FusionAttrs{.kind = FusionKind::kLoop, .calls = &fused});
  g.SetInterval(inst, {-1e300, 1e300});
  g.Keep(inst);
  return true;
}

bool GrowMap(Grower& g, Opcode opcode) {
  if (g.scalars_only()) return false;
  Instruction& x = g.PickOf([](PrimitiveType type) { return !IsComplex(type); }, 1);
  Operands operands = {&x};
  for (int64_t more = g.chance.Below(2); more > 0; --more) operands.push_back(&g.Any(g.AnyType(), x.shape().dims()));
  MapAttrs attrs;
  for (int64_t i = 0; i < x.shape().rank(); ++i) attrs.dimensions.push_back(i);
  const std::span<const GrowRow> rows = ElementwiseRows();
  attrs.to_apply = &g.InComputation("mapped", [&] {
    g.SetScalarsOnly();
    for (const Instruction* operand : operands) g.Keep(g.Parameter(Shape::Scalar(operand->shape().type())));
    for (int64_t i = g.chance.Between(1, 4); i > 0; --i) {
      const GrowRow& row = rows[g.chance.Below(std::ssize(rows))];
      if (row.kernels || g.wide()) row.grow(g, row.opcode);
    }
    SetSomeRoot(g, false);
  });
  Instruction& inst = g.Add(opcode, operands, attrs);
  g.SetInterval(inst, {-1e300, 1e300});
  g.Keep(inst);
  return true;
}

// The state is (counter, bound, values...). The body keeps values within the limits of their types.
bool GrowWhile(Grower& g, Opcode opcode) {
  if (g.scalars_only() || g.depth() >= g.most_depth() || g.budget() < 4) return false;
  const PrimitiveType counter = g.chance.OneOf({kS32, kS32, kS32, kU32, kS64});
  Instruction* bound = &g.Scalar(counter, static_cast<double>(g.chance.Between(0, 5)));
  if (g.chance.Percent(30)) {
    Instruction& low = g.Scalar(counter, 0);
    bound = &g.Add(Opcode::kClamp, {&low, &g.Any(counter, {}), bound});
  }
  Operands state = {&g.Scalar(counter, 0), bound};
  for (int64_t i = g.chance.Between(1, 3); i > 0; --i) state.push_back(&g.PickOf(IsArrayType));
  Instruction& init = g.computation().AddTuple(state);
  const int64_t count = std::max<int64_t>(2, g.budget() / 3);
  g.SetBudget(g.budget() - count);
  Computation& condition = g.InComputation("condition", [&] {
    Instruction& now = g.Parameter(init.shape());
    Instruction& i = g.computation().AddGetTupleElement(now, 0);
    Instruction& n = g.computation().AddGetTupleElement(now, 1);
    g.computation().SetRoot(g.Add(Opcode::kCompare, {&i, &n}, CompareAttrs{ComparisonDirection::kLt}));
  });
  Computation& body = g.InComputation("body", [&] {
    Instruction& now = g.Parameter(init.shape());
    Instruction& i = g.computation().AddGetTupleElement(now, 0);
    Instruction& n = g.computation().AddGetTupleElement(now, 1);
    for (int64_t k = 2; k < std::ssize(state); ++k) {
      Instruction& value = g.computation().AddGetTupleElement(now, k);
      const double limit = Grower::LimitOf(value.shape().type());
      g.SetInterval(value, {-limit, limit});
      g.Keep(value);
    }
    if (g.chance.Percent(60)) g.Keep(i);
    g.GrowSome(count);
    Operands results = {&g.Add(Opcode::kAdd, {&i, &g.Scalar(counter, 1)}), &n};
    for (int64_t k = 2; k < std::ssize(state); ++k) {
      const Shape& shape = state[k]->shape();
      results.push_back(&g.Bounded(g.Any(shape.type(), shape.dims()), Grower::LimitOf(shape.type())));
    }
    g.computation().SetRoot(g.computation().AddTuple(results));
  });
  Instruction& inst = g.Add(opcode, {&init}, WhileAttrs{&condition, &body});
  g.SetInterval(inst, {-1e300, 1e300});
  g.Keep(inst);
  return true;
}

bool GrowConditional(Grower& g, Opcode opcode) {
  if (g.scalars_only() || g.depth() >= g.most_depth() || g.budget() < 4) return false;
  const bool two = g.chance.Percent(60);
  const int64_t branches = two ? 2 : g.chance.Between(1, 3);
  Operands operands = {&g.Any(two ? kPred : kS32, {})};
  std::vector<Shape> results;
  for (int64_t i = g.chance.Between(1, 2); i > 0; --i)
    results.push_back(g.PickOf(IsArrayType).shape().WithDefaultLayout());
  const bool tuple = results.size() > 1 || g.chance.Percent(30);
  const int64_t count = std::max<int64_t>(1, g.budget() / 6);
  std::vector<Computation*> made;
  for (int64_t branch = 0; branch < branches; ++branch) {
    Instruction* operand = &g.PickOf(IsArrayType);
    if (g.chance.Percent(40)) operand = &g.computation().AddTuple({operand, &g.PickOf(IsArrayType)});
    operands.push_back(operand);
    made.push_back(&g.InComputation("branch", [&] {
      Instruction& given = g.Parameter(operand->shape());
      if (given.shape().IsTuple()) g.SetInterval(given, {-1e300, 1e300});
      if (given.shape().IsArray()) {
        g.Keep(given);
      } else {
        for (int64_t i = 0; i < std::ssize(given.shape().elements()); ++i) {
          Instruction& part = g.computation().AddGetTupleElement(given, i);
          const double limit = Grower::LimitOf(part.shape().type());
          g.SetInterval(part, {-limit, limit});
          g.Keep(part);
        }
      }
      g.GrowSome(count);
      Operands values;
      for (const Shape& shape : results)
        values.push_back(&g.Bounded(g.Any(shape.type(), shape.dims()), Grower::LimitOf(shape.type())));
      g.computation().SetRoot(tuple ? g.computation().AddTuple(values) : *values[0]);
    }));
  }
  g.SetBudget(g.budget() - count);
  ConditionalAttrs attrs;
  if (two) {
    attrs.true_computation = made[0];
    attrs.false_computation = made[1];
  } else {
    attrs.branch_computations = made;
  }
  Instruction& inst = g.Add(opcode, operands, attrs);
  g.SetInterval(inst, {-1e300, 1e300});
  g.Keep(inst);
  return true;
}

bool GrowTuple(Grower& g, Opcode) {
  if (g.scalars_only()) return false;
  Instruction& a = g.PickOf(IsArrayType);
  Instruction& b = g.PickOf(IsArrayType);
  Instruction& inner = g.computation().AddTuple({&a, &b});
  Instruction* outer = &inner;
  if (g.chance.Percent(50)) {
    Instruction& tuple = g.computation().AddTuple({&inner, &b});
    outer = &g.computation().AddGetTupleElement(tuple, 0);
  }
  Instruction& part = g.computation().AddGetTupleElement(*outer, g.chance.Below(2));
  g.SetInterval(part, {-1e300, 1e300});
  g.Keep(part);
  return true;
}

}  // namespace

std::span<const GrowRow> ControlRows() {
  static constexpr GrowRow kRows[] = {
      {Opcode::kCall, 2, true, GrowCall},
      {Opcode::kFusion, 2, true, GrowFusion},
      {Opcode::kMap, 2, true, GrowMap},
      {Opcode::kWhile, 4, true, GrowWhile},
      {Opcode::kConditional, 3, true, GrowConditional},
      {Opcode::kTuple, 2, true, GrowTuple},
  };
  return kRows;
}

}  // namespace hlo
