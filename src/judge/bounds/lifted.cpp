// Applies a computation of scalars at every index of arrays, for map, reducers and comparators.
//
// Lifting prepends the dimensions of the arrays to those that an instruction has, so that one evaluation serves all
// indices. Instructions that depend on no parameter are not lifted. Loops, branches, and instructions that would become
// another op, as a dynamic-slice becomes a gather, are evaluated index by index.
#include <algorithm>
#include <cstring>
#include <utility>

#include "ir/side_effects.h"
#include "judge/bounds/rules.h"

namespace hlo::shadow {

namespace {

// Excludes a map, whose callee has scalars instead of the operands' shapes.
bool IsCall(const Instruction& inst) { return inst.Is(Opcode::kCall) || inst.Is(Opcode::kFusion); }

// All called computations, callees first, and `computation` last.
std::vector<const Computation*> CalledFirst(const Computation& computation) {
  std::vector<const Computation*> order, stack = {&computation};
  std::unordered_map<const Computation*, bool> done;  // False while the callees are on the stack.
  while (!stack.empty()) {
    const Computation& top = *stack.back();
    const auto [state, is_new] = done.try_emplace(&top, false);
    if (!is_new) {
      stack.pop_back();
      if (!std::exchange(state->second, true)) order.push_back(&top);
      continue;
    }
    for (const Instruction* inst : top.instructions()) {
      if (!IsCall(*inst)) continue;
      const Computation* callee = CalledComputations(*inst).front();
      if (!done.contains(callee)) stack.push_back(callee);
    }
  }
  return order;
}

// Exceeds every limit, and sums of such numbers do not overflow.
constexpr int64_t kMostSteps = int64_t{1} << 48;

bool IsDrawn(const Instruction& inst) {
  return inst.Is(Opcode::kRng) || inst.Is(Opcode::kRngGetAndUpdateState) || HasSideEffect(inst);
}

std::vector<int64_t> MovedUp(const std::vector<int64_t>& numbers, int64_t rank, bool all_first) {
  std::vector<int64_t> moved;
  for (int64_t d = 0; all_first && d < rank; ++d) moved.push_back(d);
  for (const int64_t number : numbers) moved.push_back(number + rank);
  return moved;
}

class Lifter {
 public:
  Lifter(Computation& to, const std::vector<int64_t>& dims,
         const std::unordered_map<const Computation*, Computation*>& lifted)
      : to_(to), dims_(dims), rank_(std::ssize(dims)), lifted_(lifted) {}

  Shape Lift(const Shape& shape) const {
    if (shape.IsArray()) {
      std::vector<int64_t> dims = dims_;
      dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
      return Shape(shape.type(), std::move(dims));
    }
    if (!shape.IsTuple()) return shape;
    std::vector<Shape> elements;
    for (const Shape& element : shape.elements()) elements.push_back(Lift(element));
    return Shape::Tuple(std::move(elements));
  }

  bool IsLifted(const Instruction& inst) const { return is_lifted_.at(&inst); }

  // Adds the lifted form of `inst`. If its op has none, sets `*each_index` and returns a placeholder with the lifted
  // operands and shape, which no rule may evaluate.
  Instruction& Add(const Instruction& inst, bool* each_index) {
    const auto is_lifted = [&](const Instruction* operand) { return IsLifted(*operand); };
    const bool lifts = inst.Is(Opcode::kParameter) || IsDrawn(inst) || std::ranges::any_of(inst.operands(), is_lifted);
    is_lifted_[&inst] = lifts;
    Instruction*& made = map_[&inst];
    if (inst.Is(Opcode::kParameter)) return *(made = &to_.AddParameter(inst.parameter_number(), Lift(inst.shape())));
    std::vector<Instruction*> operands;
    for (const Instruction* operand : inst.operands()) operands.push_back(map_.at(operand));
    if (!lifts) return *(made = &to_.AddClone(inst, inst.shape(), operands));
    made = AddLifted(inst, operands);
    *each_index = made == nullptr;
    if (*each_index) made = &to_.AddClone(inst, Lift(inst.shape()), operands);
    return *made;
  }

  // An instruction that is not lifted is broadcast.
  Instruction& Everywhere(const Instruction& inst) {
    return IsLifted(inst) ? *map_.at(&inst) : Spread(*map_.at(&inst), inst.shape());
  }

 private:
  Instruction& Spread(Instruction& same, const Shape& own) {
    if (own.IsTuple()) {
      std::vector<Instruction*> elements;
      for (int64_t i = 0; i < std::ssize(own.elements()); ++i)
        elements.push_back(&Spread(to_.AddGetTupleElement(same, i), own.element(i)));
      return to_.AddTuple(elements);
    }
    if (!own.IsArray()) return same;
    std::vector<int64_t> along(own.rank());
    for (int64_t d = 0; d < own.rank(); ++d) along[d] = rank_ + d;
    return to_.Add(Opcode::kBroadcast, Lift(own), {&same}, DimensionsAttrs{std::move(along)});
  }

  // Broadcasts a scalar, such as the predicate of a select, over array operands.
  Instruction& Widened(Instruction& scalar, const Shape& own) {
    return to_.Add(Opcode::kBroadcast, Lift(own.WithType(scalar.shape().type())), {&scalar},
                   DimensionsAttrs{MovedUp({}, rank_, true)});
  }

  template <class Attrs>
  Instruction* Clone(const Instruction& inst, const std::vector<Instruction*>& operands, Attrs attrs) {
    Instruction& clone = to_.AddClone(inst, Lift(inst.shape()), operands);
    clone.attributes() = std::move(attrs);
    return &clone;
  }

  Instruction* AddLifted(const Instruction& inst, const std::vector<Instruction*>& as_they_are) {
    std::vector<Instruction*> all;
    for (const Instruction* operand : inst.operands()) all.push_back(&Everywhere(*operand));
    if (inst.Is(kElementwise) || inst.Is(Opcode::kMap)) {
      for (int64_t i = 0; i < inst.operand_count(); ++i) {
        const Shape& own = inst.operand(i).shape();
        if (own.IsScalar() && inst.shape().IsArray() && !inst.shape().IsScalar())
          all[i] = &Widened(*all[i], inst.shape());
      }
      return &to_.AddClone(inst, Lift(inst.shape()), all);
    }
    switch (inst.opcode()) {
      case Opcode::kBitcast:
        if (!inst.shape().IsScalar() || !inst.operand(0).shape().IsScalar()) return nullptr;
        [[fallthrough]];
      case Opcode::kAddDependency:
      case Opcode::kBitcastConvert:
      case Opcode::kDomain:
      case Opcode::kGetTupleElement:
      case Opcode::kOptimizationBarrier:
      case Opcode::kReshape:
      case Opcode::kTuple: return &to_.AddClone(inst, Lift(inst.shape()), all);
      case Opcode::kCall:
      case Opcode::kFusion: {
        Instruction& call = to_.AddClone(inst, Lift(inst.shape()), all);
        ForEachCalled(call.attributes(), [&](Computation*& callee) { callee = lifted_.at(callee); });
        return &call;
      }
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
        return Clone(inst, all, DimensionsAttrs{MovedUp(inst.attrs<DimensionsAttrs>().dimensions, rank_, true)});
      case Opcode::kReverse:
        return Clone(inst, all, DimensionsAttrs{MovedUp(inst.attrs<DimensionsAttrs>().dimensions, rank_, false)});
      case Opcode::kConcatenate: {
        OneDimensionAttrs attrs = inst.attrs<OneDimensionAttrs>();
        attrs.dimension.value += rank_;
        return Clone(inst, all, attrs);
      }
      case Opcode::kSlice: {
        SliceAttrs attrs;
        for (const int64_t size : dims_) attrs.slice.dims.push_back({.start = 0, .limit = size});
        const SliceAttrs& own = inst.attrs<SliceAttrs>();
        attrs.slice.dims.insert(attrs.slice.dims.end(), own.slice.dims.begin(), own.slice.dims.end());
        return Clone(inst, all, std::move(attrs));
      }
      case Opcode::kPad: {
        if (IsLifted(inst.operand(1))) return nullptr;
        PadAttrs attrs = inst.attrs<PadAttrs>();
        attrs.padding.dims.insert(attrs.padding.dims.begin(), rank_, PaddingDim());
        return Clone(inst, {all[0], as_they_are[1]}, std::move(attrs));
      }
      case Opcode::kReduce: {
        const int64_t arity = inst.operand_count() / 2;
        for (int64_t i = arity; i < 2 * arity; ++i) {
          if (IsLifted(inst.operand(i))) return nullptr;
          all[i] = as_they_are[i];
        }
        ReduceAttrs attrs = inst.attrs<ReduceAttrs>();
        attrs.dimensions = MovedUp(attrs.dimensions, rank_, false);
        return Clone(inst, all, std::move(attrs));
      }
      case Opcode::kSort: {
        SortAttrs attrs = inst.attrs<SortAttrs>();
        attrs.dimension.value += rank_;
        return Clone(inst, all, std::move(attrs));
      }
      case Opcode::kDot: {
        if (inst.operand_count() != 2) return nullptr;
        DotAttrs attrs = inst.attrs<DotAttrs>();
        attrs.lhs_batch = MovedUp(attrs.lhs_batch, rank_, true);
        attrs.rhs_batch = MovedUp(attrs.rhs_batch, rank_, true);
        attrs.lhs_contracting = MovedUp(attrs.lhs_contracting, rank_, false);
        attrs.rhs_contracting = MovedUp(attrs.rhs_contracting, rank_, false);
        return Clone(inst, all, std::move(attrs));
      }
      default: return nullptr;
    }
  }

  Computation& to_;
  const std::vector<int64_t>& dims_;
  const int64_t rank_;
  const std::unordered_map<const Computation*, Computation*>& lifted_;
  std::unordered_map<const Instruction*, Instruction*> map_;
  std::unordered_map<const Instruction*, bool> is_lifted_;
};

constexpr Literal ShadowValue::* kParts[] = {&ShadowValue::value, &ShadowValue::bound, &ShadowValue::likely,
                                             &ShadowValue::exact, &ShadowValue::open};

ShadowValue AtIndex(const ShadowValue& lifted, const Shape& own, int64_t index) {
  ShadowValue value;
  value.shape = own;
  value.held = lifted.held;
  for (size_t i = 0; i < lifted.elements.size(); ++i) {
    const ShadowValue& element = lifted.elements[i];
    value.elements.push_back(AtIndex(
        element, own.IsTuple() ? own.element(static_cast<int64_t>(i)) : own.WithType(element.shape.type()), index));
  }
  for (Literal ShadowValue::* part : kParts) {
    const Literal& from = lifted.*part;
    if (from.byte_size() == 0) continue;
    value.*part = Literal::Uninitialized(own.WithType(from.shape().type()));
    const auto bytes = static_cast<size_t>((value.*part).byte_size());
    std::memcpy((value.*part).mutable_raw(), from.raw() + bytes * index, bytes);
  }
  return value;
}

ShadowValue SideBySide(const std::vector<ShadowValue>& values, const Shape& lifted) {
  ShadowValue all;
  all.shape = lifted;
  if (lifted.IsTuple()) {
    for (size_t i = 0; i < lifted.elements().size(); ++i) {
      std::vector<ShadowValue> elements;
      for (const ShadowValue& value : values) elements.push_back(value.elements[i]);
      all.elements.push_back(SideBySide(elements, lifted.element(static_cast<int64_t>(i))));
    }
    return all;
  }
  if (!lifted.IsArray()) {
    all.exact = Literal(lifted);
    return all;
  }
  const auto has_parts = [](const ShadowValue& value) { return !value.elements.empty(); };
  if (std::ranges::any_of(values, has_parts)) {
    const PrimitiveType type = std::ranges::find_if(values, has_parts)->elements[0].shape.type();
    for (const size_t i : {0, 1}) {
      std::vector<ShadowValue> parts;
      for (const ShadowValue& value : values) parts.push_back(SplitComplex(value).elements[i]);
      all.elements.push_back(SideBySide(parts, lifted.WithType(type)));
    }
    return all;
  }
  all.held = values.front().held;
  for (const ShadowValue& value : values) {
    if (BitWidth(value.held) > BitWidth(all.held)) all.held = value.held;
  }
  for (Literal ShadowValue::* part : kParts) {
    const auto has_part = [&](const ShadowValue& value) { return (value.*part).byte_size() != 0; };
    const auto first = std::ranges::find_if(values, has_part);
    if (first == values.end()) continue;
    all.*part = Literal(lifted.WithType(((*first).*part).shape().type()));
    std::byte* const to = (all.*part).mutable_raw();
    const auto bytes = static_cast<size_t>(((*first).*part).byte_size());
    for (size_t i = 0; i < values.size(); ++i) {
      // Worst-case bounds replace missing likely bounds.
      const bool is_bound = part == &ShadowValue::likely && !has_part(values[i]);
      const Literal& from = is_bound ? values[i].bound : values[i].*part;
      if (from.byte_size() != 0) std::memcpy(to + i * bytes, from.raw(), bytes);
    }
  }
  return all;
}

}  // namespace

Lifted::Lifted(const Computation& computation, const std::vector<int64_t>& dims)
    : module_(std::make_unique<Module>("lifted")) {
  for (const int64_t size : dims) indices_ *= size;
  std::unordered_map<const Computation*, Computation*> lifted;
  for (const Computation* each : CalledFirst(computation)) {
    Computation& to = module_->AddComputation(each->name());
    lifted[each] = &to;
    Lifter lifter(to, dims, lifted);
    for (const Instruction* inst : each->PostOrder()) {
      bool each_index = false;
      const Instruction& made = lifter.Add(*inst, &each_index);
      if (inst->Is(Opcode::kParameter)) continue;
      lifted_from_[&made] = inst;
      if (!each_index) continue;
      std::vector<bool>& is_lifted = each_index_[&made];
      for (const Instruction* operand : inst->operands()) is_lifted.push_back(lifter.IsLifted(*operand));
    }
    to.SetRoot(lifter.Everywhere(each->root()));
  }
  module_->SetEntry(*lifted.at(&computation));
}

Result<ShadowValue> Lifted::AtEachIndex(Context& context, const Instruction& lifted, Operands operands) const {
  constexpr int64_t kMostIndices = 1 << 18;
  const Instruction& inst = *lifted_from_.at(&lifted);
  if (indices_ > kMostIndices) {
    FAIL(UnsupportedAt(inst, "U041",
                       Str("no error bounds for '", inst.opcode(), "' in a computation that is applied to ", indices_,
                           " elements, which is more than ", kMostIndices)));
  }
  const std::vector<bool>& is_lifted = each_index_.at(&lifted);
  std::vector<ShadowValue> values, args(operands.size());
  std::vector<const ShadowValue*> pointers(operands.begin(), operands.end());
  for (int64_t index = 0; index < indices_; ++index) {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!is_lifted[i]) continue;
      args[i] = AtIndex(*operands[i], inst.operand(static_cast<int64_t>(i)).shape(), index);
      pointers[i] = &args[i];
    }
    values.push_back(TRY(RunInstruction(context, inst, pointers, nullptr)));
    values.back().choices = nullptr;
  }
  if (values.empty()) return ToShadow(Literal(lifted.shape()));
  return SideBySide(values, lifted.shape());
}

Result<ShadowValue> Lifted::operator()(Context& context, Operands args) const {
  // Small arrays of a body become large.
  int64_t elements = 0;
  for (const Computation* computation : module_->Computations()) {
    for (const Instruction* inst : computation->Instructions())
      elements += inst->shape().IsArray() ? std::min(inst->shape().NumElements(), kMostSteps) : 0;
  }
  TRY(Spend(context, module_->entry().root(), elements));
  // A given value applies to every index.
  const auto given = [&](const Instruction& inst) -> std::optional<ShadowValue> {
    if (&inst.module() != module_.get()) return context.options.given(inst);
    const auto from = lifted_from_.find(&inst);
    if (from == lifted_from_.end() || !inst.shape().IsArray()) return std::nullopt;
    auto value = context.options.given(*from->second);
    if (!value || value->shape.rank() == inst.shape().rank()) return value;
    if (value->shape.IsScalar()) return Splat(*value, inst.shape());
    return SideBySide(std::vector<ShadowValue>(indices_, *value), inst.shape());
  };
  ShadowOptions options = context.options;
  options.on_iteration = nullptr;
  options.on_loop_end = nullptr;
  Context at_index = {.options = options, .top = context.top, .heuristic = context.heuristic, .depth = context.depth};
  ShadowOptions of_lifted = options;
  if (options.given) of_lifted.given = given;
  // The plan is for another module. Without it, bounds permit more.
  if (!context.ftz()) of_lifted.plan = nullptr;
  Context lifted = {.options = of_lifted, .top = context.top, .depth = context.depth};
  lifted.instead = [&](const Instruction& inst, Operands operands) -> Result<std::optional<ShadowValue>> {
    if (!each_index_.contains(&inst)) return std::nullopt;
    return TRY(AtEachIndex(at_index, inst, operands));
  };
  auto value = Run(lifted, module_->entry(), args);
  context.heuristic = lifted.heuristic || at_index.heuristic;
  return value;
}

}  // namespace hlo::shadow
