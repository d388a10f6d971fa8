#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "interp/contraction.h"
#include "ir/analysis/movement.h"
#include "ir/component_type.h"
#include "judge/kept_values.h"
#include "judge/residues/rules.h"

namespace hlo::residue {

void Invert(std::span<uint64_t> all) {
  std::vector<uint64_t> before(all.size());
  uint64_t product = 1;
  for (size_t i = 0; i < all.size(); ++i) {
    before[i] = product;
    if (all[i] != 0) product = Product(product, all[i]);
  }
  uint64_t inverse = Inverse(product);
  for (size_t i = all.size(); i-- > 0;) {
    if (all[i] == 0) continue;
    const uint64_t factor = all[i];
    all[i] = Product(inverse, before[i]);
    inverse = Product(inverse, factor);
  }
}

bool Value::IsOpen(int64_t i) const { return HasOpen() && open.data<uint8_t>()[i] != 0; }

// ---- Decisions -----------------------------------------------------------------------------------------------------

Decider Context::DeciderOf(const Number& number) {
  constexpr size_t kMostDecided = 1 << 24;
  Decider decider = {number.value, number.error()};
  if (!std::isfinite(number.value)) return decider;
  if (number.IsInexact()) {
    // The number is exact if an integer, half of an integer, or an f32 number near the value has the same residue.
    const double twice = std::rint(2 * decider.value);
    const bool is_half =
        std::fabs(twice) < 0x1p53 && Sum(number.residue(), number.residue()) == OfInteger(static_cast<int64_t>(twice));
    const double near = static_cast<double>(static_cast<float>(decider.value));
    if (is_half) decider = {twice / 2, 0};
    else if (std::isfinite(near) && Of(near) == number.residue()) decider = {near, 0};
  }
  // Exact values are stored too, because the other module may compute the number as a sum with an error.
  auto& decided = shared.decided;
  auto known = decided.find(number.residue());
  if (known == decided.end() && decided.size() < kMostDecided) known = decided.emplace(number.residue(), decider).first;
  const bool takes_known = known != decided.end() && !decider.IsExact() && MayBeEqual(known->second, decider);
  return takes_known ? known->second : decider;
}

uint64_t Context::ResidueOf(Opcode op, uint64_t x, uint64_t y) {
  const uint64_t hash = Hash(Hash(static_cast<uint64_t>(op) + 16, x), y);
  if (shared.functions == nullptr) return hash;
  Sides& sides = shared.functions->sides[hash];
  if (shared.functions->are_known) lacks_law |= !sides.IsBoth();
  else sides.Add(of_after);
  return hash;
}

Status Context::Spend(const Instruction& inst, int64_t elements) {
  if (options.stop != nullptr && options.stop->load(std::memory_order_relaxed))
    FAIL(Error(ExitCode::kInterrupted, "I001", "interrupted"));
  if (options.max_steps > 0 && ++steps > options.max_steps)
    FAIL(ErrorAt(inst, "R005", Str("more than ", options.max_steps, " instructions are executed (--max_steps)"),
                 ExitCode::kLimit));
  work -= elements;
  if (work < 0)
    FAIL(ErrorAt(inst, "R005", "the computation of residues takes more work than --work_limit allows",
                 ExitCode::kLimit));
  return {};
}

// ---- Values --------------------------------------------------------------------------------------------------------

Value NewNumbers(const Shape& shape) {
  return {
      .shape = shape, .data = Literal::Uninitialized(shape.WithType(PrimitiveType::kC128)), .open = {}, .parts = {}};
}

std::span<Number> MutableNumbers(Value& value) { return value.data.mutable_data<Number>(); }

Value OfExact(Literal literal, Literal open) {
  const Shape shape = literal.shape();
  return {.shape = shape, .data = std::move(literal), .open = std::move(open), .parts = {}};
}

Value TupleOf(const Shape& shape, std::vector<Value> parts) {
  return {.shape = shape, .data = {}, .open = {}, .parts = std::move(parts)};
}

Value ToValue(const Literal& literal) {
  const Shape& shape = literal.shape();
  if (shape.IsTuple()) {
    std::vector<Value> parts;
    for (const Literal& element : literal.elements()) parts.push_back(ToValue(element));
    return TupleOf(shape, std::move(parts));
  }
  if (!shape.IsArray() || IsExactType(shape)) return OfExact(literal);
  if (IsComplex(shape.type())) {
    const Shape part = shape.WithType(ComponentType(shape.type()));
    std::vector<Value> parts{NewNumbers(part), NewNumbers(part)};
    for (int64_t i = 0; i < shape.NumElements(); ++i) {
      const std::complex<double> x = literal.GetComplex(i);
      MutableNumbers(parts[0])[i] = Number::Exactly(x.real());
      MutableNumbers(parts[1])[i] = Number::Exactly(x.imag());
    }
    return TupleOf(shape, std::move(parts));
  }
  Value value = NewNumbers(shape);
  const Literal wide = Converted(literal, PrimitiveType::kF64);
  std::ranges::transform(wide.data<double>(), MutableNumbers(value).begin(), &Number::Exactly);
  return value;
}

Value Opened(Value value) {
  for (Value& part : value.parts) part = Opened(std::move(part));
  if (!value.parts.empty() || !value.shape.IsArray()) return value;
  if (value.IsFloat()) {
    for (Number& number : MutableNumbers(value)) number.bits |= Number::kOpen;
    return value;
  }
  value.open = Literal(value.shape.WithType(PrimitiveType::kPred));
  std::ranges::fill(value.open.mutable_data<uint8_t>(), uint8_t{1});
  return value;
}

bool AnyOpen(const Value& value) {
  if (std::ranges::any_of(value.parts, AnyOpen)) return true;
  if (!value.shape.IsArray()) return false;
  if (value.IsFloat()) return std::ranges::any_of(value.numbers(), &Number::open);
  return std::ranges::any_of(value.open.data<uint8_t>(), [](uint8_t open) { return open != 0; });
}

Literal ValuesOf(const Value& value) {
  Literal values = Literal::Uninitialized(value.shape.WithType(PrimitiveType::kF64));
  std::ranges::transform(value.numbers(), values.mutable_data<double>().begin(), &Number::value);
  return values;
}

Value Picked(const Value& value, std::span<const int64_t> at) {
  const auto picked = [&](const Literal& from) {
    Literal to = Literal::Uninitialized(Shape(from.shape().type(), {std::ssize(at)}));
    const int64_t width = ByteWidth(from.shape().type());
    std::byte* out = to.mutable_raw();
    for (const int64_t i : at) {
      std::memcpy(out, from.raw() + i * width, static_cast<size_t>(width));
      out += width;
    }
    return to;
  };
  Value result = TupleOf(value.shape.WithDims({std::ssize(at)}), {});
  for (const Value& part : value.parts) result.parts.push_back(Picked(part, at));
  if (!value.parts.empty()) return result;
  result.data = picked(value.data);
  if (value.HasOpen()) result.open = picked(value.open);
  return result;
}

Value WithDims(Value value, const Dims& dims) {
  value.shape = value.shape.WithDims(dims);
  for (Value& part : value.parts) part = WithDims(std::move(part), dims);
  if (!value.parts.empty()) return value;
  value.data = value.data.WithShape(value.data.shape().WithDims(dims));
  if (value.HasOpen()) value.open = value.open.WithShape(value.open.shape().WithDims(dims));
  return value;
}

Value Splat(const Value& element, const Dims& dims) {
  const int64_t count = element.shape.WithDims(dims).NumElements();
  return WithDims(Picked(element, std::vector<int64_t>(count, 0)), dims);
}

void Put(const Value& from, std::span<const int64_t> at, Value& to) {
  for (size_t part = 0; part < to.parts.size(); ++part) Put(from.parts[part], at, to.parts[part]);
  if (!to.parts.empty()) return;
  const auto put = [&](const Literal& source, Literal& target) {
    const int64_t width = ByteWidth(source.shape().type());
    std::byte* const out = target.mutable_raw();
    for (size_t i = 0; i < at.size(); ++i)
      std::memcpy(out + at[i] * width, source.raw() + static_cast<int64_t>(i) * width, static_cast<size_t>(width));
  };
  put(from.data, to.data);
  if (!from.HasOpen() && !to.HasOpen()) return;
  if (!to.HasOpen()) to.open = Literal(to.shape.WithType(PrimitiveType::kPred));
  put(from.HasOpen() ? from.open : Literal(from.shape.WithType(PrimitiveType::kPred)), to.open);
}

Literal ToLiteral(const Value& value) {
  if (value.shape.IsTuple()) {
    std::vector<Literal> elements;
    for (const Value& part : value.parts) elements.push_back(ToLiteral(part));
    return Literal::Tuple(std::move(elements));
  }
  if (value.IsComplex()) {
    Literal literal(value.shape);
    for (int64_t i = 0; i < value.shape.NumElements(); ++i)
      literal.SetComplex(i, {value.parts[0].numbers()[i].value, value.parts[1].numbers()[i].value});
    return literal;
  }
  return value.IsFloat() ? Converted(ValuesOf(value), value.shape.type()) : value.data;
}

uint64_t HashOf(const Value& value) {
  uint64_t hash = static_cast<uint64_t>(value.shape.type());
  for (const Value& part : value.parts) hash = Mixed(hash, HashOf(part));
  if (!value.parts.empty() || !value.shape.IsArray()) return hash;
  for (const int64_t size : value.shape.dims()) hash = Mixed(hash, static_cast<uint64_t>(size));
  if (!value.IsFloat()) return Mixed(hash, value.data.Hash());
  for (const Number& number : value.numbers()) hash = Mixed(hash, number.residue());
  return hash;
}

// ---- The interpreter -----------------------------------------------------------------------------------------------

Result<Literal> EvaluateAs(const Instruction& inst, std::span<const Literal> operands, const Shape& result,
                           std::optional<Opcode> reducer) {
  Module module("retyped");
  Computation& entry = module.AddComputation("entry");
  std::vector<Instruction*> parameters;
  for (size_t i = 0; i < operands.size(); ++i) {
    Shape shape = operands[i].shape();
    // A bitcast depends on the layout.
    if (SameDims(shape, inst.operand(static_cast<int64_t>(i)).shape()))
      shape.SetLayout(inst.operand(static_cast<int64_t>(i)).shape().layout());
    parameters.push_back(&entry.AddParameter(static_cast<int64_t>(i), shape));
  }
  Instruction& clone = entry.AddClone(inst, result, parameters);
  if (reducer) {
    Computation& body = module.AddComputation("reducer");
    const Shape scalar = Shape::Scalar(result.type());
    Instruction& a = body.AddParameter(0, scalar);
    Instruction& b = body.AddParameter(1, scalar);
    body.SetRoot(*reducer == Opcode::kParameter ? b : body.Add(*reducer, scalar, {&a, &b}));
    ForEachCalled(clone.attributes(), [&](Computation*& called) { called = &body; });
  }
  entry.SetRoot(clone);
  module.SetEntry(entry);
  return Evaluate(clone, operands);
}

// ---- Movements -----------------------------------------------------------------------------------------------------

Result<Value> Moved(const Instruction& inst, Operands operands) {
  const int64_t data = DataOperands(inst);
  const auto move = [&](const Shape& shape, auto&& literal_of) -> Result<Literal> {
    std::vector<Literal> literals;
    for (int64_t i = 0; i < inst.operand_count(); ++i)
      literals.push_back(i < data ? literal_of(*operands[i]) : operands[i]->data);
    return EvaluateAs(inst, literals, shape);
  };
  const auto typed = [&](PrimitiveType type) {
    Shape shape = inst.shape().WithType(type);
    shape.SetLayout(inst.shape().layout());
    return shape;
  };
  const auto moved = [&](auto&& self, const Shape& shape, const std::vector<const Value*>& from) -> Result<Value> {
    Value result = TupleOf(shape, {});
    for (size_t part = 0; part < from[0]->parts.size(); ++part) {
      std::vector<const Value*> parts;
      for (const Value* value : from) parts.push_back(&value->parts[part]);
      result.parts.push_back(TRY(self(self, shape.WithType(parts[0]->shape.type()), parts)));
    }
    if (!result.parts.empty()) return result;
    size_t next = 0;
    result.data = TRY(move(typed(from[0]->data.shape().type()), [&](const Value&) { return from[next++]->data; }));
    if (std::ranges::none_of(from, &Value::HasOpen)) return result;
    next = 0;
    result.open = TRY(move(typed(PrimitiveType::kPred), [&](const Value&) {
      const Value& value = *from[next++];
      return value.HasOpen() ? value.open : Literal(value.shape.WithType(PrimitiveType::kPred));
    }));
    return result;
  };
  Value result = TRY(moved(moved, inst.shape(), {operands.begin(), operands.begin() + data}));
  if (std::ranges::any_of(operands.subspan(data), [](const Value* index) { return AnyOpen(*index); }))
    result = Opened(std::move(result));
  return result;
}

}  // namespace hlo::residue
