// Bounds of reduce-window by gathering and reducing each window (docs/comparison.md#sums).
#include <memory>
#include <unordered_map>

#include "judge/bounds/window_places.h"

namespace hlo::shadow {
namespace {

// Limit on the elements of all windows.
constexpr int64_t kMostPlaces = int64_t{1} << 24;

// A reducer (acc..., has, element..., has) -> (acc..., has) that applies `reducer` to two values, or returns the only
// one. A missing element at the edge is not an initial value.
Computation& WherePresent(const Computation& reducer, Module& module) {
  Computation& computation = module.AddComputation("where_present");
  const size_t arity = reducer.parameters().size() / 2;
  std::unordered_map<const Instruction*, Instruction*> map;
  std::vector<Instruction*> sides[2];
  Instruction* has[2];
  int64_t number = 0;
  for (size_t side = 0; side < 2; ++side) {
    for (size_t i = 0; i < arity; ++i) {
      const Instruction* parameter = reducer.parameters()[side * arity + i];
      sides[side].push_back(map[parameter] = &computation.AddParameter(number++, parameter->shape()));
    }
    has[side] = &computation.AddParameter(number++, Shape(PrimitiveType::kPred, {}));
  }
  for (const Instruction* inst : reducer.PostOrder()) {
    if (inst->Is(Opcode::kParameter)) continue;
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst->operands()) operands.push_back(map[operand]);
    map[inst] = &computation.AddClone(*inst, inst->shape(), operands);
  }
  Instruction* const combined = map[&reducer.root()];
  Instruction& both = computation.Add(Opcode::kAnd, has[0]->shape(), {has[0], has[1]});
  std::vector<Instruction*> results;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < arity; ++i) {
    const Shape& shape = shapes.emplace_back(sides[0][i]->shape());
    Instruction* of_both = combined;
    if (combined->shape().IsTuple())
      of_both = &computation.Add(Opcode::kGetTupleElement, shape, {combined}, IndexAttrs{static_cast<int64_t>(i)});
    Instruction& one = computation.Add(Opcode::kSelect, shape, {has[0], sides[0][i], sides[1][i]});
    results.push_back(&computation.Add(Opcode::kSelect, shape, {&both, of_both, &one}));
  }
  results.push_back(&computation.Add(Opcode::kOr, has[0]->shape(), {has[0], has[1]}));
  shapes.push_back(has[0]->shape());
  computation.SetRoot(computation.Add(Opcode::kTuple, Shape::Tuple(shapes), results));
  return computation;
}

ShadowValue Known(Literal literal) {
  ShadowValue value;
  value.shape = literal.shape();
  value.exact = std::move(literal);
  return value;
}

}  // namespace

Result<ShadowValue> ReduceWindowByReducer(Context& context, const Instruction& inst, Operands operands) {
  const ReduceWindowAttrs& attrs = inst.attrs<ReduceWindowAttrs>();
  const size_t arity = operands.size() / 2;
  const Shape& first = inst.shape().IsTuple() ? inst.shape().element(0) : inst.shape();
  const int64_t places = Windows::MostAtAll(attrs.window, operands[0]->shape.dims());
  const int64_t outputs = first.NumElements();
  if (places > kMostPlaces / std::max<int64_t>(1, outputs))
    FAIL(UnsupportedAt(inst, "U042",
                       Str("no error bounds for a reduce-window with the computation '", attrs.to_apply->name(),
                           "' over ", outputs, " windows of ", places, " elements")));
  std::vector<int64_t> dims = first.dims();
  dims.push_back(places);
  const Shape windows(PrimitiveType::kPred, dims);
  std::vector<int64_t> at(outputs * places, -1);
  Literal has(windows);
  const Windows window(attrs.window, operands[0]->shape.dims(), first.dims());
  for (int64_t o = 0; o < outputs; ++o) {
    int64_t next = o * places;
    window.ForEach(o, [&](int64_t i) {
      has.SetInt(next, 1);
      at[next++] = i;
    });
  }

  Module module("windows");
  Computation& entry = module.AddComputation("entry");
  std::vector<ShadowValue> values, starts;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < arity; ++i) {
    values.push_back(Take(*operands[i], at, dims, operands[arity + i]));
    starts.push_back(*operands[arity + i]);
    shapes.push_back(first.WithType(operands[i]->shape.type()));
  }
  Literal yes(Shape(PrimitiveType::kPred, {}));
  yes.SetInt(0, 1);
  values.push_back(Known(std::move(has)));
  starts.push_back(Known(std::move(yes)));
  shapes.push_back(first.WithType(PrimitiveType::kPred));
  std::vector<Instruction*> parameters;
  std::vector<const ShadowValue*> args;
  for (std::vector<ShadowValue>* list : {&values, &starts}) {
    for (const ShadowValue& value : *list) {
      parameters.push_back(&entry.AddParameter(std::ssize(args), value.shape));
      args.push_back(&value);
    }
  }
  ReduceAttrs reduce_attrs;
  reduce_attrs.dimensions = {first.rank()};
  reduce_attrs.to_apply = &WherePresent(*attrs.to_apply, module);
  const Instruction& reduce = entry.Add(Opcode::kReduce, Shape::Tuple(shapes), parameters, std::move(reduce_attrs));

  // The plan and cut points are for another module.
  ShadowOptions options = context.options;
  options.given = nullptr;
  if (!context.ftz()) options.plan = nullptr;
  Context inner = {.options = options, .top = context.top, .heuristic = context.heuristic, .depth = context.depth};
  ShadowValue result = TRY(Reduce(inner, reduce, args));
  context.heuristic = inner.heuristic;
  result.elements.pop_back();
  if (inst.shape().IsTuple()) {
    result.shape = inst.shape();
    return result;
  }
  ShadowValue only = std::move(result.elements[0]);
  only.shape = inst.shape();
  return only;
}

}  // namespace hlo::shadow
